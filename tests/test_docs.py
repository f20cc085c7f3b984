"""The documentation says what the code does: links, keys, defaults, metrics, formats, the command line."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from windtunnel import HTTPBenchmark, Workload
from windtunnel.declare.settings import parse_settings
from windtunnel.declare.target import parse_target
from windtunnel.declare.workload import GENERATORS, Where, check_workload
from windtunnel.errors import ConfigError, Exit, worst
from windtunnel.model import METRICS, Answer, Case, Expect, Host, Launch, LaunchPlan, Slice, Variant
from windtunnel.report.run import render_run, run_to_json
from windtunnel.sample.runfile import FORMAT, VERSION, Arm, Failure, Header, Run, read_run
from windtunnel.sample.schedule import Sizes

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(SITE.rglob("*.md"))]

_FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HREF = re.compile(r'href="([^"]+)"')
_HEADING = re.compile(r"^#+ +(.*?)\s*(?:\{ *#([\w-]+) *\})?$", re.MULTILINE)


def shown(path: Path) -> str:
    """How a page is called in test ids."""
    return path.relative_to(ROOT).as_posix()


def read(name: str) -> str:
    return (SITE / name).read_text("utf-8")


def prose(text: str) -> str:
    """A page without its code blocks and comments."""
    return re.sub(r"<!--.*?-->", "", _FENCE.sub("", text), flags=re.DOTALL)


def blocks(text: str, language: str) -> list[tuple[str, str]]:
    """(title, code) of every block in that language."""
    found = []
    for match in _FENCE.finditer(text):
        words = match["info"].split(None, 1)
        if words and words[0] == language:
            title = re.search(r'title="([^"]*)"', match["info"])
            found.append((title[1] if title else "", match["body"]))
    return found


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its rank or a higher one."""
    level = len(heading) - len(heading.lstrip("#"))
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line == heading or line.startswith(heading + " {"))
    end = next(
        (number for number in range(start + 1, len(lines)) if re.match(rf"#{{1,{level}}} ", lines[number])),
        len(lines),
    )
    return "\n".join(lines[start + 1 : end])


def rows(text: str) -> dict[str, list[str]]:
    """Table rows by each `name` in their first cell."""
    found: dict[str, list[str]] = {}
    for line in prose(text).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for name in re.findall(r"`([^`]+)`", cells[0]) if cells else ():
            found[name] = cells[1:]
    return found


def only_key_tables(text: str) -> dict[str, list[str]]:
    """The rows of tables whose first column is called "key"."""
    found: dict[str, list[str]] = {}
    wanted = False
    for line in prose(text).splitlines():
        if not line.startswith("|"):
            wanted = False
        elif line.startswith("| key"):
            wanted = True
        elif wanted:
            found |= rows(line)
    return found


# ---------------- links


def anchors(page: Path) -> set[str]:
    """The ids of a page's headings, as MkDocs makes them."""
    found: set[str] = set()
    for title, given in _HEADING.findall(_FENCE.sub("", page.read_text("utf-8"))):
        plain = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)).strip().lower()
        found.add(given or re.sub(r"[\s-]+", "-", plain))
    return found


def links(page: Path) -> Iterator[str]:
    text = prose(page.read_text("utf-8"))
    yield from _LINK.findall(text)
    yield from (target.replace(".html", ".md") for target in _HREF.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_internal_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong


def test_every_page_is_in_the_navigation_and_no_other() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = re.findall(r": ([\w/-]+\.md)$", navigation, re.MULTILINE)
    assert sorted(named) == sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_page_has_one_title_and_no_rank_is_left_out(page: Path) -> None:
    ranks = [len(marks) for marks in re.findall(r"^(#+) ", _FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)]
    assert ranks[0] == 1
    assert ranks.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(ranks))


# ---------------- the command line


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_command_line_is_what_the_command_line_says() -> None:
    tool = load_tool("cli_page")
    assert tool.PAGE.read_text("utf-8") == tool.render_page(), "run tools/cli_page.py"


