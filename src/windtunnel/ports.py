"""What the inside needs from the outside, as protocols: one real adapter each, and fakes in tests of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from windtunnel.model import Limits

__all__ = [
    "ABSENT_SUBMODULE",
    "LABEL",
    "BuildRequest",
    "Channel",
    "ContainerInfo",
    "ContainerSpec",
    "ContainerState",
    "Engine",
    "EngineInfo",
    "HistoryEntry",
    "ImageInfo",
    "LineSink",
    "SourceFile",
    "SourceTree",
]

LABEL = "windtunnel"
"""Every container and image of ours carries this label; its value is the command's id (images: "image")."""

ABSENT_SUBMODULE = "/.git"
"""How a path ends that stands for a submodule which is not to be had: reading it says why."""

LineSink = Callable[[str], None]


@dataclass(frozen=True)
class EngineInfo:
    """What the engine says of itself and of its machine."""

    name: str
    version: str
    api_version: str
    cores: int
    memory: int
    kernel: str
    cgroup_version: str
    storage_driver: str
    security: tuple[str, ...]
    local: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class HistoryEntry:
    """One instruction of an image's history, oldest first; `empty` ones add no layer.

    `size` is what its layer holds, in bytes. An entry of size 0 that is not `empty` may still have added no layer:
    engines differ there.
    """

    created_by: str
    empty: bool
    size: int = 0


@dataclass(frozen=True)
class ImageInfo:
    """An image as the engine has it. `layers` are diff-ids, base first: the same in every store."""

    id: str
    layers: tuple[str, ...]
    size: int
    created: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildRequest:
    """A build: `context` is a tar stream (uncompressed bytes) that holds exactly what may be COPYed."""

    tag: str
    context: bytes
    dockerfile: str
    build_args: Mapping[str, str]
    labels: Mapping[str, str]
    no_cache: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """What a container is created from. `network` is "none" or "container:ID". `cpuset` is "" or "0,1"."""

    image: str
    name: str
    labels: Mapping[str, str]
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    cpuset: str = ""
    network: str = "none"
    sysctls: Mapping[str, str] = field(default_factory=dict)
    read_only_mounts: Mapping[str, str] = field(default_factory=dict)
    interactive: bool = False


@dataclass(frozen=True)
class ContainerState:
    """`started` is seconds since the epoch by the engine's clock. `cpuset` and `memory` are what the engine took."""

    running: bool
    exit_code: int | None
    oom_killed: bool
    started: float | None
    cpuset: str = ""
    memory: int = 0


@dataclass(frozen=True)
class ContainerInfo:
    """A line of the engine's list of containers.

    `build_step` tells one that the classic builder made to write down metadata: it lives for milliseconds, unless the
    build is given up just then.
    """

    id: str
    name: str
    labels: Mapping[str, str]
    running: bool
    created: float
    build_step: bool = False


class Channel(Protocol):
    """The standard streams of an interactive container, by lines."""

    def send(self, line: bytes) -> None:
        """Write one line (without its newline). Raises SidecarLost when the container has gone."""

    def receive(self, timeout: float) -> bytes:
        """The next line of its standard output. Raises SidecarLost at its end, TimeoutError after `timeout` s."""

    def errors(self) -> str:
        """What it has written to standard error so far (bounded)."""

    def close(self) -> None:
        """Let go of the streams; the container is not stopped by this."""


class Engine(Protocol):
    """A container engine. Every method raises EngineError where the engine can't do it."""

    def info(self) -> EngineInfo: ...

    def image(self, reference: str) -> ImageInfo | None:
        """The image, or None where the engine does not have it (nothing is pulled)."""

    def history(self, reference: str) -> tuple[HistoryEntry, ...]:
        """The image's instructions, oldest first."""

    def pull(self, reference: str, on_line: LineSink) -> ImageInfo: ...

    def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
        """Build and tag an image; `on_line` gets the log line by line. Raises BuildFailed with the log's tail."""

    def remove_image(self, reference: str) -> None: ...

    def images(self, label: str) -> tuple[ImageInfo, ...]:
        """Every image that carries the label."""

    def prune_dangling(self, label: str) -> int:
        """Remove untagged images that carry the label, but for those of the last minutes; how many bytes that freed.

        Somebody else's build may be about to give those a tag.
        """

    def create(self, spec: ContainerSpec) -> tuple[str, tuple[str, ...]]:
        """Create a container: its id, and what the engine warned of (limits it dropped)."""

    def start(self, container: str) -> None: ...

    def state(self, container: str) -> ContainerState: ...

    def logs(self, container: str, tail: int = 40) -> str: ...

    def attach(self, container: str) -> Channel:
        """The streams of a container created with `interactive`; attach before `start` to miss nothing."""

    def cpu_seconds(self, container: str) -> float:
        """Total CPU seconds of a container by the engine's own (slow) statistics."""

    def remove(self, container: str) -> None:
        """Kill and remove; a container that is gone already is fine."""

    def containers(self, label: str) -> tuple[ContainerInfo, ...]:
        """Every container, running or not, that carries the label (``windtunnel`` or ``windtunnel=VALUE``)."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a source tree: POSIX path relative to the repository, mode, content (a symlink's is its target)."""

    path: str
    mode: int
    content: bytes
    symlink: bool = False


class SourceTree(Protocol):
    """The repository at one commit, or the working tree. Paths are POSIX, relative to the repository's top."""

    revision: str
    """Full commit hash, or "worktree"."""

    def paths(self, under: str = "") -> tuple[str, ...]:
        """Every file's path below a folder, sorted, submodules at the commit's own commit included.

        A submodule that is not to be had is one path that ends in `ABSENT_SUBMODULE`: whoever does not need it need
        not fail.
        """

    def read(self, paths: Iterable[str]) -> tuple[SourceFile, ...]:
        """Those files with content, in the given order. Raises KeyError for a path that isn't there.

        Raises WindtunnelError for a submodule that is not to be had; the message has the remedy.
        """
