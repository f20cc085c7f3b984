"""What the pages say of the files that windtunnel writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, SITE, blocks, prose, read, rows, section, shown

from windtunnel import Workload
from windtunnel.model import Answer, Case, Expect, Host, Launch, LaunchPlan, Slice, Variant
from windtunnel.report import comparison_json
from windtunnel.report.run import render_run, run_to_json
from windtunnel.sample.runfile import FORMAT, VERSION, Arm, ComparePlan, Failure, Header, Run, Shard, read_run
from windtunnel.sample.schedule import Sizes


def record_blocks() -> list[dict[str, Any]]:
    """The records of the example run file, in their order."""
    found = [json.loads(code) for _, code in blocks(section(read("formats.md"), "## The run file"), "json")]
    return [record for record in found if "type" in record]


def compare_block() -> dict[str, Any]:
    """`compare` in the header of a comparison."""
    found = [json.loads(code) for _, code in blocks(section(read("formats.md"), "### `header`"), "json")]
    (plan,) = [one for one in found if "threshold" in one]
    return dict(plan)


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


def test_the_example_of_a_comparisons_header_can_be_read(tmp_path: Path) -> None:
    header = {**record_blocks()[0], "compare": compare_block()}
    path = tmp_path / "comparison.jsonl"
    path.write_text(json.dumps(header) + "\n")
    plan = read_run(path).header.compare
    assert plan is not None
    assert json.loads(json.dumps(asdict(plan))) == compare_block()


def test_every_field_of_a_shard_is_described() -> None:
    described = re.search(r"^\| `shards` \|(.+)$", read("formats.md"), re.MULTILINE)
    assert described is not None
    assert {one.name for one in fields(Shard)} <= set(re.findall(r"`(\w+)`", described[1]))


def test_every_kind_of_failure_is_described() -> None:
    assert Failure.__doc__ is not None
    kinds = set(re.findall(r'"(\w+)"', Failure.__doc__))
    assert set(rows(section(read("formats.md"), "### `failure`"))) == kinds


def test_the_version_of_a_comparisons_report_is_told() -> None:
    text = " ".join(section(read("formats.md"), "## The report of a comparison as JSON").split())
    assert f"Format `{comparison_json.FORMAT}`, version {comparison_json.VERSION};" in text


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
        (ComparePlan, lambda _: compare_block()),
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


def test_the_matrix_is_described() -> None:
    from windtunnel.cli.plan import _matrix
    from windtunnel.declare.plan import CasePlan

    case = Case("http.Hello", (("connection", "close"),), Variant("hello"), Workload())
    plan = CasePlan(case, ("hello",), 8, 72.0, measured=True, mde={"cpu_per_request": 0.014})
    real = json.loads(json.dumps(_matrix([plan], {}, 1, 60.0)))
    text = section(read("formats.md"), "## The matrix as JSON")
    ((_, code),) = blocks(text, "json")
    assert json.loads(code) == real
    assert {*real["include"][0], *real["cases"][0]} - {"case"} <= set(rows(text))


@pytest.mark.parametrize("page", [ROOT / "README.md", SITE / "getting-started.md"], ids=shown)
def test_the_example_report_has_the_rows_of_a_real_one(page: Path, example: Run) -> None:
    def labels(text: str) -> list[str]:
        return re.findall(r"^  ([A-Z][\w ]*?)(?:  |$)", text, re.MULTILINE)

    shown_block = next(code for _, code in blocks(page.read_text("utf-8"), "text") if "Requests per second" in code)
    assert labels(shown_block) == labels(render_run(example))
