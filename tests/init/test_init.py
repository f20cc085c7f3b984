"""`windtunnel init`: what it writes has to be a suite that measures the project it was written for."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from sample_projects import PROJECTS, Make, commit, context_of, git, suite_in, target_of

from windtunnel.cli.detect import detect
from windtunnel.cli.init import initialise, next_steps
from windtunnel.declare.cases import discover
from windtunnel.declare.settings import Settings, SuiteSettings, parse_settings
from windtunnel.declare.suite import load_suite
from windtunnel.errors import ConfigError
from windtunnel.model import LaunchPlan

# ---------------- whatever the project is


@pytest.mark.parametrize("prefix", ["", "perf", "tools/perf"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_the_suite_is_one_that_windtunnel_takes(make: Make, kind: str, prefix: str) -> None:
    top = make(PROJECTS[kind])

    suite = suite_in(top, prefix)
    commit(top)

    assert suite.repository == top
    assert suite.branches == ("trunk",)
    assert suite.settings == Settings()
    target = target_of(suite)
    assert (target.context, target.harness) == ("/", "head")
    cases = discover(suite).cases
    assert {case.workload.keepalive for case in cases} == {True, False}
    assert {case.variant.target for case in cases} == {target.name}
    assert all(target.workers is None or case.workload.concurrency <= target.workers for case in cases)


@pytest.mark.parametrize("prefix", ["", "perf"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_everything_that_is_copied_reaches_the_build(make: Make, kind: str, prefix: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top, prefix)

    context = context_of(suite, commit(top))

    paths = {file.path for file in (*context.files, *context.build_only)}
    for word in copied(context.dockerfile):
        assert word == "." or any(fits(path, word) for path in paths), f"COPY {word}: {sorted(paths)}"


def copied(dockerfile: str) -> Iterator[str]:
    for line in re.sub(r"\\\n", " ", dockerfile).splitlines():
        if line.startswith("COPY "):
            words = line.split()[1:-1]
            # a file of packaging's may come and go with the commits
            yield from (word for word in words if "*" not in word)


def fits(path: str, word: str) -> bool:
    folder = word.removeprefix("./").rstrip("/")
    return fnmatchcase(path, folder) or path.startswith(f"{folder}/")


@pytest.mark.parametrize("prefix", ["", "perf"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_each_source_is_measured_and_no_paper_is(make: Make, kind: str, prefix: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top, prefix)
    before = context_of(suite, commit(top))
    papers = {name for name in PROJECTS[kind] if name in ("README.md", "LICENSE") or name.startswith("tests/")}
    papers |= {"requirements.txt"} if kind == "python scripts" else set()  # what is installed is in the Dockerfile
    measured = set(PROJECTS[kind]) - papers - {"Dockerfile"} - ({"pyproject.toml"} if kind == "docker" else set())

    assert not papers & {file.path for file in before.files}
    for name in measured:
        after = context_of(suite, commit(top, {name: f"{PROJECTS[kind][name]}\n"}))
        assert after.files != before.files, name
        commit(top, {name: PROJECTS[kind][name]})


@pytest.mark.parametrize("kind", PROJECTS)
def test_the_suite_itself_is_not_what_is_measured(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top)
    before = context_of(suite, commit(top))

    changed = {
        "benchmarks/http.py": "# other\n",
        "windtunnel.toml": "# other\n",
        "targets/other/Dockerfile": "FROM x\n",
    }
    after = context_of(suite, commit(top, changed))

    assert after.files == before.files


@pytest.mark.parametrize("kind", PROJECTS)
def test_no_field_of_a_template_is_left(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])

    for path in initialise(top, example=False, force=False):
        text = path.read_text()
        assert not re.search(r"\{\{\w*\}\}", text), path
        assert not re.search(r"[ \t]$", text, re.MULTILINE), path
        if path.suffix == ".py":
            ast.parse(text)


@pytest.mark.parametrize("kind", PROJECTS)
def test_a_second_look_at_a_repository_with_a_suite_finds_the_same(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])
    first = detect(top)

    initialise(top, example=False, force=False)

    assert detect(top) == first


# ---------------- what is in the way


def test_nothing_is_overwritten_and_nothing_is_left_half_done(make: Make) -> None:
    top = make({**PROJECTS["unknown"], "asv.conf.json": "mine", "benchmarks/http.py": "mine too"})

    with pytest.raises(ConfigError) as caught:
        initialise(top, example=False, force=False)

    assert caught.value.file == str(top / "asv.conf.json")
    assert "benchmarks/http.py" in str(caught.value)
    assert "--force" in str(caught.value)
    assert (top / "asv.conf.json").read_text() == "mine"
    assert not git(top, "status", "--short")


def test_force_overwrites_all_but_the_gitignore(make: Make) -> None:
    top = make({**PROJECTS["unknown"], "asv.conf.json": "mine", ".gitignore": "mine\n"})

    written = initialise(top, example=False, force=True)

    assert load_suite(top / "asv.conf.json").branches == ("trunk",)
    assert (top / ".gitignore").read_text() == "mine\n"
    assert top / ".gitignore" not in written
    assert "Add .asv/" in next_steps(top, example=False)


def test_a_link_that_leads_nowhere_is_in_the_way_too(make: Make) -> None:
    top = make(PROJECTS["unknown"])
    (top / "asv.conf.json").symlink_to(top.parent / "elsewhere")

    with pytest.raises(ConfigError):
        initialise(top, example=False, force=False)

    assert not (top.parent / "elsewhere").exists()


def test_a_file_where_the_folder_should_be(make: Make) -> None:
    with pytest.raises(ConfigError, match="name a folder"):
        initialise(make(PROJECTS["unknown"]) / "main.zig", example=False, force=False)


def test_without_a_repository_there_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="git init"):
        initialise(tmp_path, example=False, force=False)

    assert not list(tmp_path.iterdir())


def test_a_recipe_that_is_no_toml_is_named(make: Make) -> None:
    with pytest.raises(ConfigError, match=r"pyproject\.toml: not valid TOML.*line 1"):
        initialise(make({"pyproject.toml": "[project\n"}), example=False, force=False)


# ---------------- settings


def test_the_settings_file_shows_every_default(make: Make) -> None:
    text = (suite_in(make(PROJECTS["unknown"])).root / "windtunnel.toml").read_text()
    shown = "\n".join(re.sub(r"^# (?=[a-z_]+ = |\[)", "", line) for line in text.splitlines())

    settings = parse_settings(shown)

    keys = tomllib.loads(shown)
    assert set(keys) == set(Settings.__dataclass_fields__) - {"launches"}
    assert set(keys["launch"]) == {"launches", *LaunchPlan.__dataclass_fields__}
    assert set(keys["suites"]["quick"]) == set(SuiteSettings.__dataclass_fields__)
    # these three have no default to show
    for name in set(Settings.__dataclass_fields__) - {"budget", "registry", "suites"}:
        assert getattr(settings, name) == getattr(Settings(), name), name
