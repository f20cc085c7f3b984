"""Building an image: `docker buildx` where it is there, else the engine's classic builder through the SDK."""

from __future__ import annotations

import functools
import io
import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from windtunnel.adapters.contextfolder import laid_out
from windtunnel.errors import BuildFailed
from windtunnel.ports import BuildRequest, LineSink

__all__ = ["buildx_available", "buildx_build", "classic_build"]

_TAIL = 20
_TIMEOUT = 3600
_ERROR = "ERROR: "
"""How buildx begins the line that says why it failed."""


@functools.cache
def buildx_available() -> bool:
    """Whether the docker command is there and has a working buildx; asked once per process."""
    if os.environ.get("WINDTUNNEL_BUILDER") == "classic" or shutil.which("docker") is None:
        return False
    try:
        probe = subprocess.run(
            ["docker", "buildx", "inspect"], capture_output=True, text=True, errors="replace", check=False, timeout=30
        )
    except subprocess.TimeoutExpired:
        return False
    # An engine without BuildKit is listed too, but not as running.
    return probe.returncode == 0 and re.search(r"^Status:\s+running", probe.stdout, re.MULTILINE) is not None


def classic_build(api: Any, request: BuildRequest, network: str, on_line: LineSink) -> None:
    """Build through the SDK; a failed step's container is removed by the engine (`forcerm`)."""
    tail: deque[str] = deque(maxlen=_TAIL)
    events = api.build(
        fileobj=io.BytesIO(request.context),
        custom_context=True,
        dockerfile=request.dockerfile,
        tag=request.tag,
        buildargs=dict(request.build_args),
        labels=dict(request.labels),
        nocache=request.no_cache,
        cache_from=list(request.cache_from) or None,
        network_mode=network,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=_TIMEOUT,
    )
    for event in events:
        _lines(str(event.get("stream", "")).splitlines(), tail, on_line)
        if "error" in event:
            raise BuildFailed(str(event["error"]).strip(), detail="\n".join(tail))


def buildx_build(request: BuildRequest, network: str, on_line: LineSink, sources: Sequence[str] = ()) -> None:
    """Build with ``docker buildx build --load``, the context in a folder.

    What is built carries what BuildKit needs to know to take layers from it later; `sources` are such images.
    """
    command = ["docker", "buildx", "build", "--load", "--progress=plain", "--tag", request.tag]
    command += ["--provenance=false", f"--network={network}"]
    for key, value in request.build_args.items():
        command += ["--build-arg", f"{key}={value}"]
    for key, value in request.labels.items():
        command += ["--label", f"{key}={value}"]
    command += ["--cache-to=type=inline", *(f"--cache-from=type=registry,ref={source}" for source in sources)]
    if request.no_cache:
        command.append("--no-cache")
    with laid_out(request.context, request.dockerfile) as laid:
        _run([*command, "--file", str(laid.dockerfile), str(laid.folder)], on_line)


def _run(command: Sequence[str], on_line: LineSink) -> None:
    tail: deque[str] = deque(maxlen=_TAIL)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    with process:
        _lines(process.stdout or (), tail, on_line)
    if process.returncode:
        said = [line.removeprefix(_ERROR) for line in tail if line.startswith(_ERROR)]
        message = said[-1] if said else f"docker buildx build ended with {process.returncode}"
        raise BuildFailed(message, detail="\n".join(tail))


def _lines(lines: Iterable[str], tail: deque[str], on_line: LineSink) -> None:
    for line in lines:
        text = line.rstrip()
        if text:
            tail.append(text)
            on_line(text)
