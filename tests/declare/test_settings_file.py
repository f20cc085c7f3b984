from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.declare.settings import Settings, SuiteSettings, load_settings, parse_settings
from windtunnel.errors import ConfigError
from windtunnel.model import LaunchPlan

FULL = """\
threshold = "3%"
gate = "on"
comment = "always"
budget = "10m"
registry = "ghcr.io/owner/project"
results_branch = "perf/results"
[launch]
launches = 12
slices = 6
single_slices = 0
warmup = 2
seconds = "50ms"
deadline = "1m"
[suites.quick]
cases = ['^psgi\\.', 'keepalive']
budget = 90
[suites."the rest"]
cases = ["."]
"""


def test_every_setting() -> None:
    assert parse_settings(FULL) == Settings(
        threshold=0.03,
        gate="on",
        comment="always",
        budget=600.0,
        registry="ghcr.io/owner/project",
        results_branch="perf/results",
        launches=12,
        launch=LaunchPlan(warmup=2, slices=6, single_slices=0, seconds=0.05, deadline=60.0),
        suites={"quick": SuiteSettings((r"^psgi\.", "keepalive"), 90.0), "the rest": SuiteSettings((".",))},
    )


def test_no_file_and_an_empty_file_mean_the_defaults(tmp_path: Path) -> None:
    expected = Settings(threshold=0.02, gate="off", comment="changes", launches=8, launch=LaunchPlan())
    assert load_settings(tmp_path) == expected
    (tmp_path / "windtunnel.toml").write_text("")
    assert load_settings(tmp_path) == expected


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "windtunnel.toml").write_bytes(b"gate = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8") as caught:
        load_settings(tmp_path)
    assert caught.value.file == str(tmp_path / "windtunnel.toml")


WRONG = [
    ("threshold = 2", 1, "threshold", 'such as "2%" or 0.02'),
    ('threshold = "2"', 1, "threshold", 'found "2" (a string)'),
    ("threshold = 0", 1, "threshold", "above 0"),
    ('threshold = "100%"', 1, "threshold", "below 1"),
    ("threshold = nan", 1, "threshold", "above 0"),
    ("threshold = true", 1, "threshold", "above 0"),
    ("gate = true", 1, "gate", 'found true (a boolean), expected "off" or "on"'),
    ('comment = "change"', 1, "comment", '"changes" or "always" or "never"'),
    ('budget = "10"', 1, "budget", "a duration above 0"),
    ("budget = -5", 1, "budget", "a duration above 0"),
    ('registry = "https://ghcr.io/x"', 1, "registry", "without a scheme"),
    ('registry = "ghcr.io/Owner"', 1, "registry", "lower case"),
    ("registry = 1", 1, "registry", "without a scheme"),
    ('results_branch = "a b"', 1, "results_branch", "the name of a branch"),
    ('results_branch = "-f"', 1, "results_branch", "the name of a branch"),
    ('results_branch = "a..b"', 1, "results_branch", "the name of a branch"),
    ('results_branch = "a.lock"', 1, "results_branch", "the name of a branch"),
    ('results_branch = ""', 1, "results_branch", "the name of a branch"),
    ("launch = 8", 1, "launch", "write [launch]"),
    ("[launch]\nlaunches = 7", 2, "launch.launches", "an integer, 8 or more"),
    ('[launch]\nlaunches = "8"', 2, "launch.launches", "an integer, 8 or more"),
    ("[launch]\nslices = 0", 2, "launch.slices", "1 or more"),
    ("[launch]\nsingle_slices = -1", 2, "launch.single_slices", "0 or more"),
    ("[launch]\nwarmup = 1.0", 2, "launch.warmup", "0 or more"),
    ('[launch]\nseconds = "fast"', 2, "launch.seconds", "a duration above 0"),
    ("[launch]\nseconds = 0", 2, "launch.seconds", "a duration above 0"),
    ("[launch]\nseconds = 5\ndeadline = 5", 3, "launch.deadline", "never ends before"),
    ("[launch]\nlaunchs = 8", 2, "launch.launchs", 'did you mean "launches"?'),
    ("suites = []", 1, "suites", "a table of suites"),
    ("suites.quick = ['a']", 1, "suites.quick", "a table, such as"),
    ("[suites.quick]\nbudget = 5", 1, "suites.quick.cases", "missing; expected an array"),
    ("[suites.quick]\ncases = 'a'", 2, "suites.quick.cases", "an array of regular expressions"),
    ("[suites.quick]\ncases = [\n'a',\n'(']", 4, "suites.quick.cases[1]", "unterminated subpattern"),
    ("[suites.quick]\ncases = ['a']\nbudgt = 1", 3, "suites.quick.budgt", 'did you mean "budget"?'),
    ("[suites.'']\ncases = ['a']", 1, 'suites.""', "a suite needs a name"),
    ("treshold = 0.02", 1, "treshold", 'did you mean "threshold"?'),
    ("gate = on", 1, None, "not valid TOML"),
]


@pytest.mark.parametrize(("text", "line", "key", "words"), WRONG, ids=[repr(case[0]) for case in WRONG])
def test_an_error_names_file_line_and_key(text: str, line: int, key: str | None, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(text, file="perf/windtunnel.toml")
    error = caught.value
    assert (error.file, error.line, error.key) == ("perf/windtunnel.toml", line, key)
    assert words in str(error)
    assert "\n" not in str(error)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings("gate = 1\ncomment = 2\n[launch]\nslices = 0\n")
    assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["1", "2", "4"]


KEYS = [
    "threshold",
    "gate",
    "comment",
    "budget",
    "registry",
    "results_branch",
    "launch",
    "suites",
    "launch.slices",
    "x",
]
VALUES = [
    '"2%"',
    "0.5",
    "1e999",
    "-1",
    '"on"',
    '"10m"',
    "{}",
    "{ a = {} }",
    "{ a = { cases = ['['] } }",
    "[1]",
    '"%"',
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)).map(" = ".join), max_size=6).map("\n".join)
    | st.text(max_size=40)
)
def test_no_text_raises_anything_but_a_config_error(text: str) -> None:
    try:
        parse_settings(text)
    except ConfigError as error:
        assert error.file == "windtunnel.toml"


def test_a_suite_by_its_name_has_the_projects_budget_where_it_has_none() -> None:
    found = parse_settings(FULL)
    assert found.suite("quick") == SuiteSettings((r"^psgi\.", "keepalive"), 90.0)
    assert found.suite("the rest") == SuiteSettings((".",), 600.0)
    assert found.suite("") == SuiteSettings((), 600.0)
    assert Settings().suite("") == SuiteSettings()


def test_a_suite_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r'did you mean "quick"\? \(suites: quick, the rest\)') as caught:
        parse_settings(FULL).suite("quik")
    assert (caught.value.file, caught.value.key) == ("windtunnel.toml", "suites")
    with pytest.raises(ConfigError, match="known here: quick, the rest"):
        parse_settings(FULL).suite("zzz")
    with pytest.raises(ConfigError, match=r'write \[suites\."a b"\]'):
        Settings().suite("a b")
