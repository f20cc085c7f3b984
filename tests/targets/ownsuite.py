"""Our own suite, measured as its users would, as it is or with something in it broken on purpose."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from windtunnel.model import Launch
from windtunnel.sample.runfile import Run, read_run

__all__ = ["ROOT", "Measured", "copied", "measured", "spoilt"]

ROOT = Path(__file__).parents[2]
_ENTRY = Path(sys.executable).with_name("windtunnel")


@dataclass(frozen=True)
class Measured:
    """What `windtunnel run --quick` came to. `run` is None where it wrote no run file."""

    exit: int
    report: str
    told: str
    run: Run | None

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.run.launches if self.run else ()

    @property
    def outcomes(self) -> dict[str, str]:
        """By case: how its launch went, or "failed" or "skipped" where there was none."""
        assert self.run is not None, self.told
        unlaunched = {failure.case: failure.kind for failure in self.run.failures}
        return unlaunched | {launch.case: launch.outcome for launch in self.run.launches}

    @property
    def reasons(self) -> str:
        """Why whatever is not "ok" is not, all of it."""
        assert self.run is not None, self.told
        return "\n".join(
            [
                *(failure.reason for failure in self.run.failures),
                *(f"{launch.reason}\n{launch.detail}" for launch in self.run.launches if launch.outcome != "ok"),
            ]
        )


def measured(folder: Path, scratch: Path, *cases: str, options: tuple[str, ...] = ("--quick",)) -> Measured:
    """Measure cases (regular expressions) of the suite in `folder`; `scratch` is for the run file and for the lock of
    the machine, since only outcomes are looked at here.
    """
    scratch.mkdir(exist_ok=True)
    output = scratch / f"run-{len(list(scratch.iterdir()))}.jsonl"
    environment = {**os.environ, "TMPDIR": str(scratch), "TERM": "dumb", "COLUMNS": "200"}
    done = subprocess.run(
        [str(_ENTRY), "run", *options, "--output", str(output), *cases],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    return Measured(done.returncode, done.stdout, done.stderr, read_run(output) if output.exists() else None)


def copied(folder: Path, *targets: str) -> Path:
    """A copy of the suite with these targets only, in a repository of its own."""
    folder.mkdir()
    shutil.copy(ROOT / "asv.conf.json", folder)
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    for target in targets:
        shutil.copytree(ROOT / "targets" / target, folder / "targets" / target)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def spoilt(folder: Path, path: str, old: str, new: str) -> Path:
    """The copy in `folder` in which `new` stands for `old` (which must be there) in one file."""
    file = folder / path
    text = file.read_text("utf-8")
    assert old in text, f"{path} has no {old!r} to spoil"
    file.write_text(text.replace(old, new), "utf-8")
    return folder
