"""Is a workload one that can be run? And which variant of its target does it choose?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from windtunnel.declare.reader import Problems, near
from windtunnel.declare.values import describe
from windtunnel.errors import ConfigError, VariantMissing
from windtunnel.load import generator
from windtunnel.model import Case, Expect, Generator, Target, Variant, Workload

__all__ = ["Where", "case_variant", "check_program", "check_workload", "variant_at"]

GENERATORS: tuple[str, ...] = get_args(Generator)

_MOST_RATE = 1_000_000
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHOD = re.compile(r"[A-Z][A-Z0-9_-]*")
_PATH = re.compile(r"/[^\s\x00-\x1f\x7f]*")
_FIELD_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_OWN_HEADERS: Mapping[str, str] = {
    "connection": "say keepalive = True or False instead",
    "content-length": "it follows from the body",
    "transfer-encoding": "generators send bodies whole",
}


@dataclass(frozen=True)
class Where:
    """The benchmark class that a workload comes from: asv's name of it, its file and line, and the parameters."""

    benchmark: str
    file: str
    line: int | None = None
    params: str = ""

    @property
    def key(self) -> str:
        """How messages call it: ``psgi.Starlet(5.36, keepalive)``."""
        return f"{self.benchmark}({self.params})" if self.params else self.benchmark

    def wrong(self, message: str) -> ConfigError:
        """A ConfigError about this class."""
        return ConfigError(message, file=self.file, line=self.line, key=self.key)


class _Checker:
    """Collects what is wrong with one workload."""

    def __init__(self, where: Where) -> None:
        self.problems = Problems(where.file)
        self._where = where

    def expect(self, holds: bool, name: str, found: object, expected: str) -> bool:
        if not holds:
            self.wrong(f"{name}: found {describe(found)}, expected {expected}")
        return holds

    def wrong(self, message: str) -> None:
        self.problems.add(message, line=self._where.line, key=self._where.key)


def check_workload(workload: Workload, where: Where) -> None:
    """Check every value of a workload, and that they go together and with the generator.

    Raises:
        ConfigError: for everything that is wrong, one line each, with file and line of the class.
    """
    check = _Checker(where)
    _check_request(check, workload)
    _check_headers(check, "headers", workload.headers)
    _check_amounts(check, workload)
    _check_operation(check, workload)
    _check_axes(check, workload)
    _check_expect(check, workload)
    check.problems.check()
    _check_generator(check, workload)
    check.problems.check()


def _check_request(check: _Checker, workload: Workload) -> None:
    path, method, body = workload.path, workload.method, workload.body
    if workload.generator == "program":  # a program of the target's own reads its path as it likes
        check.expect(isinstance(path, str) and bool(path), "path", path, "a string")
    else:
        good = isinstance(path, str) and bool(_PATH.fullmatch(path))
        check.expect(good, "path", path, 'a path that starts with "/", without spaces')
    good = isinstance(method, str) and bool(_METHOD.fullmatch(method)) and method != "CONNECT"
    check.expect(good, "method", method, 'a method in upper case, such as "GET" or "POST"')
    check.expect(body is None or isinstance(body, str), "body", body, "a string or None")
    check.expect(isinstance(workload.keepalive, bool), "keepalive", workload.keepalive, "True or False")
    check.expect(isinstance(workload.h2, bool), "h2", workload.h2, "True or False")


def _check_headers(check: _Checker, name: str, headers: object) -> None:
    if not isinstance(headers, Mapping):
        check.expect(False, name, headers, "a dict of strings")
        return
    seen: set[str] = set()
    for key, value in headers.items():
        if not (isinstance(key, str) and _TOKEN.fullmatch(key)):
            check.expect(False, name, key, "the name of a header")
            continue
        good = isinstance(value, str) and bool(_FIELD_VALUE.fullmatch(value))
        check.expect(good, f"{name}[{key!r}]", value, "a string on one line")
        if key.lower() in seen:
            check.wrong(f"{name}: {key} is there twice; header names have no case")
        seen.add(key.lower())
        if name == "headers" and key.lower() in _OWN_HEADERS:
            check.wrong(f"{name}: {key} can't be set; {_OWN_HEADERS[key.lower()]}")


def _check_amounts(check: _Checker, workload: Workload) -> None:
    concurrency, requests = workload.concurrency, workload.requests
    if not check.expect(_whole(concurrency, 1), "concurrency", concurrency, "an integer, 1 or more"):
        return
    good = requests is None or _whole(requests, concurrency)
    expected = f"None or an integer, at least the concurrency ({concurrency})"
    check.expect(good, "requests", requests, expected)


def _check_operation(check: _Checker, workload: Workload) -> None:
    """What a program of the target's own is asked for, and what only makes sense with a generator of requests."""
    op, payload, rate = workload.op, workload.payload, workload.rate
    check.expect(isinstance(op, str), "op", op, 'a string, such as "get"')
    check.expect(isinstance(payload, str), "payload", payload, 'a string, such as "scalar"')
    good = rate is None or (isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate <= _MOST_RATE)
    check.expect(good, "rate", rate, f"None or requests per second, above 0 and up to {_MOST_RATE:,}")
    if workload.generator == "program":
        check.expect(bool(op), "op", op, "what the target's worker is to do, one of the ops that it says hello with")
        if rate is not None:
            check.wrong("rate: a target's own program makes its calls one after the other; leave it out")
    elif op or payload:
        check.wrong('op, payload: only a program of the target\'s own has them; expected generator = "program"')


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check_axes(check: _Checker, workload: Workload) -> None:
    axes: object = workload.axes
    if not isinstance(axes, Mapping):
        check.expect(False, "axes", axes, 'a dict, such as {"perl": "5.36"}')
        return
    for axis, value in axes.items():
        if check.expect(isinstance(axis, str), "axes", axis, "the name of an axis"):
            check.expect(
                isinstance(value, str), f"axes[{axis!r}]", value, "a string, the name of a value of that axis"
            )


