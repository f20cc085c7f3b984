"""The projects in examples/ as git repositories with a past: plain files become what they stand for."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from containers import docker
from windtunnel.adapters.docker import DockerEngine
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import Comparison, compare
from windtunnel.model import Launch
from windtunnel.sample.runfile import Run, read_run
from windtunnel.sample.summary import launch_metrics

__all__ = ["EXAMPLES", "Done", "Grown", "arm", "check", "grown", "printed", "variables"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_BIN = Path(sys.executable).parent


def variables(scratch: Path) -> dict[str, str]:
    """An environment with our commands, an author of commits, and a lock of the machine of its own: no figure is
    looked at closely here.
    """
    who = {f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        **os.environ,
        **dict.fromkeys(who, "maintainer@example.org"),
        "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(scratch),
        "TERM": "dumb",
        "COLUMNS": "200",
    }


@dataclass(frozen=True)
class Done:
    """A command that has ended, and the run file that it wrote."""

    code: int
    said: str
    run: Run

    @property
    def comparison(self) -> Comparison:
        return compare(self.run)


@dataclass(frozen=True)
class Grown:
    """A project in its repository. `suite` is the folder of asv.conf.json."""

    path: Path
    suite: Path
    environment: Mapping[str, str] = field(repr=False)

    def git(self, *arguments: str, inside: str = ".") -> str:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(
            command, cwd=self.path / inside, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, subject: str, inside: str = ".") -> str:
        """All there is, as a commit; its hash."""
        self.git("add", "--all", inside=inside)
        self.git("commit", "--quiet", "--message", subject, inside=inside)
        return self.git("rev-parse", "HEAD", inside=inside)

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.path / path).read_text("utf-8")
        assert text.count(old) == 1, f"{path} has {text.count(old)} of {old!r}"
        (self.path / path).write_text(text.replace(old, new), "utf-8")

    def compare(self, scratch: Path, *cases: str) -> Done:
        """`windtunnel compare HEAD~1 HEAD` of these cases, in the time that it takes to see a cost doubled."""
        output = scratch / "run.jsonl"
        chosen = [word for case in cases for word in ("--bench", case)]
        options = ["--budget", "120s", "--batch", "4", "--output", str(output)]
        done = subprocess.run(
            ["windtunnel", "compare", "HEAD~1", "HEAD", *chosen, *options],
            cwd=self.suite, env=self.environment, capture_output=True, text=True, timeout=1700, check=False,
        )  # fmt: skip
        said = f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert output.exists(), said
        return Done(done.returncode, said, read_run(output))


_SHORT = '[launch]\nslices = 2\nsingle_slices = 1\nseconds = "20ms"\n'


def grown(name: str, folder: Path, suite: str = ".", submodule: str = "") -> Grown:
    """A copy of an example, with one commit on main and a short plan of launches.

    Args:
        name: its folder in examples/.
        folder: where the repository goes; with `submodule`, its repository goes beside it.
        suite: the folder of asv.conf.json in it.
        submodule: a folder of it that is a repository of its own.
    """
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    project = Grown(folder, folder / suite, variables(folder.parent))
    (project.suite / "windtunnel.toml").write_text(_SHORT)
    project.git("init", "--quiet", "--initial-branch=main")
    if submodule:
        _make_submodule(project, submodule)
    project.commit("the project")
    return project


def _make_submodule(project: Grown, path: str) -> None:
    library = project.path.with_name(Path(path).name)
    shutil.move(project.path / path, library)
    other = Grown(library, library, project.environment)
    other.git("init", "--quiet", "--initial-branch=main")
    other.commit("the library")
    project.git("submodule", "--quiet", "add", f"../{library.name}", path)


# ---------------- what was measured


def arm(run: Run, name: str) -> Launch:
    """A launch of one arm; all of them have one image, and nothing is wrong with any."""
    launches = [launch for launch in run.launches if launch.arm == name]
    assert launches
    assert {launch.outcome for launch in launches} == {"ok"}, [launch.reason for launch in launches]
    assert len({launch.image for launch in launches}) == 1
    return launches[0]


def _shared_layers(run: Run) -> tuple[int, int, int]:
    """How many layers base has, head has, and how many both have from the bottom up to the first that differs."""
    engine = DockerEngine()
    found = []
    for name in ("base", "head"):
        info = engine.image(arm(run, name).image)
        assert info is not None
        found.append(info.layers)
    base, head = found
    shared = next((at for at, (one, other) in enumerate(zip(base, head, strict=False)) if one != other), len(base))
    return len(base), len(head), shared


def printed(done: Done, *command: str) -> list[str]:
    """What a command prints in the image of base, and in that of head."""
    return [docker("run", "--rm", "--network=none", arm(done.run, name).image, *command) for name in ("base", "head")]


def check(done: Done, project: Grown, case: str) -> None:
    """Both commits were measured, from images that differ by the commits alone, and the planted cost is seen.

    It is large: only a machine with no time for a few pairs can leave the verdict open.
    """
    (result,) = done.comparison.cases
    assert result.case.id == case
    assert result.verdict in {Verdict.REGRESSION, Verdict.INCONCLUSIVE}, done.said
    assert done.code == (10 if result.verdict is Verdict.REGRESSION else 0), done.said
    assert _cpu(done.run, "head") > 1.1 * _cpu(done.run, "base")
    commits = [project.git("rev-parse", revision) for revision in ("HEAD~1", "HEAD")]
    assert [one.commit for one in done.run.header.arms] == commits
    base, head, shared = _shared_layers(done.run)
    # Debian's layer and the one of its packages; above them, what comes from the commit
    assert 2 <= shared < base == head


def _cpu(run: Run, name: str) -> float:
    values = [launch_metrics(launch)["cpu_per_request"] for launch in run.launches if launch.arm == name]
    return statistics.median(value for value in values if isinstance(value, float))
