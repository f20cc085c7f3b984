"""Whether what workflows measure is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_projects import PROJECTS, Make, suite_in

from windtunnel.cli.doctor import _workflows
from windtunnel.cli.init import initialise
from windtunnel.cli.listening import Measuring, measuring_workflows

ROOT = Path(__file__).resolve().parent.parent.parent
MEASURE = "name: %s\non: %s\njobs:\n  x:\n    steps:\n      - uses: a/b/action@v1\n"
REPORT = "on:\n  workflow_run:\n    workflows: %s\njobs:\n  x:\n    steps:\n      - uses: a/b/action/report@v1\n"


def found(top: Path, **files: str) -> tuple[Measuring, ...]:
    folder = top / ".github" / "workflows"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.yml").write_text(text)
    return measuring_workflows(top)


def test_this_repositorys_own_are_heard() -> None:
    assert measuring_workflows(ROOT) == (Measuring(".github/workflows/measure.yml", "Measure", True),)


def test_those_that_init_writes_are_heard_until_one_is_renamed(make: Make) -> None:
    top = make(PROJECTS["python library"])
    initialise(top, example=False, force=False, github=True)
    assert [one.heard for one in measuring_workflows(top)] == [True]

    measure = top / ".github/workflows/windtunnel.yml"
    measure.write_text(measure.read_text().replace("name: windtunnel ", "name: speed "))

    (one,) = measuring_workflows(top)
    assert (one.name, one.heard) == ("speed", False)


@pytest.mark.parametrize("events", ["pull_request", "[push, pull_request]", "{pull_request: {}, push: {}}"])
@pytest.mark.parametrize(("names", "heard"), [("[other, it]", True), ("it", True), ("[other]", False), ("3", False)])
def test_by_name(tmp_path: Path, events: str, names: str, heard: bool) -> None:
    (one,) = found(tmp_path, measure=MEASURE % ("it", events), report=REPORT % names)
    assert one.heard is heard


def test_a_workflow_without_a_name_goes_by_its_file(tmp_path: Path) -> None:
    (one,) = found(
        tmp_path, measure=(MEASURE % ("", "pull_request")), report=REPORT % ".github/workflows/measure.yml"
    )
    assert one.heard


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "on: pull_request",
        "on: pull_request\njobs: 3",
        "on: pull_request\njobs: {x: {steps: [1, {uses: 2}]}}",
        "on: [\n",
        "\x00",
        "on: pull_request\njobs: {x: {steps: [{uses: a/b@v1}]}}",
        MEASURE % ("it", "push"),
    ],
)
def test_what_measures_no_pull_request_is_passed_over(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, other=text) == ()


def test_the_doctor_tells(make: Make) -> None:
    top = make(PROJECTS["python library"])
    suite_in(top)
    assert list(_workflows(top)) == []

    initialise(top, example=False, force=False, github=True)
    assert [one.level for one in _workflows(top)] == ["ok"]

    (top / ".github/workflows/windtunnel-report.yml").unlink()
    (one,) = _workflows(top)
    assert one.level == "note"
    assert "workflows: [windtunnel]" in one.remedy
