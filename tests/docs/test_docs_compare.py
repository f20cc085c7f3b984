"""What the pages say of comparisons: verdicts, the rule, options, exit codes, and what a report looks like."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import fields
from pathlib import Path
from statistics import NormalDist

import pytest
from pages import ROOT, SITE, blocks, only_key_tables, prose, read, rows, section, shown

from windtunnel.cli.compare import compare_command
from windtunnel.cli.comparing import CASE_SECONDS
from windtunnel.compare.rule import JUDGED, Rule, Verdict, judge, minimum_detectable
from windtunnel.compare.standing import _HOPELESS
from windtunnel.compare.verdict import ENOUGH_BAD
from windtunnel.declare.settings import Settings
from windtunnel.model import LaunchPlan

NUMBERS = {2: "two", 3: "three", 10: "ten"}
RULE_TABLE = ("threshold", "alpha", "equivalence", "guard", "flag", "fresh", "most", "false_discoveries")


def cells_of(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose heading begins with the cell `first`."""
    table = re.search(rf"^\| {first} \|.*\n\|[-| ]+\|\n((?:\|.*\n?)+)", text, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()]


# ---------------- the rule


def test_the_numbers_of_the_rule_are_the_rules() -> None:
    told = rows(read("design/compare.md"))
    assert {name: float(told[name][0]) for name in RULE_TABLE} == {name: getattr(Rule(), name) for name in RULE_TABLE}
    assert [float(part) for part in told["shares"][0].split(", ")] == [Rule().shares[name] for name in JUDGED]
    assert {*RULE_TABLE, "looks", "shares"} == {one.name for one in fields(Rule)}


def test_the_looks_are_the_rules() -> None:
    told = cells_of(section(read("design/compare.md"), "## Looks"), "pairs")
    assert [tuple(map(float, row)) for row in told] == [tuple(map(float, look)) for look in Rule().looks]


def test_numbers_in_running_text_are_the_rules() -> None:
    page = " ".join(prose(read("design/compare.md")).split())
    rule = Rule()
    assert f"the exact test at {rule.guard}" in page
    assert f"the exact p at most {rule.flag}" in page
    assert f"at least {NUMBERS[rule.fresh]} pairs have come since it was flagged" in page
    assert f"is held at {rule.false_discoveries:.0%} or less".replace("%", " %") in page
    assert f"is below {_HOPELESS:.0%}".replace("%", " %") in page
    assert f"{NUMBERS[ENOUGH_BAD]} launches of one arm have gone wrong" in page


def test_a_launch_is_loaded_as_is_told() -> None:
    plan = LaunchPlan()
    page = " ".join(prose(read("design/compare.md")).split())
    slices, single = NUMBERS[plan.slices], NUMBERS[plan.single_slices]
    assert f"The default is {slices} of {plan.seconds * 1000:.0f} ms, and {single} at concurrency 1." in page
    measuring = read("measuring.md")
    assert f"{slices.capitalize()} at the workload's concurrency and {single} at concurrency 1" in measuring
    assert f"| up to 0.25 s | {plan.slices} | {plan.single_slices} |" in measuring


def test_the_mde_is_what_the_page_says() -> None:
    """It is the larger one of two sums, for every size of the error."""
    rule, values = Rule(), [0.01 * (-1) ** n * (1 + n / 7) for n in range(16)]
    for scale in (0.001, 0.01, 0.1, 1, 10):
        found = judge(JUDGED[0], [value * scale for value in values], rule)
        quantile = -NormalDist().inv_cdf(rule.level(JUDGED[0]))
        told = max(rule.border + 0.8416212 * found.error, (quantile + 0.8416212) * found.error)
        assert minimum_detectable(found, rule) == pytest.approx(math.expm1(told), rel=1e-6)


# ---------------- the user's page


def test_every_verdict_is_explained() -> None:
    told = rows(section(read("compare.md"), "## Verdicts"))
    assert set(told) == {verdict.value for verdict in Verdict}


def test_every_option_is_told_somewhere_on_the_page() -> None:
    text = read("compare.md")
    names = {option for one in compare_command.params for option in one.opts if option.startswith("--")}
    assert {name for name in names if name not in text} <= {"--output", "--help"}


def test_the_exit_codes_are_those_of_the_help_text() -> None:
    assert compare_command.help is not None
    text = inspect.cleandoc(compare_command.help).partition("Exit codes:")[2]
    helped = {int(code) for code in re.findall(r"(?:^|;)\s*(\d+)\s", text)}
    told = {int(row[0]) for row in cells_of(section(read("compare.md"), "## Exit codes"), "code")}
    assert told == helped


def test_the_default_budget_is_told() -> None:
    assert f"else {CASE_SECONDS:.0f} seconds for each case" in " ".join(read("compare.md").split())


def test_the_default_threshold_is_told() -> None:
    assert f"The threshold is {Settings.threshold:.0%}".replace("%", " %") in read("compare.md")


# ---------------- the example

EXAMPLES = [ROOT / "README.md", SITE / "getting-started.md", SITE / "compare.md"]


def example_of(page: Path) -> str:
    return next(code for _, code in blocks(page.read_text("utf-8"), "text") if "effect [95 % interval]" in code)


def shape(text: str) -> list[str]:
    """A report of one case that got slower, without what was measured."""
    labels = re.findall(r"^(?:    )?([A-Za-z][\w ]*?)(?:  +|: )", text, re.MULTILINE)
    optional = {"note", "windtunnel"}
    return [label for label in labels if label not in optional and not label.startswith("1 head launch")]


@pytest.mark.parametrize("page", EXAMPLES, ids=shown)
def test_the_example_looks_like_a_report(page: Path) -> None:
    golden = ROOT / "tests" / "report" / "golden" / "comparison-waiting.txt"  # one case that got slower, too
    assert shape(example_of(page)) == shape(golden.read_text("utf-8"))


def test_all_pages_show_the_same_example() -> None:
    assert len({example_of(page) for page in EXAMPLES}) == 1


def test_what_is_said_of_the_example_is_in_it() -> None:
    example, text = example_of(SITE / "compare.md"), " ".join(read("compare.md").split())
    told = {r"more of it by (\d+) %": r"\+(\d+)\.\d %.* more CPU", r"busy .*?\(load (\d+)\)": r"load (\d+)"}
    for said, seen in told.items():
        one, other = re.search(said, text), re.search(seen, example)
        assert one is not None
        assert other is not None
        assert abs(int(one[1]) - int(other[1])) <= 1, said


# ---------------- settings


def test_every_setting_is_acted_on() -> None:
    """What the page describes, some code outside of the parser asks for."""
    code = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "src" / "windtunnel").rglob("*.py")
        if path.parent.name != "declare"
    )
    known = {one.name for one in fields(Settings)}
    described = known & set(only_key_tables(section(read("settings.md"), "## The project")))
    assert described >= {"gate", "comment", "registry", "results_branch"}
    assert {key for key in described if not re.search(rf"ettings\.{key}\b", code)} == set()
