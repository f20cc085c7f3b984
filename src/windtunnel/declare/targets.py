"""Targets of a source tree: which arm's folder counts, and whether their services hold together."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import replace

from windtunnel.declare.reader import near
from windtunnel.declare.target import Declared, declare_target
from windtunnel.declare.toml import format_key
from windtunnel.errors import ConfigError, VariantMissing
from windtunnel.model import Service, Target
from windtunnel.ports import SourceTree

__all__ = ["FILE", "TargetLoader", "can_change", "check_services", "load_target", "target_names"]

FILE = "target.toml"
_WORKTREE = "worktree"

Load = Callable[[str], Declared]


def load_target(name: str, *, folder: str, project: SourceTree, harness: SourceTree) -> Target:
    """The target `name` as one arm sees it.

    Args:
        name: the target's name: its folder's name below `folder`.
        folder: POSIX path of the folder of all targets, relative to the trees' top ("targets", "perf/targets").
        project: the arm's own commit.
        harness: the newest side. Its target.toml says whether the folder of the arm's own commit counts
            (``harness = "commit"``) or its own; what an older commit says about that does not matter.

    Raises:
        ConfigError: the newest side has no such target, or its file or its services are wrong.
        VariantMissing: the arm's own commit should have it and does not, or has it in a form that can't be read.
    """
    return TargetLoader(folder, project, harness).load(name)


class TargetLoader:
    """`load_target` for many targets of one arm; each file is read and parsed once."""

    def __init__(self, folder: str, project: SourceTree, harness: SourceTree) -> None:
        self._folder = folder
        self._project = project
        self._harness = harness
        self._declared: dict[str, Declared] = {}

    def load(self, name: str) -> Target:
        """See `load_target`."""
        declared = self._declare(name)
        check_services(declared, self._declare)
        return declared.target

    def _declare(self, name: str) -> Declared:
        if name not in self._declared:
            self._declared[name] = self._read(name)
        return self._declared[name]

    def _read(self, name: str) -> Declared:
        newest = _from_tree(name, self._folder, self._harness)
        if newest is None:
            raise _no_such_target(name, self._folder, self._harness)
        if newest.target.harness == "head" or _same(self._project, self._harness):
            return newest
        return _from_commit(name, self._folder, self._project)


def _same(one: SourceTree, other: SourceTree) -> bool:
    # two working trees may be those of two repositories
    return one is other or (one.revision == other.revision != _WORKTREE)


def _from_commit(name: str, folder: str, project: SourceTree) -> Declared:
    try:
        declared = _from_tree(name, folder, project)
    except ConfigError as error:
        # the newest side reads well, so this is a file of another time, which nobody can mend any more
        raise VariantMissing(f"the target {name} of this commit can't be read: {error}") from error
    if declared is None:
        raise VariantMissing(f"commit {project.revision[:10]} has no {posixpath.join(folder, name, FILE)}")
    return replace(declared, target=replace(declared.target, harness="commit"))


def _from_tree(name: str, folder: str, tree: SourceTree) -> Declared | None:
    """The target in `tree`, or None where it has none."""
    own = posixpath.join(folder, name)
    path = posixpath.join(own, FILE)
    paths = frozenset(tree.paths(own))
    if path not in paths:
        return None
    (source,) = tree.read([path])
    file = path if tree.revision == _WORKTREE else f"{tree.revision[:10]}:{path}"
    try:
        text = source.content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        raise ConfigError("not UTF-8; save it as UTF-8", file=file, line=line) from None
    return declare_target(text, name=name, folder=own, file=file, exists=paths.__contains__)


def target_names(folder: str, tree: SourceTree) -> tuple[str, ...]:
    """The names of all targets in `tree`, sorted: folders right below `folder` that hold a target.toml."""
    found = (posixpath.split(path) for path in tree.paths(folder))
    return tuple(sorted(posixpath.basename(head) for head, tail in found if tail == FILE and _parent(head) == folder))


def _parent(path: str) -> str:
    return posixpath.dirname(path)


def _no_such_target(name: str, folder: str, tree: SourceTree) -> ConfigError:
    names = target_names(folder, tree)
    file = posixpath.join(folder, name, FILE)
    if not names:
        return ConfigError(f"does not exist, and {folder}/ holds no target; write it", file=file)
    return ConfigError(f"there is no target {name}; {near(name, names)} (targets: {', '.join(names)})", file=file)


# ---------------- services


def check_services(declared: Declared, load: Load) -> None:
    """Follow the services of a target, and theirs, with `load` (name -> Declared, ConfigError for an unknown name).

    Raises:
        ConfigError: a service names a target that does not exist or is a client, an axis or value that this does
            not have, or a port that is taken in the shared network namespace; or services depend on each other in
            a circle. With file and line of the service at fault.
    """
    target = declared.target
    ports = {} if target.kind == "client" else {target.port: f"the target {target.name}"}
    _follow(declared, load, (target.name,), ports)


def _follow(declared: Declared, load: Load, trail: tuple[str, ...], ports: dict[int, str]) -> None:
    for index, service in enumerate(declared.target.services):
        port = service.port
        if service.target is not None:
            if service.target in trail:
                circle = [*trail[trail.index(service.target) :], service.target]
                message = f"services depend on each other in a circle: {' -> '.join(circle)}; break it"
                raise _wrong(declared, index, "target", message)
            inner = _load_service(declared, index, service.target, load)
            _check_axes(declared, index, service, inner.target)
            port = inner.target.port if port is None else port
            _follow(inner, load, (*trail, service.target), ports)
        _take_port(declared, index, port, ports)


def _load_service(declared: Declared, index: int, name: str, load: Load) -> Declared:
    try:
        inner = load(name)
    except ConfigError as error:
        if error.line is not None:  # the file is there, and wrong in itself: its own lines say more
            raise
        raise _wrong(declared, index, "target", str(error)) from error
    if inner.target.kind == "client":
        raise _wrong(declared, index, "target", f"{name} is a client; only a server can be a service")
    return inner


def _check_axes(declared: Declared, index: int, service: Service, target: Target) -> None:
    for axis, value in service.axes.items():
        if axis not in target.axes:
            raise _wrong(declared, index, "axes", f"{target.name} has no axis {axis}; {near(axis, target.axes)}")
        if value not in target.axes[axis]:
            message = f'axis {axis} of {target.name} has no value "{value}"; it has {", ".join(target.axes[axis])}'
            raise _wrong(declared, index, "axes", message)
    for axis, values in target.axes.items():
        if axis not in service.axes and len(values) > 1:
            choice = f'axes = {{ {axis} = "{next(iter(values))}" }}'
            message = f"{target.name} has {len(values)} values on its axis {axis}; choose one: {choice}"
            raise _wrong(declared, index, "axes", message)


def _take_port(declared: Declared, index: int, port: int | None, ports: dict[int, str]) -> None:
    if port is None:
        return
    name = declared.target.services[index].name
    if port in ports:
        message = f"port {port} is taken by {ports[port]} in the same network namespace; choose another"
        raise _wrong(declared, index, "port", message)
    ports[port] = f"the service {name} of {declared.target.name}"


def _wrong(declared: Declared, index: int, key: str, message: str) -> ConfigError:
    path = ("services", index, key)
    return ConfigError(message, file=declared.document.file, line=declared.document.line(path), key=format_key(path))


def can_change(target: Target, load: Callable[[str], Target]) -> bool:
    """Whether anything that is started for `target` can differ between two commits of the project.

    False where the target and all its services are folders of the newest side (or foreign images): a comparison of
    such a target is green whatever the commits hold.
    """
    if target.context == "/" or target.harness == "commit":
        return True
    return any(can_change(load(service.target), load) for service in target.services if service.target is not None)
