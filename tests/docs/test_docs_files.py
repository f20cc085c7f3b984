"""What the pages say of the files that people write: target.toml, windtunnel.toml, benchmark classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest
from pages import PAGES, blocks, known_keys, only_key_tables, read, rows, section, shown

from windtunnel import HTTPBenchmark, Workload
from windtunnel.declare.settings import parse_settings
from windtunnel.declare.target import parse_target
from windtunnel.declare.workload import GENERATORS, Where, check_workload
from windtunnel.model import Expect

# ---------------- target.toml and windtunnel.toml


def as_target(text: str) -> Any:
    return parse_target(text, name="app", folder="targets/app", file="target.toml", exists=lambda _: True)


TARGET_TABLES = {
    "## The target itself": "",
    "### `[ready]`": "[ready]",
    "### `[limits]`": "[limits]",
    "## Services": '[[services]]\nname = "cache"\nimage = "memcached"',
}


@pytest.mark.parametrize("heading", TARGET_TABLES)
def test_every_key_of_a_target_is_described_and_no_other(heading: str) -> None:
    text = section(read("targets.md"), heading)
    if heading == "## The target itself":
        text = text.partition("\n### ")[0]
    assert set(only_key_tables(text)) == known_keys(as_target, TARGET_TABLES[heading])


def test_what_an_axis_value_may_set_is_told() -> None:
    keys = known_keys(as_target, '[axes.perl."5.36"]')
    told = re.search(r"A value may set (.+?)\.", section(read("targets.md"), "## Axes and variants"))
    assert told is not None
    assert set(re.findall(r"`(\w+)`", told[1])) == keys


SETTINGS_TABLES = {
    "## The project": "",
    "## `[launch]`": "[launch]",
    "## `[suites.NAME]`": "[suites.quick]\ncases = ['a']",
}


@pytest.mark.parametrize("heading", SETTINGS_TABLES)
def test_every_setting_is_described_and_no_other(heading: str) -> None:
    described = set(only_key_tables(section(read("settings.md"), heading)))
    if heading == "## The project":
        described |= {"launch", "suites"}
    assert described == known_keys(parse_settings, SETTINGS_TABLES[heading])


def documented_defaults(page: str, heading: str, table: str) -> Iterator[tuple[str, str, str]]:
    for key, cells in only_key_tables(section(read(page), heading).partition("\n### ")[0]).items():
        literal = re.fullmatch(r"`([^`]+)`", cells[1])
        if literal:
            yield table, key, literal[1]


TARGET_DEFAULTS = [
    one
    for heading, table in [("## The target itself", ""), ("### `[ready]`", "[ready]"), ("### `[limits]`", "[limits]")]
    for one in documented_defaults("targets.md", heading, table)
]
SETTING_DEFAULTS = [
    one
    for heading, table in [("## The project", ""), ("## `[launch]`", "[launch]")]
    for one in documented_defaults("settings.md", heading, table)
]


@pytest.mark.parametrize(("table", "key", "value"), TARGET_DEFAULTS)
def test_a_documented_default_of_a_target_is_the_default(table: str, key: str, value: str) -> None:
    assert as_target(f"{table}\n{key} = {value}\n") == as_target("")


@pytest.mark.parametrize(("table", "key", "value"), SETTING_DEFAULTS)
def test_a_documented_setting_default_is_the_default(table: str, key: str, value: str) -> None:
    assert parse_settings(f"{table}\n{key} = {value}\n") == parse_settings("")


def test_enough_defaults_are_documented_to_be_worth_testing() -> None:
    assert len(TARGET_DEFAULTS) >= 14
    assert len(SETTING_DEFAULTS) >= 10


def test_the_default_harness_follows_the_context() -> None:
    cell = only_key_tables(section(read("targets.md"), "## The target itself"))["harness"][1]
    alone, whole = re.findall(r'`"(commit|head)"`', cell)
    assert as_target("").harness == alone
    assert as_target('context = "/"\nsources = ["a"]').harness == whole


TOML = [(shown(page), *block) for page in PAGES for block in blocks(page.read_text("utf-8"), "toml")]


@pytest.mark.parametrize(("page", "title", "code"), TOML)
def test_toml_examples_are_taken(page: str, title: str, code: str) -> None:
    if title == "windtunnel.toml":
        parse_settings(code)
    else:
        assert title.endswith("target.toml"), f"{page}: say which file this is"
        as_target(code)


# ---------------- benchmark classes


def defaults_of(kind: type[Any]) -> dict[str, str]:
    blank = kind()
    return {one.name: repr(getattr(blank, one.name)).replace("'", '"') for one in fields(kind)}


@pytest.mark.parametrize(("kind", "heading"), [(Workload, "## The workload"), (Expect, "## What is expected")])
def test_fields_are_described_with_their_defaults(kind: type[Any], heading: str) -> None:
    described = rows(section(read("benchmarks.md"), heading))
    expected = defaults_of(kind)
    assert set(described) == set(expected)
    for name, default in expected.items():
        assert described[name][0].strip("`") == ("Expect()" if name == "expect" else default), name


def test_every_generator_is_described() -> None:
    text = section(read("benchmarks.md"), "## Generators")
    assert set(GENERATORS) <= set(re.findall(r'"(\w+)"', text))


def benchmark_classes(names: Mapping[str, Any]) -> list[type[HTTPBenchmark]]:
    classes = [one for one in names.values() if isinstance(one, type)]
    return [one for one in classes if issubclass(one, HTTPBenchmark) and one is not HTTPBenchmark]


def test_python_examples_make_workloads_that_pass() -> None:
    seen = 0
    for page in PAGES:
        for _, code in blocks(page.read_text("utf-8"), "python"):
            names: dict[str, Any] = {"__name__": "benchmarks.example"}
            exec(compile(code, shown(page), "exec"), names)
            for cls in benchmark_classes(names):
                workload = cls().workload(*(column[0] for column in cls.params))
                check_workload(workload, Where(cls.__name__, shown(page)))
                seen += 1
    assert seen
