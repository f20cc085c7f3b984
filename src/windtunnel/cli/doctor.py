"""`windtunnel doctor`: what is missing, what it means for the figures, and the remedy."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Literal

import click

from windtunnel.adapters import git
from windtunnel.adapters.docker import DockerEngine, address
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.adapters.owner import alive
from windtunnel.adapters.project import labels_for
from windtunnel.cli.listening import measuring_workflows
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import find_suite
from windtunnel.errors import ConfigError, EngineError, Exit, WindtunnelError
from windtunnel.launch.reap import OWNER_LABEL
from windtunnel.launch.setup import ensure_load_image, load_image_needed, probe_host
from windtunnel.launch.sidecar import host_of
from windtunnel.model import Host
from windtunnel.ports import LABEL, Engine, EngineInfo
from windtunnel.units import Unit, format_value

__all__ = ["doctor_command"]

_SUITES = ("bullseye", "bookworm", "trixie")
_ROOM = 4 << 30
_QUIET = 0.5
_MARKS = {"ok": "ok  ", "note": "note", "missing": "FAIL"}


@dataclass(frozen=True)
class Finding:
    """One thing looked at: how it is, what that means for the figures, what to do."""

    level: Literal["ok", "note", "missing"]
    what: str
    meaning: str = ""
    remedy: str = ""


@click.command("doctor", short_help="Say what this machine lacks, what it means for the figures, and the remedy.")
def doctor_command() -> None:
    """Look at the container engine, the machine, and the suite in this folder with its workflows.

    \b
    Exit codes: 0 measuring works here (notes may tell what limits it);
    2 the suite's files are wrong; 6 something that measuring needs is missing.
    """
    missing = False
    for finding in _findings():
        missing = missing or finding.level == "missing"
        _show(finding)
    broken = _show_suite()
    sys.exit(int(Exit.USAGE if broken else Exit.INFRASTRUCTURE if missing else Exit.OK))


def _show(finding: Finding) -> None:
    click.echo(f"{_MARKS[finding.level]}  {finding.what}")
    for label, text in (("means", finding.meaning), ("remedy", finding.remedy)):
        if text:
            click.echo(f"      {label}: {text}")


def _findings() -> Iterator[Finding]:
    yield from _programs()
    engine = DockerEngine(timeout=10.0)
    try:
        info = engine.info()
    except EngineError as error:
        yield Finding("missing", f"no container engine at {address()}", "nothing can be measured", _first_line(error))
        return
    yield from _engine(engine, info)
    host = _host(engine, info)
    if host is not None:
        yield from _machine(host, info)
    yield from _left_behind(engine)


def _first_line(error: WindtunnelError) -> str:
    return str(error).partition("; ")[2] or str(error)


def _programs() -> Iterator[Finding]:
    git = shutil.which("git")
    if git is None:
        yield Finding("missing", "git is not installed", "no commit can be read", "install the package git")
    version = metadata.version("asv")
    yield Finding("ok", f"asv {version}, Python {sys.version.split()[0]}")
    room = shutil.disk_usage(Path.cwd()).free
    if room < _ROOM:
        yield Finding(
            "note", f"{format_value(float(room), Unit.BYTE)} of disk free here", "images may not fit", "make room"
        )


def _engine(engine: Engine, info: EngineInfo) -> Iterator[Finding]:
    where = "on this machine" if info.local else "on another machine, which is the one under load"
    builder = "buildx" if buildx_available() else "the classic builder"
    yield Finding(
        "ok", f"engine {info.version} at {address()} ({where}), API {info.api_version}, builds with {builder}"
    )
    if builder != "buildx":
        meaning = "a Dockerfile with RUN --mount or a heredoc can't be built; all others can"
        yield Finding("note", "no docker buildx", meaning, "install it where a Dockerfile needs it (docker-buildx)")
    for warning in info.warnings:
        yield Finding("note", f"the engine warns: {warning}", "limits may not hold")
    lacking = [f"debian:{suite}-slim" for suite in _SUITES if engine.image(f"debian:{suite}-slim") is None]
    if lacking:
        meaning = "they are pulled when a build needs them, and that fails where no registry answers"
        yield Finding("note", f"base images not there: {', '.join(lacking)}", meaning, "tools/base-images")
    yield from _load_image(engine)


def _load_image(engine: Engine) -> Iterator[Finding]:
    try:
        if load_image_needed(engine):
            yield Finding("note", "the load image is not built yet", "the first run builds it (about 15 s)")
        else:
            yield Finding("ok", "the load image is there")
    except EngineError as error:
        yield Finding("missing", str(error), "no load can be made", "tools/base-images trixie")


def _host(engine: Engine, info: EngineInfo) -> Host | None:
    """The machine under load: asked from inside a container if the load image is there, else looked at from here."""
    try:
        if not load_image_needed(engine):
            return probe_host(engine, ensure_load_image(engine, _silent), labels_for(f"doctor-{os.getpid()}"))
    except EngineError:
        pass
    if not info.local or not sys.platform.startswith("linux"):
        return None
    # From here the cgroups are not where the side-car has them; the engine knows their version.
    return replace(host_of(_worker_probe(), info), cgroup=f"v{info.cgroup_version}")


def _silent(_line: str) -> None:
    pass


def _worker_probe() -> dict[str, Any]:
    """The worker's own look at a machine, run here."""
    path = str(resources.files("windtunnel.load") / "image" / "worker.py")
    spec = importlib.util.spec_from_file_location("windtunnel_worker", path)
    if spec is None or spec.loader is None:
        raise EngineError(f"{path} can't be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.probe())


def _machine(host: Host, info: EngineInfo) -> Iterator[Finding]:
    yield Finding("ok", f"{host.cpu_model}, {format_value(float(host.memory), Unit.BYTE)}, kernel {host.kernel}")
    yield _cores(host)
    yield _cgroup(host, info)
    if host.governor not in ("performance", "unknown"):
        meaning = "the clock changes with the load: more noise between launches"
        yield Finding("note", f"CPU governor {host.governor}", meaning, "set it to performance while measuring")
    if host.load > _QUIET:
        meaning = "something else runs here: intervals get wider, small changes become inconclusive"
        yield Finding("note", f"load average {host.load:.2f}", meaning, "stop it, or give the run more time")
    else:
        yield Finding("ok", f"load average {host.load:.2f}, governor {host.governor}")


def _cores(host: Host) -> Finding:
    if host.cores >= 2:
        return Finding("ok", f"{host.cores} cores, {len(host.online)} processors: server and generator get their own")
    if len(host.online) > 1:
        return Finding("note", "one core with hyper-threads", "server and generator disturb each other: more noise")
    meaning = "server and generator take turns: only CPU per request can be trusted"
    return Finding("note", "one processor", meaning, "measure on a machine with two cores or more")


def _cgroup(host: Host, info: EngineInfo) -> Finding:
    if host.cgroup == "unreadable":
        meaning = "CPU per request comes from the engine's own statistics: coarse, and up to a second per slice"
        return Finding("note", "the containers' cgroups can't be read from inside", meaning)
    rootless = any("rootless" in option for option in info.security)
    words = ", rootless engine: check that pinning and limits hold" if rootless else ""
    return Finding("ok", f"cgroup {host.cgroup}: CPU of every slice is read directly{words}")


def _left_behind(engine: Engine) -> Iterator[Finding]:
    left = [one for one in engine.containers(LABEL) if alive(one.labels.get(OWNER_LABEL, "")) is False]
    if left:
        yield Finding("note", f"{len(left)} containers of an ended command", "", "the next command removes them")


def _show_suite() -> bool:
    """The suite in this folder, if there is one; whether its files are wrong."""
    try:
        suite = find_suite(Path.cwd())
    except ConfigError as error:
        if error.file is None:
            _show(Finding("note", "no suite in this folder or above it", "", "windtunnel init"))
            return False
        _show(Finding("missing", str(error)))
        return True
    try:
        cases = discover(suite, nightly=True).cases
    except ConfigError as error:
        _show(Finding("missing", str(error)))
        return True
    _show(Finding("ok", f"suite {suite.project} in {suite.root}: {len(cases)} cases"))
    for finding in _workflows(suite.root):
        _show(finding)
    return False


def _workflows(folder: Path) -> Iterator[Finding]:
    """Workflows of the repository that holds the suite, and whether what they measure is reported."""
    try:
        top = git.top(folder)
    except WindtunnelError:
        return
    for one in measuring_workflows(top):
        if one.heard:
            yield Finding("ok", f"{one.file} measures pull requests, and they are reported")
        else:
            remedy = f"workflows: [{one.name}] under workflow_run of the reporting one, on the default branch"
            yield Finding("note", f"no workflow reports what {one.file} measures", "no comment, no check", remedy)
