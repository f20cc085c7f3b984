"""`windtunnel init --github`: what it writes where, what it leaves alone, and what it says."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from sample_projects import PROJECTS, Make, commit, context_of, git, suite_in

from windtunnel.cli.init import init_command, initialise, next_steps
from windtunnel.cli.workflows import Source, source_of, workflow_files
from windtunnel.errors import ConfigError
from windtunnel.publish.acceptance import LABEL
from windtunnel.version import HOME, __version__

FILES = {f".github/workflows/{name}.yml" for name in ("windtunnel", "windtunnel-report", "windtunnel-record")}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def below(top: Path, paths: tuple[Path, ...]) -> set[str]:
    return {Path(os.path.relpath(path, top)).as_posix() for path in paths}


def steps(directory: Path, written: tuple[Path, ...], *, sample: bool = False) -> str:
    """What is told, on one line."""
    return " ".join(next_steps(directory, example=sample, written=written).split())


def uses(text: str) -> list[str]:
    """Every action that a workflow uses."""
    jobs = yaml.safe_load(text)["jobs"].values()
    return [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]


# ---------------- what is written


def test_a_suite_that_is_there_gets_workflows_and_stays_as_it_is(make: Make) -> None:
    top = make(PROJECTS["python library"])
    suite_in(top)
    commit(top, {"benchmarks/http.py": "# mine\n"})

    written = initialise(top, example=False, force=False, github=True)

    assert below(top, written) == FILES
    assert git(top, "status", "--short", "--untracked-files=all").splitlines() == [
        f"?? {one}" for one in sorted(FILES)
    ]


def test_force_overwrites_the_workflows_and_not_the_suite(make: Make) -> None:
    top = make(PROJECTS["python library"])
    suite_in(top)
    commit(top, {"benchmarks/http.py": "# mine\n", ".github/workflows/windtunnel.yml": "mine"})

    initialise(top, example=False, force=True, github=True)

    assert (top / "benchmarks/http.py").read_text() == "# mine\n"
    assert (top / ".github/workflows/windtunnel.yml").read_text() != "mine"


def test_without_a_suite_both_are_written(make: Make) -> None:
    top = make(PROJECTS["python library"])

    written = below(top, initialise(top, example=False, force=False, github=True))

    assert written > FILES
    assert "asv.conf.json" in written


def test_the_workflows_go_to_the_top_and_name_the_folder_of_the_suite(make: Make) -> None:
    top = make(PROJECTS["python library"])

    written = below(top, initialise(top / "perf", example=False, force=False, github=True))

    assert written >= FILES | {"perf/asv.conf.json"}
    for name in FILES:
        (job,) = [job for key, job in yaml.safe_load((top / name).read_text())["jobs"].items() if key != "deploy"]
        assert job["steps"][-1]["with"]["directory"] == "perf"


def test_history_is_written_from_the_main_branch(make: Make) -> None:
    top = make(PROJECTS["python library"])  # its main branch is called trunk
    initialise(top, example=False, force=False, github=True)

    record = (top / ".github/workflows/windtunnel-record.yml").read_text()

    assert yaml.safe_load(record)[True]["push"] == {"branches": ["trunk"]}  # YAML takes "on" for true


def test_a_sample_project_gets_them_too(tmp_path: Path) -> None:
    written = below(tmp_path, initialise(tmp_path, example=True, force=False, github=True))

    assert written > FILES


def test_paths_are_told_as_the_folder_was_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    top = make(PROJECTS["python library"])
    (top / "deep").mkdir()
    monkeypatch.chdir(top / "deep")

    done = CliRunner().invoke(init_command, ["perf", "--github"])

    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1]
    assert "../.github/workflows/windtunnel.yml" in done.output.splitlines()
    assert "perf/asv.conf.json" in done.output.splitlines()


# ---------------- what is in the way


def test_a_workflow_in_the_way_leaves_everything_unwritten(make: Make) -> None:
    top = make({**PROJECTS["python library"], ".github/workflows/windtunnel-record.yml": "mine"})

    with pytest.raises(ConfigError, match="one more suite") as caught:
        initialise(top, example=False, force=False, github=True)

    assert caught.value.file == str(top / ".github/workflows/windtunnel-record.yml")
    assert not git(top, "status", "--short")


def test_a_suite_in_a_folder_nearby_is_not_given_a_rival(make: Make) -> None:
    top = make(PROJECTS["python library"])
    suite_in(top, "perf")
    commit(top)

    with pytest.raises(ConfigError, match=r"windtunnel init .*perf --github"):
        initialise(top, example=False, force=False, github=True)

    assert not git(top, "status", "--short")


def test_a_suite_of_another_repository_gets_no_workflows(make: Make) -> None:
    top = make({"asv.conf.json": '{"version": 1, "repo": "https://forge.example/project.git"}'})

    with pytest.raises(ConfigError, match="names another repository"):
        initialise(top, example=False, force=False, github=True)

    assert not git(top, "status", "--short")


def test_a_broken_suite_is_told_and_gets_no_workflows(make: Make) -> None:
    top = make({"asv.conf.json": "{"})

    with pytest.raises(ConfigError, match=r"asv\.conf\.json:1"):
        initialise(top, example=False, force=False, github=True)

    assert not git(top, "status", "--short")


# ---------------- what is left to do


def test_what_is_left_to_do_is_told(make: Make) -> None:
    top = make(PROJECTS["python library"])

    told = steps(top, initialise(top, example=False, force=False, github=True))

    assert "Found a Python project" in told
    assert "bring them to trunk" in told
    assert f"gh label create {LABEL}" in told
    assert "windtunnel-results" in told
    assert 'gate = "on"' in told


def test_what_is_settled_is_not_told(make: Make) -> None:
    top = make(PROJECTS["python library"])
    suite_in(top)
    (top / "windtunnel.toml").write_text('gate = "on"\nresults_branch = "speed"\n')

    told = steps(top, initialise(top, example=False, force=False, github=True))

    assert "Found a" not in told
    assert 'gate = "on"' not in told
    assert "leave out speed" in told


def test_without_workflows_nothing_is_told_of_them(make: Make) -> None:
    top = make(PROJECTS["python library"])

    told = steps(top, initialise(top, example=False, force=False))

    assert LABEL not in told
    assert told == " ".join(next_steps(top, example=False).split())


def test_the_sample_says_both(tmp_path: Path) -> None:
    told = steps(tmp_path, initialise(tmp_path, example=True, force=False, github=True), sample=True)

    assert "A sample project" in told
    assert "bring them to main" in told


# ---------------- where the actions come from


def record(url: str, **info: str) -> str:
    return json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT, **info}})


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/some-one/a.fork",
        "https://github.com/some-one/a.fork.git",
        "https://github.com/some-one/a.fork/",
        "ssh://git@github.com/some-one/a.fork.git",
    ],
)
def test_an_installation_from_a_repository_is_pinned_to_its_commit(url: str) -> None:
    assert source_of(record(url)) == Source("some-one/a.fork", COMMIT)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        json.dumps({"url": "file:///home/me/windtunnel", "dir_info": {"editable": True}}),
        json.dumps({"url": "https://github.com/a/b", "archive_info": {}}),
        record("https://forge.example/a/b"),
        record("https://github.com/a/b/c"),
        record("https://github.com/a/b\n"),
        record("https://github.com/a/b", commit_id="main"),
        json.dumps({"url": 3, "vcs_info": {"commit_id": COMMIT}}),
        json.dumps({"url": "https://github.com/a/b", "vcs_info": {"commit_id": None}}),
    ],
)
def test_any_other_one_is_the_release_of_its_version(text: str | None) -> None:
    assert source_of(text) == Source(HOME, f"v{__version__}")


def test_the_actions_are_taken_from_there() -> None:
    for source in (Source("a/b", COMMIT), Source("a/b", "v9")):
        found = [one for text in workflow_files("", "main", source).values() for one in uses(text)]
        ours = [one for one in found if not one.startswith("actions/")]
        assert ours == [f"a/b/{path}@{source.ref}" for path in ("action", "action/report", "action/record")]


# ---------------- any name


def evaluated(text: str) -> str:
    """A text in which every expression is a quoted string, as GitHub reads it."""
    return text.replace("${{ '${{' }}", "${{")


def pieces(files: Mapping[str, str]) -> tuple[Any, Any]:
    measure, record = (
        yaml.safe_load(files[f".github/workflows/{name}.yml"]) for name in ("windtunnel", "windtunnel-record")
    )
    return measure["jobs"]["measure"]["steps"][-1]["with"]["directory"], record[True]["push"]["branches"][0]


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=30)


@given(directory=NAMES, branch=NAMES.filter(lambda name: not set(name) & set(" ~^:?*[\\")))
@example("true", "1.0")
@example("perf", "null")
@example("a: b # c", "release/1.x")
@example("${{ secrets.X }}", "it's")
@example("- x", '"quoted"')
@example("@x", "c++")
@example("#1", "!important")
def test_any_folder_and_branch_means_itself(directory: str, branch: str) -> None:
    found, pattern = pieces(workflow_files(directory, branch, Source("a/b", "v1")))

    assert evaluated(found) == directory
    # in a pattern "+" repeats, and "!" at the front says not
    assert evaluated(pattern) == branch.replace("+", r"\+").replace("!", r"\!", 1 if branch.startswith("!") else 0)


# ---------------- what a change of them is


@pytest.mark.parametrize("kind", ["python scripts", "unknown", "docker"])
def test_a_change_of_workflows_is_not_measured(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top)
    before = context_of(suite, commit(top))

    initialise(top, example=False, force=False, github=True)

    assert context_of(suite, commit(top)).files == before.files
