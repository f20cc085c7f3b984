"""Benchmark classes -> cases: every combination of a class's parameters, asked for its workload."""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from windtunnel.declare.modules import failure, import_package, line_inside
from windtunnel.declare.params import Combination, combinations
from windtunnel.declare.suite import Suite
from windtunnel.declare.values import describe
from windtunnel.declare.workload import Where, case_variant, check_workload
from windtunnel.errors import ConfigError
from windtunnel.model import Case, Variant, Workload

__all__ = ["Discovery", "case_variant", "chosen", "discover", "select_ids"]

_NO_TARGET = "the class has a workload but no target; name one, or start the class's name with an underscore"


@dataclass(frozen=True)
class Discovery:
    """What the benchmark classes ask for.

    Attributes:
        cases: in asv's order. Their variants have the axes that the workload names, as it names them; what it left
            out is filled in once the target is known (`case_variant`).
        skipped: (case id, reason) of what a class itself declines.
        places: where each case is declared, by case id, for later complaints.
        nightly: ids of the cases that were left out because nobody asked for nightly classes.
    """

    cases: tuple[Case, ...]
    skipped: tuple[tuple[str, str], ...]
    places: Mapping[str, Where] = field(default_factory=dict)
    nightly: tuple[str, ...] = ()

    def left_out(self, remedy: str) -> str:
        """The line that tells of nightly cases that were left out; "" where there are none."""
        count = len(self.nightly)
        return f"{count} nightly case{'s are' if count > 1 else ' is'} left out; {remedy}" if count else ""


def discover(
    suite: Suite, select: Sequence[str] = (), within: Sequence[str] = (), *, nightly: bool = False
) -> Discovery:
    """Import the suite's benchmark package here and collect its cases.

    A class counts as asv has it: at the top level of a module (defined there or imported), its name without a
    leading underscore, not abstract; and it has a `target` and a callable `workload`. A workload that raises
    NotImplementedError is skipped with its reason. Only selected cases are asked for their workload.

    Args:
        suite: whose `benchmark_dir` is imported.
        select: regular expressions searched in case ids; a case that one of them finds is in. None: all cases.
        within: the patterns of a named suite; where there are any, a case has to be found by one of them too.
        nightly: take in classes with `nightly = True` also where neither `select` nor `within` has a pattern.

    Raises:
        ConfigError: a module can't be imported, a class or a workload is wrong (file and line of the fault), or a
            pattern is no regular expression or finds nothing.
    """
    modules = import_package(suite.benchmark_dir)
    points = [point for owner in _classes(modules, suite) for point in _points(owner)]
    late = () if nightly or select or within else tuple(point.id for point in points if point.owner.nightly)
    wanted = set(chosen([point.id for point in points], within, select)) - set(late)
    cases: list[Case] = []
    skipped: list[tuple[str, str]] = []
    for point in points:
        if point.id in wanted:
            result = _ask(point)
            if isinstance(result, Case):
                cases.append(result)
            else:
                skipped.append((point.id, result))
    places = {point.id: point.where for point in points if point.id in wanted}
    return Discovery(tuple(cases), tuple(skipped), places, late)


def chosen(ids: Sequence[str], within: Sequence[str], select: Sequence[str]) -> tuple[str, ...]:
    """The case ids that both a suite's patterns (`within`) and those of the command line (`select`) find.

    Raises:
        ConfigError: as `select_ids`; what a suite leaves out is not there for `select`.
    """
    try:
        inside = select_ids(ids, within)
    except ConfigError as error:
        raise ConfigError(f"the suite's cases: {error}", file="windtunnel.toml") from None
    return select_ids(inside, select)


def select_ids(ids: Sequence[str], select: Sequence[str]) -> tuple[str, ...]:
    """The case ids that a pattern is found in, in their order; all of them without a pattern.

    Raises:
        ConfigError: a pattern is no regular expression, or finds nothing (the nearest ids are listed).
    """
    patterns = [_compiled(pattern) for pattern in select]
    for pattern in patterns:
        if not any(pattern.search(name) for name in ids):
            raise ConfigError(f'no case matches "{pattern.pattern}"; {_nearest(pattern.pattern, ids)}')
    return tuple(name for name in ids if not patterns or any(pattern.search(name) for pattern in patterns))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f'"{pattern}" is not a regular expression: {error}') from None


def _nearest(pattern: str, ids: Sequence[str]) -> str:
    if not ids:
        return "the suite has no cases"
    plain = re.sub(r"[\\^$]|\.[*+]", "", pattern).lower()
    inside = [name for name in ids if plain and plain in name.lower()]
    by_name = {name.lower(): name for name in ids}
    close = inside or [by_name[name] for name in difflib.get_close_matches(plain, list(by_name), n=4, cutoff=0.4)]
    if close:
        return f"near it: {'; '.join(close[:4])}"
    more = f"; and {len(ids) - 4} more" if len(ids) > 4 else ""
    return f"there are: {'; '.join(ids[:4])}{more}"


