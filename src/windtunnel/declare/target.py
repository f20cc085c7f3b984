"""target.toml -> Target, with every problem of the file in one message."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

from windtunnel.declare.reader import Table, root_table
from windtunnel.declare.toml import Document, parse_toml
from windtunnel.declare.values import (
    NAME,
    Convert,
    Unfit,
    boolean,
    choice,
    duration,
    integer,
    number,
    relative_path,
    size,
    text,
    text_list,
    text_map,
)
from windtunnel.model import AxisValue, Limits, Ready, Service, Target

__all__ = ["Declared", "declare_target", "parse_target"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AXIS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_AMBIGUOUS = re.compile(r"""[\s,=()'"\x00-\x1f\x7f]""")
_URL_PATH = re.compile(r"/[^\s\x00-\x1f\x7f]*")
_IMAGE = re.compile(r"[^\s\x00-\x1f\x7f]+")
_LEAST_MEMORY = 6 << 20  # engines refuse less

_strings = text_map('a table of strings, such as { NAME = "value" }', _VARIABLE)
_argv = text_list('an array of strings, one per argument, such as ["sh", "-c", "exec server"]')
_port = integer(1, 65535)
_kind: Convert[Literal["server", "client"]] = choice("server", "client")
_context: Convert[Literal[".", "/"]] = choice(".", "/")
_harness: Convert[Literal["commit", "head"]] = choice("commit", "head")


class _Settings(TypedDict):
    build_args: Mapping[str, str]
    env: Mapping[str, str]
    command: tuple[str, ...] | None
    workers: int | None


@dataclass(frozen=True)
class Declared:
    """A target and the document it was read from, which has the lines for later complaints."""

    target: Target
    document: Document


def parse_target(text: str, *, name: str, folder: str, file: str, exists: Callable[[str], bool]) -> Target:
    """The target that `text`, the content of a target.toml, declares.

    Args:
        text: the whole file.
        name: the target's name: its folder's own name.
        folder: POSIX path of that folder, relative to the top of the tree it was read from.
        file: what messages call the file.
        exists: whether that tree has a file at a POSIX path relative to its top.

    Raises:
        ConfigError: for everything that is wrong at once, one line each; `file`, `line` and `key` are the first's.
    """
    return declare_target(text, name=name, folder=folder, file=file, exists=exists).target


def declare_target(text: str, *, name: str, folder: str, file: str, exists: Callable[[str], bool]) -> Declared:
    """`parse_target`, with the document."""
    document = parse_toml(text, file)
    root = root_table(document)
    target = _target(root, name, folder)
    _check_dockerfile(root, target, exists)
    if target.kind == "client" and "worker" not in root:
        root.wrong(
            'missing; a client needs the program that runs its calls: worker = ["perl", "worker.pl"]', "worker"
        )
    root.close()
    root.problems.check()
    return Declared(target, document)


def _target(root: Table, name: str, folder: str) -> Target:
    context = root.get("context", _context, Target.context)
    return Target(
        name=name,
        folder=folder,
        kind=root.get("kind", _kind, Target.kind),
        description=root.get("description", text(), ""),
        port=root.get("port", _port, Target.port),
        dockerfile=root.get("dockerfile", relative_path, Target.dockerfile),
        context=context,
        sources=_sources(root, context),
        build_only=root.get("build_only", text_list('an array of patterns, such as ["README.md"]', _pattern), ()),
        harness=root.get("harness", _harness, "head" if context == "/" else "commit"),
        worker=root.get("worker", _argv, None),
        axes=_axes(root),
        ready=_ready(root),
        limits=_limits(root) or Limits(),
        services=_services(root),
        **_settings(root),
    )


def _settings(table: Table) -> _Settings:
    """What a target and each of its axis values may set alike."""
    return {
        "build_args": table.get("build_args", _strings, {}),
        "env": table.get("env", _strings, {}),
        "command": table.get("command", _argv, None),
        "workers": table.get("workers", integer(1), None),
    }


def _sources(root: Table, context: str) -> tuple[str, ...]:
    expected = 'an array of patterns that names what the image is built from, such as ["src/**", "!**/*.md"]'
    if context == "/" and "sources" not in root:
        root.known.add("sources")
        root.problems.add(f'missing; context "/" needs {expected}', line=root.line("context"), key="sources")
        return ()
    found = root.get("sources", text_list(expected, _pattern), Target.sources)
    if all(pattern.startswith("!") for pattern in found):
        root.wrong(f"every pattern excludes, so nothing is left; expected {expected}", "sources")
    return found


def _pattern(value: object) -> str:
    found = text("a pattern")(value)
    if not found.strip().lstrip("!"):
        raise Unfit(value, "a pattern")
    if ".." in found.lstrip("!").split("/"):
        raise Unfit(value, 'a pattern inside the context, without ".."')
    return found


def _check_dockerfile(root: Table, target: Target, exists: Callable[[str], bool]) -> None:
    path = posixpath.join(target.folder, target.dockerfile)
    if not exists(path):
        root.wrong(f'{path} does not exist; write it, or name another with dockerfile = "..."', "dockerfile")


# ---------------- axes


def _axes(root: Table) -> dict[str, Mapping[str, AxisValue]]:
    table = root.table("axes", "a table of axes, such as [axes.perl]")
    if table is None:
        return {}
    if not table.data:
        table.wrong("no axis in it; add one, such as [axes.perl], or leave it out")
    return {axis: _axis(table, axis) for axis in table}


def _axis(table: Table, axis: str) -> Mapping[str, AxisValue]:
    if not _AXIS.fullmatch(axis):
        table.wrong(f"not a name for an axis; expected one that matches {_AXIS.pattern}", axis)
    values = table.table(axis, f'a table of values, such as [axes.{axis}] and below it "5.36" = {{}}')
    if values is None:
        return {}
    if not values.data:
        values.wrong('an axis without values; add some, such as "5.36" = {}, or leave the axis out')
    _check_value_names(values)
    return {value: _axis_value(values, value) for value in values}


def _check_value_names(values: Table) -> None:
    seen: dict[str, str] = {}
    for value in values:
        if not value or _AMBIGUOUS.search(value):
            values.wrong("an ambiguous name for a value: use no spaces, quotes, commas, brackets or =", value)
        other = seen.setdefault(value.casefold(), value)
        if other != value:
            values.wrong(f'too like the value "{other}" of the same axis; they differ by case only', value)


def _axis_value(values: Table, value: str) -> AxisValue:
    table = values.table(value, 'a table of what it changes, such as { build_args = { SUITE = "bookworm" } }')
    if table is None:
        return AxisValue()

    def hint(key: str) -> str:
        # 5.36 = {...} without quotes is a dotted key: the table 5 with the key 36
        return f'write "{value}.{key}" in quotes' if value.isdigit() and key.isdigit() else ""

    found = AxisValue(**_settings(table), optional=table.get("optional", boolean, False))
    table.close(hint)
    return found


# ---------------- ready, limits, services


def _ready(root: Table) -> Ready:
    table = root.table("ready", 'a table, such as ready = { path = "/", status = 200, timeout = "20s" }')
    if table is None:
        return Ready()
    found = Ready(
        path=table.get("path", text('a path that starts with "/"', _URL_PATH), Ready.path),
        status=table.get("status", integer(100, 599), Ready.status),
        timeout=table.get("timeout", duration, Ready.timeout),
    )
    table.close()
    return found


def _limits(owner: Table) -> Limits | None:
    """The limits of a target or a service; None where nothing is said."""
    table = owner.table("limits", 'a table, such as limits = { memory = "1g", cpus = 1 }')
    if table is None:
        return None
    found = Limits(
        memory=table.get("memory", size(_LEAST_MEMORY), Limits.memory),
        cpus=table.get("cpus", number(0.01, "a number of cores, 0.01 or more"), Limits.cpus),
        pids=table.get("pids", integer(1), Limits.pids),
    )
    table.close()
    return found


def _services(root: Table) -> tuple[Service, ...]:
    tables = root.tables("services", "an array of tables: write [[services]] with two brackets")
    seen: dict[str, int] = {}
    services = []
    for table in tables:
        service = _service(table)
        if service.name in seen:
            table.wrong(f'"{service.name}" is the name of the service on line {seen[service.name]} too', "name")
        elif service.name:
            seen[service.name] = table.line("name")
        services.append(service)
    return tuple(services)


def _service(table: Table) -> Service:
    name = f"a name that matches {NAME.pattern}"
    service = Service(
        name=table.need("name", text(name, NAME), "", name),
        target=table.get("target", text("the name of a target", NAME), None),
        image=table.get("image", text('an image, such as "memcached:1.6"', _IMAGE), None),
        port=table.get("port", _port, None),
        axes=table.get("axes", text_map('a table, such as { perl = "5.36" }', _AXIS), {}),
        env=table.get("env", _strings, {}),
        command=table.get("command", _argv, None),
        limits=_limits(table),
    )
    table.close()
    if ("target" in table) == ("image" in table):
        found = "both a target and an image" if "target" in table else "neither a target nor an image"
        table.wrong(f'names {found}; expected one of them: target = "memcached" or image = "memcached:1.6"')
    if service.image is not None and "axes" in table:
        table.wrong("an image has no axes; only a target has", "axes")
    return service
