"""calibration.json: what is written is read again, for this machine alone, and what is broken is told."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

import material
from windtunnel.errors import ConfigError, StorageError
from windtunnel.model import Host, LaunchPlan
from windtunnel.sample.calibration import (
    Calibrated,
    Costs,
    Machine,
    Variances,
    calibrated_plan,
    calibration_file,
    clear_calibration,
    keep_calibration,
    read_calibration,
)
from windtunnel.units import Missing

HERE = material.HOST
OTHER = replace(HERE, cpu_model="Another processor")
DEFAULT = LaunchPlan(warmup=2, slices=10, single_slices=3, seconds=0.04, deadline=7.0)
FOUND = Calibrated(
    slices=14,
    single_slices=4,
    seconds=0.08,
    pairs=24,
    budget=60.0,
    variances={
        "cpu_per_request": Variances(1e-4, 3e-3, Missing("CPU time is not known request by request")),
        "time_per_request": Variances(0.0, 5e-3, 1e-3),
    },
    costs=Costs(1.2, 0.19, 0.18),
    kernel="6.1.0",
    when="2026-11-30T12:00:00Z",
    windtunnel="0.1.0",
)
CASE = "psgi.Starlet(5.36, close)"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = keep_calibration(tmp_path, HERE, {CASE: FOUND})
    assert path == calibration_file(tmp_path)
    assert read_calibration(path) == (Machine(HERE.cpu_model, HERE.cores, {CASE: FOUND}),)
    assert sorted(one.name for one in path.parent.iterdir()) == ["calibration.json", "calibration.lock"]


def test_the_plan_is_the_calibrated_one_and_the_rest_the_projects(tmp_path: Path) -> None:
    keep_calibration(tmp_path, HERE, {CASE: FOUND})
    plan = calibrated_plan(tmp_path, HERE, CASE, DEFAULT)
    assert plan == LaunchPlan(warmup=2, slices=14, single_slices=4, seconds=0.08, deadline=7.0)


@pytest.mark.parametrize(
    ("host", "case"),
    [
        (HERE, "psgi.Starlet(5.36, keepalive)"),
        (OTHER, CASE),
        (replace(HERE, cores=4), CASE),
    ],
)
def test_another_case_or_machine_has_the_default(tmp_path: Path, host: Host, case: str) -> None:
    keep_calibration(tmp_path, HERE, {CASE: FOUND})
    assert calibrated_plan(tmp_path, host, case, DEFAULT) is DEFAULT


def test_another_kernel_is_no_other_machine(tmp_path: Path) -> None:
    keep_calibration(tmp_path, HERE, {CASE: FOUND})
    assert calibrated_plan(tmp_path, replace(HERE, kernel="7.0"), CASE, DEFAULT).slices == 14


def test_without_a_file_there_is_the_default(tmp_path: Path) -> None:
    assert read_calibration(calibration_file(tmp_path)) == ()
    assert calibrated_plan(tmp_path, HERE, CASE, DEFAULT) is DEFAULT


def test_calibrating_again_replaces_that_case_of_that_machine_alone(tmp_path: Path) -> None:
    for host in (HERE, OTHER):
        keep_calibration(tmp_path, host, {CASE: FOUND, "b": FOUND})
    keep_calibration(tmp_path, HERE, {"b": replace(FOUND, slices=5), "c": FOUND})
    found = {one.cpu_model: {name: case.slices for name, case in one.cases.items()} for one in _machines(tmp_path)}
    assert found == {HERE.cpu_model: {CASE: 14, "b": 5, "c": 14}, OTHER.cpu_model: {CASE: 14, "b": 14}}


def _machines(root: Path) -> tuple[Machine, ...]:
    return read_calibration(calibration_file(root))


def test_clearing_forgets_this_machine_alone(tmp_path: Path) -> None:
    assert clear_calibration(tmp_path, HERE) == 0
    assert not calibration_file(tmp_path).exists()
    keep_calibration(tmp_path, HERE, {CASE: FOUND, "b": FOUND})
    keep_calibration(tmp_path, OTHER, {CASE: FOUND})
    assert clear_calibration(tmp_path, HERE) == 2
    assert [one.cpu_model for one in _machines(tmp_path)] == [OTHER.cpu_model]
    assert clear_calibration(tmp_path, HERE) == 0


def _keep(root: Path, name: str) -> None:
    host = replace(HERE, cpu_model=name)
    for index in range(5):
        keep_calibration(root, host, {f"case {index}": FOUND})


def test_nothing_is_lost_when_several_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_keep, args=(tmp_path, f"processor {one}")) for one in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join(60)
    assert [one.exitcode for one in writers] == [0] * 4
    assert {one.cpu_model: len(one.cases) for one in _machines(tmp_path)} == {f"processor {n}": 5 for n in range(4)}


def _written(root: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(keep_calibration(root, HERE, {CASE: FOUND}).read_text())
    return found


GARBAGE = {
    "nothing": ("", "is not JSON"),
    "torn": ('{"format": "windtunnel-calibr', "is not JSON"),
    "a list": ("[]", "is not a calibration of windtunnel"),
    "another format": ('{"format": "windtunnel-run", "version": 1}', "is not a calibration of windtunnel"),
    "a newer version": (
        '{"format": "windtunnel-calibration", "version": 2}',
        "is of version 2, this windtunnel reads 1",
    ),
    "no machines": ('{"format": "windtunnel-calibration", "version": 1}', "machines: "),
    "not a number": ('{"format": "windtunnel-calibration", "version": 1, "machines": NaN}', "is not JSON"),
    "deep": ("[" * 100_000, "is not JSON"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_a_file_that_is_none_is_told_with_the_remedy(tmp_path: Path, name: str) -> None:
    path = calibration_file(tmp_path)
    path.parent.mkdir()
    path.write_text(GARBAGE[name][0])
    _refused(tmp_path, GARBAGE[name][1])


def _refused(root: Path, words: str) -> None:
    path = calibration_file(root)
    before = path.read_bytes()
    for use in (
        lambda: calibrated_plan(root, HERE, CASE, DEFAULT),
        lambda: keep_calibration(root, HERE, {CASE: FOUND}),
        lambda: clear_calibration(root, HERE),
    ):
        with pytest.raises(ConfigError, match=re.escape(words)) as caught:
            use()
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith("delete it and run `windtunnel calibrate` again")
    assert path.read_bytes() == before


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = calibration_file(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00")
    _refused(tmp_path, "is not UTF-8")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("slices", 0),
        ("slices", "many"),
        ("single_slices", -1),
        ("seconds", 0),
        ("costs", {"launch": 1.0}),
        ("variances", {"cpu_per_request": 3}),
    ],
)
def test_a_value_that_no_launch_could_go_by_is_told_with_its_key(tmp_path: Path, key: str, value: object) -> None:
    document = _written(tmp_path)
    document["machines"][0]["cases"][CASE][key] = value  # type: ignore[index]
    calibration_file(tmp_path).write_text(json.dumps(document))
    _refused(tmp_path, f"machines.0.cases.{CASE}")


def test_keys_that_a_later_windtunnel_may_add_do_no_harm(tmp_path: Path) -> None:
    document = _written(tmp_path)
    document["machines"][0]["cases"][CASE]["later"] = 1  # type: ignore[index]
    calibration_file(tmp_path).write_text(json.dumps(document))
    assert calibrated_plan(tmp_path, HERE, CASE, DEFAULT).slices == 14


def test_what_can_not_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = keep_calibration(tmp_path, HERE, {CASE: FOUND})
    before = path.read_bytes()
    # where the new one is put together there is a folder of that name
    path.with_name(f".{path.name}.{os.getpid()}").mkdir()
    with pytest.raises(StorageError, match=re.escape(f"cannot write {path}: ")):
        keep_calibration(tmp_path, HERE, {"b": FOUND})
    assert path.read_bytes() == before


def test_a_folder_that_can_not_be_is_told(tmp_path: Path) -> None:
    (tmp_path / ".windtunnel").write_text("a file")
    with pytest.raises((StorageError, ConfigError), match=re.escape(".windtunnel")):
        keep_calibration(tmp_path, HERE, {CASE: FOUND})


def test_the_file_that_the_documentation_shows_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "site" / "calibrate.md").read_text("utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    calibration_file(tmp_path).parent.mkdir()
    calibration_file(tmp_path).write_text(shown)
    (machine,) = _machines(tmp_path)
    (case,) = machine.cases.values()
    described = set(re.findall(r"`(\w+)`", page.partition("## The file")[2]))
    for record in (machine, case, case.costs, case.variances["cpu_per_request"]):
        assert {one.name for one in fields(record)} - {"cases"} <= described
