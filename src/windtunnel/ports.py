"""What the inside needs from the outside, as protocols: one real adapter each, and fakes in tests of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from windtunnel.model import Limits

__all__ = [
    "ABSENT_SUBMODULE",
    "LABEL",
    "BuildRequest",
    "ByteSink",
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
ByteSink = Callable[[bytes], object]


@dataclass(frozen=True)
class EngineInfo:
    """What the engine says of itself and of its machine. `platform` is what it runs: "linux/amd64"."""

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
    platform: str = ""


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
    """An image as the engine has it. `layers` are diff-ids, base first: the same in every store.

    `parent` is the image that a classic build made before its last step; "" where it was not built here. `platform`
    is "linux/amd64", or "" where it is not known.
    """

    id: str
    layers: tuple[str, ...]
    size: int
    created: str
    labels: Mapping[str, str] = field(default_factory=dict)
    platform: str = ""
    parent: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildRequest:
    """A build: `context` is a tar stream (uncompressed bytes) that holds exactly what may be COPYed.

    Attributes:
        cache_from: images of the engine, not built by it, whose layers are to be used where the steps are the same.
        remote_cache: their names in a registry that has them; BuildKit takes the layers from there.
    """

    tag: str
    context: bytes
    dockerfile: str
    build_args: Mapping[str, str]
    labels: Mapping[str, str]
    no_cache: bool = False
    cache_from: tuple[str, ...] = ()
    remote_cache: tuple[str, ...] = ()


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

    def pull(self, reference: str, on_line: LineSink, patience: float = 60.0) -> ImageInfo:
        """Pull by name. Raises RegistryError, also after `patience` seconds without a sign of life."""

    def push(self, reference: str, on_line: LineSink, patience: float = 60.0) -> None:
        """Push the image of that name to the registry in it. Raises RegistryError, as `pull`."""

    def tag(self, image: str, reference: str) -> None:
        """Give an image one more name; whatever had it before loses it."""

    def save(self, references: Sequence[str], sink: ByteSink) -> None:
        """One archive (a tar stream) of these images. What `sink` raises is let through."""

    def load(self, chunks: Iterable[bytes]) -> None:
        """Take the images of such an archive. Where it is damaged (EngineError), some of them may be there."""

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

    def attach(self, container: str, name: str = "the load side-car") -> Channel:
        """The streams of a container created with `interactive`; attach before `start` to miss nothing.

        `name` is what errors call it.
        """

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