# ---------------- classes


@dataclass(frozen=True)
class _Class:
    """A benchmark class as one module has it, in a suite whose benchmarks are in `folder`.

    `top` is the folder that messages leave out of paths.
    """

    cls: type
    module: ModuleType
    where: Where
    folder: Path
    top: Path

    @property
    def target(self) -> object:
        return getattr(self.cls, "target", None)

    @property
    def nightly(self) -> bool:
        found = getattr(self.cls, "nightly", False)
        if not isinstance(found, bool):
            raise self.where.wrong(f"nightly: found {describe(found)}, expected True or False")
        return found

    def failed(self, error: BaseException, what: str) -> ConfigError:
        """A ConfigError for an exception in the class's own code, with the innermost line of it."""
        file, line = line_inside(error.__traceback__, self.folder)
        where = self.where if file is None else replace(self.where, file=_shown(file, self.top), line=line)
        return where.wrong(f"{what}: {failure(error)}")


def _classes(modules: Sequence[ModuleType], suite: Suite) -> Iterator[_Class]:
    top = suite.root if suite.separate else suite.repository
    seen: dict[str, type] = {}
    for module in modules:
        for name, cls in list(vars(module).items()):
            if name.startswith("_") or not inspect.isclass(cls) or not _counts(cls):
                continue
            benchmark = ".".join([*module.__name__.split(".")[1:], cls.__name__])
            owner = _Class(cls, module, _where(benchmark, cls, top), suite.benchmark_dir, top)
            if seen.get(benchmark, cls) is not cls:
                raise owner.where.wrong("two classes have this name; asv tells them apart by it, so rename one")
            if benchmark not in seen:
                yield owner
            seen[benchmark] = cls


def _counts(cls: type) -> bool:
    return not inspect.isabstract(cls) and callable(getattr(cls, "workload", None))


def _where(benchmark: str, cls: type, top: Path) -> Where:
    try:
        file = inspect.getsourcefile(cls) or benchmark
        line = inspect.findsource(cls)[1] + 1
    except (OSError, TypeError):  # a class made by a call has no lines of its own
        return Where(benchmark, _shown(getattr(sys.modules.get(cls.__module__), "__file__", benchmark), top))
    return Where(benchmark, _shown(file, top), line)


def _shown(file: str, top: Path) -> str:
    path = Path(file)
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else file


# ---------------- combinations


@dataclass(frozen=True)
class _Point:
    """One parameter combination of a class, before it was asked for its workload."""

    owner: _Class
    combination: Combination
    id: str

    @property
    def where(self) -> Where:
        return replace(self.owner.where, params=", ".join(text for _, text in self.combination.named))


def _points(owner: _Class) -> list[_Point]:
    benchmark = owner.where.benchmark
    try:
        found = list(combinations(_attribute(owner, "params"), _attribute(owner, "param_names")))
    except ValueError as error:
        raise owner.where.wrong(str(error)) from None
    except Exception as error:  # the text of a value is the user's code
        raise owner.failed(error, "params") from error
    ids = [Case(benchmark, one.named, Variant(""), Workload()).id for one in found]
    double = [name for name, times in Counter(ids).items() if times > 1]
    if double:
        raise owner.where.wrong(f"two combinations of parameters read {double[0]}; leave the commas out of values")
    return [_Point(owner, one, name) for one, name in zip(found, ids, strict=True)]


def _attribute(owner: _Class, name: str) -> object:
    """An attribute as asv looks for it: the class's, else the module's, else empty."""
    return getattr(owner.cls, name, getattr(owner.module, name, ()))


def _ask(point: _Point) -> Case | str:
    """The case, or why there is none."""
    owner, values = point.owner, point.combination.values
    target = owner.target
    if target is None:
        return _NO_TARGET
    if not isinstance(target, str) or not target:
        raise point.where.wrong(f"target: found {describe(target)}, expected the name of a target")
    if values in _skipped_values(owner):
        return "in skip_params"
    try:
        workload = owner.cls().workload(*values)
    except NotImplementedError as error:
        return str(error) or "not implemented"
    except (Exception, SystemExit) as error:
        raise replace(owner, where=point.where).failed(error, "workload") from error
    if not isinstance(workload, Workload):
        raise point.where.wrong(f"workload: returned {describe(workload)}, expected a Workload")
    check_workload(workload, point.where)
    return Case(
        owner.where.benchmark, point.combination.named, Variant(target, tuple(workload.axes.items())), workload
    )


def _skipped_values(owner: _Class) -> list[tuple[object, ...]]:
    listed = _attribute(owner, "skip_params")
    return (
        [tuple(entry) for entry in listed if isinstance(entry, list | tuple)]
        if isinstance(listed, list | tuple)
        else []
    )
