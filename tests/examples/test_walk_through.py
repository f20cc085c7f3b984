"""The page about somebody else's project, done as it says: its commands as written, in a shell like its reader's."""

from __future__ import annotations

import filecmp
import os
import subprocess
from pathlib import Path

import pytest
from grown import EXAMPLES, Done, Grown, check, printed, variables
from pages import FENCE, blocks, read, shown

from windtunnel.sample.runfile import read_run

PAGE = "examples.md"
LANTERN = EXAMPLES / "asgi-server"


def commands() -> list[str]:
    """The page's shell blocks; the last one compares."""
    found = [code for _, code in blocks(read(PAGE), "sh")]
    assert found[-1].splitlines()[-1].startswith("windtunnel compare ")
    return [block.replace("/path/to/windtunnel", str(EXAMPLES.parent)) for block in found]


def follow(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A shell that stops at the first command that fails, as a reader would."""
    command = ["sh", "-e", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=variables(folder), capture_output=True, text=True, timeout=1700, check=False
    )


def differences(one: Path, other: Path) -> list[str]:
    """The files that only one of two folders has, or that are not the same in both."""
    names = {path.relative_to(top).as_posix() for top in (one, other) for path in top.rglob("*") if path.is_file()}
    own = {name for name in names if not name.startswith((".windtunnel/", ".asv/")) and "__pycache__" not in name}
    _, unlike, missing = filecmp.cmpfiles(one, other, own, shallow=False)
    return sorted([*unlike, *missing])


def test_what_the_page_makes_is_the_example(tmp_path: Path) -> None:
    """Up to where it is seen whether it runs."""
    steps = [block for block in commands() if "windtunnel run" not in block and "windtunnel compare" not in block]
    done = follow(tmp_path, "\n".join(steps))

    assert done.returncode == 0, done.stderr
    assert differences(tmp_path / "lantern" / "perf", LANTERN / "perf") == []


def test_what_the_page_shows_of_files_is_in_them() -> None:
    for title, code in blocks(read(PAGE), "toml"):
        assert code in (EXAMPLES / title).read_text("utf-8"), title


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_from_its_first_command_to_its_last(tmp_path: Path) -> None:
    done = follow(tmp_path, "\n".join(commands()))

    project = Grown(tmp_path / "lantern", tmp_path / "lantern" / "perf", os.environ)
    last = max((project.suite / ".windtunnel" / "runs").glob("*.jsonl"))
    compared = Done(done.returncode, done.stdout + done.stderr, read_run(last))
    check(compared, project, "http.Lantern(keepalive)")
    source = "import inspect, lantern.server as it; print(inspect.getsource(it).count('for piece in pieces'))"
    assert printed(compared, "python3", "-c", source) == ["0", "1"]


def test_every_example_is_told_of() -> None:
    text = FENCE.sub("", read(PAGE))
    for folder in EXAMPLES.iterdir():
        assert f"`{shown(folder)}`" in text
