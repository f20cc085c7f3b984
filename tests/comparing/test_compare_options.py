"""Which cases, how long, and where the report goes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from compared import FEW, SETTINGS, SLOW, Commits, Compared
from faulty import mounted

from windtunnel.sample.runfile import read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SHORT = ("--budget", str(FEW), "--batch", "1")


@pytest.fixture
def slow(commits: Commits) -> Commits:
    commits.heavy()
    commits.commit("slow", {SETTINGS: SLOW})
    return commits


@pytest.fixture
def same(commits: Commits) -> Commits:
    """Its two commits differ outside the image."""
    commits.commit("readme", {"README": "Hello.\n"})
    return commits


# ---------------- what is measured, and how long


def test_a_control_arm_and_a_budget_that_is_too_small(slow: Commits) -> None:
    done = slow.run("compare", "HEAD~1", "--bench", r"\(2\)", *SHORT, "--control", "--strict")
    done.expect(
        3, "The only case could not be told", r"control \(base once more\): CPU per request", "too few to tell"
    )
    done.expect(3, "the budget is used up: 1 case would have got more pairs")
    run = slow.measured()
    numbers = {arm: [one.number for one in run.launches if one.arm == arm] for arm in ("base", "head", "control")}
    assert numbers["base"] == numbers["head"] == numbers["control"]
    assert numbers["base"]
    images = {arm: {one.image for one in run.launches if one.arm == arm} for arm in numbers}
    assert images["base"] == images["control"] != images["head"]
    slow.run("compare", "--resume", slow.run_file).expect(0, "Nothing is known to be slower")
    slow.run("compare", "--resume", slow.run_file, "--strict").expect(3)


def test_a_suite_has_its_cases_and_its_budget(same: Commits) -> None:
    same.run("compare", "HEAD~1", "--suite", "small").expect(0, "suite small", "budget 20 s")
    assert [case.id for case in same.measured().header.cases] == ["tiny.Page(2)"]


def test_shards_are_all_of_it_together(slow: Commits) -> None:
    files = [slow.path / f"{number}.jsonl" for number in (1, 2)]
    for number, file in enumerate(files, 1):
        done = slow.run("compare", "HEAD~1", *SHORT, "--shard", f"{number}/2", "--output", file)
        done.expect(0, f"shard {number}/2", "could not be told")
    parts = [read_run(file) for file in files]
    assert [len(part.header.cases) for part in parts] == [1, 1]
    whole = slow.path / "whole.jsonl"
    slow.run("merge", *files, "--output", whole).expect(0)
    merged = read_run(whole)
    assert {case.id for case in merged.header.cases} == {"tiny.Page(2)", "tiny.Page(4)"}
    assert len(merged.launches) == sum(len(part.launches) for part in parts)
    slow.run("show", whole).expect(0, "Neither case could be told", r"tiny\.Page\(2\)", r"tiny\.Page\(4\)")


def test_an_empty_shard_says_so(same: Commits) -> None:
    same.run("compare", "HEAD~1", "--shard", "3/3").expect(5, "shard 3/3 is empty: there are fewer cases than shards")
    assert not same.run_files


def test_a_merged_file_is_not_resumed(same: Commits) -> None:
    files = [same.path / f"{number}.jsonl" for number in (1, 2)]
    for number, file in enumerate(files, 1):
        same.run("compare", "HEAD~1", "--shard", f"{number}/2", "--output", file).expect(0)
    same.run("merge", *files, "--output", same.path / "whole.jsonl").expect(0)
    same.run("compare", "--resume", same.path / "whole.jsonl").expect(2, "was merged; resume the run files")


# ---------------- where the report goes


def test_json_to_standard_output_is_all_there_is(slower: Compared) -> None:
    done = slower.suite.run("compare", "--resume", slower.suite.run_file, "--json", "-").expect(10)
    assert json.loads(done.out) == json.loads((slower.folder / "r.json").read_text())


@pytest.mark.parametrize("options", [(), ("--json", "-")])
def test_a_reader_that_has_had_enough_does_not_make_a_success_of_it(
    slower: Compared, options: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with slower.suite.command("compare", "--resume", slower.suite.run_file, *options, stdout=writer) as command:
        os.close(writer)
        command.wait().expect(10)


@pytest.mark.parametrize("options", [("--report", "/dev/full"), ("--json", "/dev/full")])
def test_a_report_that_does_not_fit_can_be_made_again(slower: Compared, options: tuple[str, ...]) -> None:
    done = slower.suite.run("compare", "--resume", slower.suite.run_file, *options)
    done.expect(6, "cannot write /dev/full: No space left on device; .*again: windtunnel show ", "got slower")


@pytest.mark.parametrize("option", ["--json", "--report", "--output"])
def test_a_place_that_can_not_be_written_is_found_before_anything_is_built(
    slow: Commits, tmp_path: Path, option: str
) -> None:
    if option != "--output":  # a run file's folders are made
        slow.run("compare", "HEAD~1", option, tmp_path / "no" / "r.json").expect(2, "no such folder; make it")
    with mounted(tmp_path / "fixed", "ro") as folder:
        done = slow.run("compare", "HEAD~1", option, folder / "r.json")
        done.expect(6, f"cannot write {folder}/r.json", "name another")
    done = slow.run("compare", "HEAD~1", option, slow.path)
    done.expect(2, "is a (folder|directory)")
    assert "building" not in done.err
    assert not slow.run_files


def test_a_run_file_is_never_overwritten(slow: Commits) -> None:
    slow.run("compare", "HEAD~1", "--output", "windtunnel.toml").expect(2, "exists already; name another one")


def test_a_full_disk_under_the_run_file(slow: Commits, tmp_path: Path) -> None:
    slow.configure(slices=2, single_slices=1, seconds="20ms")
    with mounted(tmp_path / "small", "size=16k") as folder:
        path = folder / "run.jsonl"
        arguments = ("compare", "HEAD~1", "--bench", r"\(2\)", "--budget", "20", "--output", path)
        done = slow.run(*arguments)
        done.expect(6, f"cannot write {path}: No space left on device", f"go on: .* --resume {path}")
        before = read_run(path)
        assert before.launches
        assert not before.complete
        subprocess.run(["mount", "-o", "remount,size=1m", folder], check=True)
        slow.run("compare", "--resume", path)
        after = read_run(path)
        assert after.complete
        assert after.launches[: len(before.launches)] == before.launches
        assert len(after.launches) > len(before.launches)
