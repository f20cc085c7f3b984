"""What the pages say of the actions and the workflows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import PAGES, ROOT, blocks, prose, read, rows, section, shown

from windtunnel.cli.workflows import Source, workflow_files
from windtunnel.declare.settings import Settings
from windtunnel.publish.acceptance import LABEL
from windtunnel.version import HOME, __version__

PAGE = read("action.md")
HEADINGS = {
    "action": "### `action`: measure",
    "action/report": "### `action/report`: report",
    "action/record": "### `action/record`: record",
}
RELEASE = Source(HOME, f"v{__version__}")
WORKFLOWS = {Path(path).stem: text for path, text in workflow_files("", "main", RELEASE).items()}


def action(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / path / "action.yml").read_text("utf-8")))


def table(text: str, first: str) -> dict[str, list[str]]:
    """The rows of the table whose heading begins with the cell `first`, and of no other."""
    found = re.search(rf"^\| {first} \|.*\n\|[-| ]+\|\n((?:\|.*\n?)*)", text, re.MULTILINE)
    return rows(found[1]) if found else {}


# ---------------- the actions


@pytest.mark.parametrize("path", HEADINGS)
def test_every_input_is_described_with_its_default(path: str) -> None:
    told = table(section(PAGE, HEADINGS[path]), "input")
    real = action(path)["inputs"]
    assert set(told) == set(real)
    for name, declared in real.items():
        assert declared["description"], name
        default = declared.get("default", "")
        assert told[name][0] == (f"`{default}`" if default else ""), name


@pytest.mark.parametrize("path", HEADINGS)
def test_every_output_is_described(path: str) -> None:
    real = action(path).get("outputs", {})
    assert set(table(section(PAGE, HEADINGS[path]), "output")) == set(real)
    assert all(declared["description"] for declared in real.values())


# ---------------- the workflows


def test_what_each_permission_is_for_is_told() -> None:
    told = set()
    for row in re.findall(
        r"^\| (\w+)(?:, job `(\w+)`)? \| (.+?) \|", section(PAGE, "## What each permission is for"), re.M
    ):
        told |= {(row[0], row[1] or row[0], one) for one in re.findall(r"`([\w-]+: \w+)`", row[2])}
    real = set()
    for name, text in WORKFLOWS.items():
        file = name.removeprefix("windtunnel").removeprefix("-") or "measure"
        for job, declared in yaml.safe_load(text)["jobs"].items():
            real |= {(file, job, f"{key}: {value}") for key, value in declared["permissions"].items()}
    assert told == real


def test_the_files_that_init_writes_are_told() -> None:
    assert set(table(section(PAGE, "## Set it up"), "file")) == {f"{name}.yml" for name in WORKFLOWS}


def test_the_label_and_the_branch_are_told() -> None:
    assert f"gh label create {LABEL}" in PAGE
    assert f"`{Settings.results_branch}`" in section(PAGE, "## History and Pages")


def test_events_are_told_that_the_workflow_runs_on() -> None:
    told = set(table(section(PAGE, "## Base and head"), "event"))
    assert set(yaml.safe_load(WORKFLOWS["windtunnel"])[True]) <= told  # YAML takes "on" for true


# ---------------- examples

YAML = [(shown(page), *block) for page in PAGES for block in blocks(page.read_text("utf-8"), "yaml")]


@pytest.mark.parametrize(("page", "title", "code"), YAML)
def test_examples_are_yaml_with_actions_of_this_version(page: str, title: str, code: str) -> None:
    assert yaml.safe_load(code)
    for found in re.findall(r"uses: (\S+)", code):
        name, _, ref = found.partition("@")
        if name.startswith("actions/"):
            assert any(f"{name}@{ref}" in text for text in [*WORKFLOWS.values(), *_actions()]), found
        elif name != "./":
            path = name.removeprefix(f"{HOME}/")
            assert (ROOT / path / "action.yml").is_file(), found
            assert ref == f"v{__version__}", found


def _actions() -> list[str]:
    return [path.read_text("utf-8") for path in (ROOT / "action").rglob("action.yml")]


def test_the_sharded_workflow_is_sound(tmp_path: Path) -> None:
    """With the head of the file that init writes, as the page says."""
    (jobs,) = [code for title_page, title, code in YAML if title_page == "site/action.md" and "from jobs on" in title]
    head = WORKFLOWS["windtunnel"].partition("\njobs:\n")[0]
    pinned = jobs.replace(f"@{RELEASE.ref}", f"@{'0' * 40} # {RELEASE.ref}")  # as whoever wants it strict has it
    file = tmp_path / ".github" / "workflows" / "windtunnel.yml"
    file.parent.mkdir(parents=True)
    file.write_text(f"{head}\n{pinned}")

    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "lint_workflows.py", file],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_inputs_in_examples_are_there() -> None:
    for _, _, code in YAML:
        for path, given in re.findall(rf"uses: {HOME}/([\w/]+)@\S+\n\s+with:\n((?:\s{{10,}}\w+: .*\n)+)", code):
            assert set(re.findall(r"^\s+(\w+):", given, re.MULTILINE)) <= set(action(path)["inputs"])


# ---------------- the gate and the comment


def test_the_kinds_of_comment_are_told() -> None:
    from typing import get_args

    from windtunnel.declare.settings import Comment

    told = table(section(PAGE, "## When there is a comment"), "`comment`")
    assert {name.strip('"') for name in told} == set(get_args(Comment))


def test_the_page_says_nothing_in_the_future() -> None:
    assert not re.search(r"\b(will be|not yet|next version|planned)\b", prose(PAGE))