def test_every_command_that_a_page_mentions_is_there() -> None:
    from windtunnel.cli.main import cli

    # what comes next is named as such
    known = {*cli.commands, "compare"}
    for page in PAGES:
        used = set(re.findall(r"(?:`|^\s*)windtunnel ([a-z]+)", page.read_text("utf-8"), re.MULTILINE))
        used -= {"is", "can", "needs", "and", "tracks", "talks", "puts"}
        assert used <= known, shown(page)


def test_every_option_that_a_page_mentions_is_there() -> None:
    from windtunnel.cli.main import cli

    pattern = re.compile(r"windtunnel ([a-z]+)((?: [^`\n|]*)?)")
    for page in PAGES:
        for name, rest in pattern.findall(page.read_text("utf-8")):
            if name in cli.commands:
                options = {text for one in cli.commands[name].params for text in one.opts} | {"--help", "-h"}
                assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= options, (shown(page), name, rest)


def test_every_make_target_that_a_page_mentions_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        used = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE))
        assert {one or other for one, other in used} <= known, shown(page)


# ---------------- exit codes


def test_every_exit_code_is_described_by_number_and_name() -> None:
    described = re.findall(r"^\| (\d+) \| `([A-Z_]+)` \| (.+) \|$", read("exit-codes.md"), re.MULTILINE)
    assert {(int(number), name) for number, name, _ in described} == {(int(code), code.name) for code in Exit}


def test_the_order_of_exit_codes_is_the_one_that_is_used() -> None:
    said = re.search(r"all of them: ([\d, ]+)\.", read("exit-codes.md"))
    assert said is not None
    order = [Exit(int(number)) for number in said[1].split(",")]
    assert set(order) == set(Exit)
    assert all(worst([graver, lighter]) is graver for graver, lighter in pairwise(order))


# ---------------- metrics


def test_every_metric_is_described_with_its_unit_and_direction() -> None:
    described = rows(section(read("benchmarks.md"), "## Metrics"))
    assert set(METRICS) <= set(described)
    for name, metric in METRICS.items():
        assert described[name][:2] == [metric.unit.value, metric.direction.value], name


def test_the_judged_metrics_come_first() -> None:
    described = [name for name in rows(section(read("benchmarks.md"), "## Metrics")) if name in METRICS]
    judged = [name for name, metric in METRICS.items() if metric.judged]
    assert described[: len(judged)] == judged


def test_asv_benchmarks_are_described_with_their_units() -> None:
    described = rows(section(read("benchmarks.md"), "## How asv sees it"))
    methods = {name: method for name, method in vars(HTTPBenchmark).items() if name.startswith(("time_", "track_"))}
    assert set(methods) <= set(described)
    for name, method in methods.items():
        assert described[name][0] == getattr(method, "unit", "seconds"), name
        assert described[name][1].strip("`") in METRICS


# ---------------- target.toml and windtunnel.toml


def as_target(text: str) -> Any:
    return parse_target(text, name="app", folder="targets/app", file="target.toml", exists=lambda _: True)


def known_keys(parse: Callable[[str], object], text: str) -> set[str]:
    """The keys that a parser knows in the table that `text` ends with: it lists them for a key that is like none."""
    with pytest.raises(ConfigError) as caught:
        parse(f"{text}\nqqqqqqqq = 1\n")
    listed = re.search(r"qqqqqqqq: unknown key; known here: ([\w, ]+)", str(caught.value))
    assert listed is not None, caught.value
    return set(listed[1].split(", "))


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


# ---------------- formats


def record_blocks() -> list[dict[str, Any]]:
    """The records of the example run file, in their order."""
    found = [json.loads(code) for _, code in blocks(section(read("formats.md"), "## The run file"), "json")]
    return [record for record in found if "type" in record]


@pytest.fixture
def example(tmp_path: Path) -> Run:
    """The run file that the page shows, read."""
    path = tmp_path / "example.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in record_blocks()))
    return read_run(path)


def test_the_example_run_file_can_be_read(example: Run) -> None:
    assert example.complete
    assert [len(example.launches), len(example.failures), len(example.sizes)] == [1, 1, 1]
    assert example.launches[0].outcome == "ok"


