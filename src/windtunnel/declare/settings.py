"""windtunnel.toml -> Settings. Every setting has a default, and the file may be absent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from windtunnel.declare.reader import Table, near, root_table
from windtunnel.declare.toml import format_key, parse_toml
from windtunnel.declare.values import Convert, choice, duration, integer, regex, share, text, text_list
from windtunnel.errors import ConfigError
from windtunnel.model import LaunchPlan

__all__ = ["FILE", "Settings", "SuiteSettings", "load_settings", "parse_settings", "read_text"]

FILE = "windtunnel.toml"

# asv's own test can never call two sides different with fewer samples than this
_LEAST_LAUNCHES = 8
_REGISTRY = re.compile(r"[a-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_BRANCH = re.compile(r"(?![/.-])(?!.*(?:\.\.|//|@\{|\.lock$|[/.]$))[^\s~^:?*\[\\\x00-\x1f\x7f]+")

Gate = Literal["off", "on"]
Comment = Literal["changes", "always", "never"]

_gate: Convert[Gate] = choice("off", "on")
_comment: Convert[Comment] = choice("changes", "always", "never")


@dataclass(frozen=True)
class SuiteSettings:
    """`[suites.NAME]`: a named choice of cases. `cases` are regular expressions, `budget` is in seconds."""

    cases: tuple[str, ...] = ()
    budget: float | None = None


@dataclass(frozen=True)
class Settings:
    """Project-wide settings.

    Attributes:
        threshold: a change below it is not worth a word, as a share (0.02 is 2 %).
        gate: whether a regression fails the check.
        comment: when the pull request gets a comment.
        budget: seconds of machine time for one run, or None for as much as it takes.
        registry: where images are pulled from and pushed to ("ghcr.io/owner/name"), or None.
        results_branch: the branch that keeps the history.
        launches: launches per arm and case, 8 or more.
        launch: how one launch is loaded.
        suites: named choices of cases.
    """

    threshold: float = 0.02
    gate: Gate = "off"
    comment: Comment = "changes"
    budget: float | None = None
    registry: str | None = None
    results_branch: str = "windtunnel-results"
    launches: int = _LEAST_LAUNCHES
    launch: LaunchPlan = field(default_factory=LaunchPlan)
    suites: Mapping[str, SuiteSettings] = field(default_factory=dict)

    def suite(self, name: str) -> SuiteSettings:
        """The suite of that name; "" is the whole project: all cases, and the project's own budget.

        Raises:
            ConfigError: windtunnel.toml has none of that name (the nearest one is told).
        """
        if not name:
            return SuiteSettings(budget=self.budget)
        if name not in self.suites:
            raise ConfigError(f'there is no suite "{name}"; {self._nearest_suite(name)}', file=FILE, key="suites")
        found = self.suites[name]
        return found if found.budget is not None else replace(found, budget=self.budget)

    def _nearest_suite(self, name: str) -> str:
        if not self.suites:
            return f"write [suites.{format_key((name,))}] with its cases"
        hint = near(name, self.suites)
        return f"{hint} (suites: {', '.join(self.suites)})" if hint.startswith("did") else hint


def load_settings(root: Path) -> Settings:
    """The settings in `root`; the defaults where it has no windtunnel.toml.

    Raises:
        ConfigError: for everything that is wrong with the file, one line each.
    """
    path = root / FILE
    if not path.exists():
        return Settings()
    return parse_settings(read_text(path), file=str(path))


def read_text(path: Path) -> str:
    """The content of a file that people write; a ConfigError where it can't be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 (byte {error.start}); save it as UTF-8", file=path) from None


def parse_settings(text: str, *, file: str = FILE) -> Settings:
    """The settings that `text`, the content of a windtunnel.toml, declares; raises ConfigError as `load_settings`."""
    root = root_table(parse_toml(text, file))
    launches, launch = _launch(root)
    settings = Settings(
        threshold=root.get("threshold", share, Settings.threshold),
        gate=root.get("gate", _gate, Settings.gate),
        comment=root.get("comment", _comment, Settings.comment),
        budget=root.get("budget", duration, None),
        registry=_registry(root),
        results_branch=_results_branch(root),
        launches=launches,
        launch=launch,
        suites=_suites(root),
    )
    root.close()
    root.problems.check()
    return settings


def _registry(root: Table) -> str | None:
    expected = 'a registry and a path in lower case, without a scheme, such as "ghcr.io/owner/name"'
    return root.get("registry", text(expected, _REGISTRY), None)


def _results_branch(root: Table) -> str:
    return root.get("results_branch", text("the name of a branch", _BRANCH), Settings.results_branch)


def _launch(root: Table) -> tuple[int, LaunchPlan]:
    """`[launch]`: how many launches, and how one is loaded."""
    table = root.table("launch", "a table: write [launch]")
    if table is None:
        return Settings.launches, LaunchPlan()
    launches = table.get("launches", integer(_LEAST_LAUNCHES), Settings.launches)
    plan = LaunchPlan(
        warmup=table.get("warmup", integer(0), LaunchPlan.warmup),
        slices=table.get("slices", integer(1), LaunchPlan.slices),
        single_slices=table.get("single_slices", integer(0), LaunchPlan.single_slices),
        seconds=table.get("seconds", duration, LaunchPlan.seconds),
        deadline=table.get("deadline", duration, LaunchPlan.deadline),
    )
    table.close()
    if plan.deadline <= plan.seconds:
        table.wrong(f"a slice of {plan.seconds:g} s never ends before a deadline of {plan.deadline:g} s", "deadline")
    return launches, plan


def _suites(root: Table) -> dict[str, SuiteSettings]:
    table = root.table("suites", "a table of suites, such as [suites.quick]")
    if table is None:
        return {}
    found = {name: _suite(table, name) for name in table}
    if "" in found:
        table.wrong("a suite needs a name", "")
    return found


def _suite(suites: Table, name: str) -> SuiteSettings:
    table = suites.table(name, "a table, such as { cases = ['^psgi'] }")
    if table is None:
        return SuiteSettings()
    expected = "an array of regular expressions that are searched in the names of cases, such as ['^psgi']"
    found = SuiteSettings(
        cases=table.need("cases", text_list(expected, regex), (), expected),
        budget=table.get("budget", duration, None),
    )
    table.close()
    return found
