"""A project on a forge that is quickly built and measured, and pull requests to it."""

from __future__ import annotations

from pathlib import Path

from checkouts import Checkout, Origin
from compared import FAST, SETTINGS, SLOW, SOURCE

__all__ = ["SETTINGS", "SLOW", "one_case", "pulled", "suite_files", "tiny_project"]

_HEARD = """\
name: Report
on:
  workflow_run:
    workflows: [Measure]
"""


def suite_files(folder: str = "") -> dict[str, str]:
    """The suite, in a folder of the repository."""
    found = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*") if path.is_file()}
    texts = {name: path.read_text() for name, path in found.items() if "__pycache__" not in name}
    texts[".gitignore"] = texts.pop("gitignore")
    assert texts[SETTINGS] == FAST
    return {f"{folder}{name}": text for name, text in texts.items()}


def one_case() -> dict[str, str]:
    """What changes in the suite where one case is enough. It has time, should the machine be busy."""
    files, name = suite_files(), "benchmarks/tiny.py"
    assert "[2, 4]" in files[name]
    return {
        name: files[name].replace("[2, 4]", "[2]"),
        "windtunnel.toml": f'budget = "5m"\n{files["windtunnel.toml"]}',
    }


def tiny_project(path: Path) -> Origin:
    """A commit before the suite, then one with it."""
    origin = Origin(path, {"README": "A server.\n", ".github/workflows/report.yml": _HEARD})
    origin.commit("the suite", suite_files())
    return origin


def pulled(origin: Origin, job: Path, files: dict[str, str], subject: str = "a change") -> tuple[Checkout, str]:
    """A pull request with one commit, checked out as its job has it; and its head."""
    origin.switch("topic", "main")
    head = origin.commit(subject, files)
    origin.switch("main")
    origin.pull_request(7, "topic")
    return origin.checkout(job, "refs/pull/7/merge"), head