def test_the_run_file_version_is_told() -> None:
    assert f"Format `{FORMAT}`, version {VERSION}." in read("formats.md")


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Header, lambda records: records["header"]),
        (Arm, lambda records: records["header"]["arms"][0]),
        (LaunchPlan, lambda records: records["header"]["plan"]),
        (Case, lambda records: records["header"]["cases"][0]),
        (Variant, lambda records: records["header"]["cases"][0]["variant"]),
        (Workload, lambda records: records["header"]["cases"][0]["workload"]),
        (Expect, lambda records: records["header"]["cases"][0]["workload"]["expect"]),
        (Host, lambda records: records["header"]["host"]),
        (Launch, lambda records: records["launch"]),
        (Slice, lambda records: records["launch"]["slices"][0]),
        (Answer, lambda records: records["launch"]["answer"]),
        (Failure, lambda records: records["failure"]),
        (Sizes, lambda records: records["sizes"]["sizes"]),
    ],
)
def test_every_field_of_a_record_is_shown_and_described(
    kind: type[Any], found: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> None:
    assert is_dataclass(kind)
    names = {one.name for one in fields(kind)}
    record = found({one["type"]: one for one in record_blocks()})
    assert set(record) - {"type", "format", "version"} == names
    described = set(re.findall(r"`(\w+)`", prose(section(read("formats.md"), "## The run file"))))
    # what is told in words, not by name
    described |= {"load", "single", "load_seconds", "single_seconds"} if kind is Sizes else set()
    assert names <= described


def test_every_key_of_the_report_is_described(example: Run) -> None:
    report = run_to_json(example)
    text = section(read("formats.md"), "## The report as JSON")
    assert f"Format `{report['format']}`, version {report['version']}." in text
    case = next(one for one in report["cases"] if one["launches"])
    metric = next(iter(case["metrics"].values()))
    described = set(re.findall(r"`(\w+)`", text))
    assert {*report, *case, *metric} <= described
    assert set(report["spent"]) <= described


def test_the_plan_is_described(tmp_path: Path) -> None:
    from windtunnel.cli.plan import _as_json
    from windtunnel.declare.plan import CasePlan

    case = Case("http.Hello", (), Variant("hello"), Workload())
    real = json.loads(json.dumps(_as_json([CasePlan(case, ("hello",), 8, 14.6)], {})))
    ((_, code),) = blocks(section(read("formats.md"), "## The plan as JSON"), "json")
    told = json.loads(code)
    assert set(told) == set(real)
    assert set(told["cases"][0]) == set(real["cases"][0])
    assert (told["format"], told["version"]) == (real["format"], real["version"])


@pytest.mark.parametrize("page", [ROOT / "README.md", SITE / "getting-started.md"], ids=shown)
def test_the_example_report_has_the_rows_of_a_real_one(page: Path, example: Run) -> None:
    def labels(text: str) -> list[str]:
        return re.findall(r"^  ([A-Z][\w ]*?)(?:  |$)", text, re.MULTILINE)

    shown_block = next(code for _, code in blocks(page.read_text("utf-8"), "text") if "Requests per second" in code)
    assert labels(shown_block) == labels(render_run(example))


# ---------------- how it is written


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_the_house_words_and_spelling(page: Path) -> None:
    text = prose(page.read_text("utf-8"))
    assert "—" not in text
    assert not re.search(r"\b(color|behavior|analyze|optimize|container_runtime|simply|just works)\b", text)


# ---------------- the built site


class _Loads(HTMLParser):
    """What a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [given[name] for name in ("src", "srcset", "data", "poster") if name in given]
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(given.get("href", ""))


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None and shutil.which("mkdocs") is None, reason="mkdocs is not installed"
)
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    mkdocs = [sys.executable, "-m", "mkdocs"] if importlib.util.find_spec("mkdocs") else ["mkdocs"]
    done = subprocess.run(
        [*mkdocs, "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(list(SITE.rglob("*.md"))) - 1
    for page in pages:
        loads = _Loads()
        loads.feed(page.read_text("utf-8"))
        assert not [one for one in loads.found if re.match(r"(?:https?:)?//", one)], page.name
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet.name