def _check_expect(check: _Checker, workload: Workload) -> None:
    expect: object = workload.expect
    if not isinstance(expect, Expect):
        check.expect(False, "expect", expect, "Expect(status=200, length=128)")
        return
    status, length, digest = expect.status, expect.length, expect.sha256
    check.expect(_whole(status, 200) and status <= 599, "expect.status", status, "an integer from 200 to 599")
    check.expect(
        length is None or _whole(length, 0), "expect.length", length, "None or an integer, 0 or more (bytes)"
    )
    good = digest is None or (isinstance(digest, str) and bool(_SHA256.fullmatch(digest)))
    check.expect(good, "expect.sha256", digest, "None or 64 hexadecimal digits in lower case")
    _check_headers(check, "expect.headers", expect.headers)
    if workload.method == "HEAD" and length:
        check.wrong(f"expect.length: an answer to HEAD has no body, so its length is never {length}")


def _check_generator(check: _Checker, workload: Workload) -> None:
    """What the generators can't do. The values themselves are known to be sound."""
    name = workload.generator
    if name not in GENERATORS:
        check.wrong(f"generator: found {describe(name)}, expected one of {', '.join(GENERATORS)}")
        return
    if name == "program":
        return
    if workload.rate is not None and name != "h2load":
        check.wrong(f"rate: {name} can't hold one; leave generator out, the open loop has its own")
    if workload.rate is not None and workload.h2:
        check.wrong("rate: the open loop can't speak HTTP/2; leave rate out, or set h2 = False")
    if workload.h2 and name != "h2load":
        check.wrong(f'h2: {name} can\'t speak HTTP/2; expected generator = "h2load"')
    if workload.h2 and not workload.keepalive:
        check.wrong("h2: HTTP/2 knows no connection per request; expected keepalive = True, or h2 = False")
    if workload.body is not None and workload.method in _BODILESS:
        check.wrong(f'body: {workload.method} sends none; expected method = "POST" or "PUT"')
    elif workload.body is not None and name == "ab" and workload.method not in ("POST", "PUT"):
        check.wrong(f'body: ab sends one with POST and PUT only; expected generator = "h2load" for {workload.method}')
    elif not check.problems.found:
        _try_command_line(check, workload)


def _try_command_line(check: _Checker, workload: Workload) -> None:
    """Whatever else the generator refuses is better heard here, with file and line, than from the side-car."""
    requests = workload.requests or workload.concurrency
    try:
        generator(workload.generator).argv(workload, port=1, requests=requests, concurrency=workload.concurrency)
    except ConfigError as error:
        check.wrong(str(error))


# ---------------- variants


def check_program(target: Target, case: Case, where: Where | None = None) -> None:
    """Do the workload of a case and its target go together, as to who makes the load?

    Raises:
        ConfigError: a client is to be loaded from outside, or a program is to load that the target does not have.
    """
    place = where or Where(case.id, f"{target.folder}/target.toml")
    if case.workload.generator == "program":
        if target.worker is None:
            raise place.wrong(
                f'generator: target {target.name} has no program that makes the load; add worker = ["python3", '
                f'"worker.py"] to {target.folder}/target.toml'
            )
    elif target.kind == "client":
        raise place.wrong(
            f"target {target.name} is a client, which nothing can be asked of; derive the class from CacheBenchmark, "
            'or set generator = "program"'
        )


def case_variant(target: Target, workload: Workload, where: Where | None = None) -> Variant:
    """The variant of `target` that the workload chooses, its axes in the target's order.

    An axis that the workload leaves out is filled in where it has one value only.

    Args:
        target: as the newest side has it; for what another commit has of it, see `variant_at`.
        workload: whose `axes` count.
        where: the class to name in errors (`Discovery.places` has it); without it they name target.toml.

    Raises:
        ConfigError: an axis or a value that the target does not have, or a choice left open.
    """
    place = where or Where("axes", f"{target.folder}/target.toml")
    _known_axes(target, workload.axes, place)
    chosen = []
    for axis, values in target.axes.items():
        if axis not in workload.axes and len(values) != 1:
            names = ", ".join(values)
            raise place.wrong(f"target {target.name} has several values of {axis} ({names}); choose one of them")
        chosen.append((axis, workload.axes.get(axis) or next(iter(values))))
    return Variant(target.name, tuple(chosen))


def _known_axes(target: Target, axes: Mapping[str, str], place: Where) -> None:
    for axis, value in axes.items():
        if axis not in target.axes:
            raise place.wrong(f"target {target.name} has no axis {axis}; {near(axis, target.axes)}")
        values = target.axes[axis]
        if value not in values:
            raise place.wrong(f"axis {axis} of target {target.name} has no value {value}; it has {', '.join(values)}")


def variant_at(target: Target, variant: Variant) -> Variant:
    """`variant` (complete on the newest side) as another commit's `target` has it.

    Axes with one value that only that commit knows are filled in.

    Raises:
        VariantMissing: that commit lacks an axis or a value of it, or has an axis more with several values.
    """
    wanted = dict(variant.axes)
    for axis, value in wanted.items():
        if value not in target.axes.get(axis, {}):
            raise VariantMissing(f"target {target.name} of this commit has no {axis}={value}")
    chosen = []
    for axis, values in target.axes.items():
        if axis not in wanted and len(values) != 1:
            raise VariantMissing(f"target {target.name} of this commit has an axis {axis} that nothing chooses on")
        chosen.append((axis, wanted.get(axis) or next(iter(values))))
    return Variant(target.name, tuple(chosen))
