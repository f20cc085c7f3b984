"""What a measuring job is told besides its verdict: warnings, parts, annotations, summaries."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import payloads
import pytest
from checkouts import git

from example_comparisons import RUNS, foreign, judged
from windtunnel.cli.action.annotations import annotate_comparison, annotate_error
from windtunnel.cli.action.events import Event
from windtunnel.cli.action.parts import Part, parse_part
from windtunnel.cli.action.precautions import precautions, secrets_in, withhold
from windtunnel.cli.action.runner import SUMMARY_BYTES, Runner
from windtunnel.cli.action.summaries import comparison_summary, failure_summary, plan_summary
from windtunnel.compare.verdict import compare
from windtunnel.errors import BuildFailed, ConfigError, EngineError
from windtunnel.report.around import Around

HEAD = "ab" * 20


def event(fork: str | None = payloads.REPOSITORY, name: str = "pull_request") -> Event:
    return Event(name, payloads.pull_request(HEAD, fork=fork), payloads.REPOSITORY, HEAD, "refs/pull/7/merge")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def workflow(top: Path, text: str, name: str = "report.yml") -> None:
    folder = top / ".github" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


# ---------------- secrets


def test_secrets_are_known_by_their_names() -> None:
    environ = {
        "GITHUB_TOKEN": "x",
        "DEPLOY_KEY_PASSWORD": "x",
        "my_api_key": "x",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "x",
        "EMPTY_TOKEN": "",
        "TOKENIZERS_PARALLELISM": "false",
        "KEYBOARD": "us",
        "PATH": "/bin",
    }
    named = ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "DEPLOY_KEY_PASSWORD", "GITHUB_TOKEN", "my_api_key")
    assert secrets_in(environ) == named
    withhold(environ)
    assert set(environ) == {"EMPTY_TOKEN", "TOKENIZERS_PARALLELISM", "KEYBOARD", "PATH"}


def test_a_token_in_the_job_of_a_pull_request_is_warned_of_by_name_never_by_value(top: Path) -> None:
    (said,) = precautions(event(), {"GITHUB_TOKEN": "hidden-value"}, top)
    assert "GITHUB_TOKEN" in said
    assert "hidden" not in said
    assert precautions(event(name="push"), {"GITHUB_TOKEN": "x"}, top) == ()


def test_a_checkout_that_kept_its_token(top: Path) -> None:
    git(top, "config", "http.https://forge.example/.extraheader", "AUTHORIZATION: basic abc")
    (said,) = precautions(event(), {}, top)
    assert "persist-credentials: false" in said
    assert "basic" not in said


# ---------------- the runner


@pytest.mark.parametrize("fork", ["stranger/project", None])
def test_a_fork_on_a_machine_of_ones_own(top: Path, fork: str | None) -> None:
    (said,) = precautions(event(fork), {"RUNNER_ENVIRONMENT": "self-hosted"}, top)
    assert "root" in said
    assert precautions(event(fork), {"RUNNER_ENVIRONMENT": "github-hosted"}, top) == ()
    assert precautions(event(), {"RUNNER_ENVIRONMENT": "self-hosted"}, top) == ()


# ---------------- whoever comments


@pytest.mark.parametrize(
    "text",
    [
        "on:\n  workflow_run:\n    workflows: [Measure speed]\n",
        'on:\n  workflow_run:\n    workflows:\n      - other\n      - "Measure speed"\n    types: [completed]\n',
        "'on': {workflow_run: {workflows: Measure speed}}\n",
    ],
)
def test_somebody_listens(top: Path, text: str) -> None:
    workflow(top, text)
    assert precautions(event(), {"GITHUB_WORKFLOW": "Measure speed"}, top) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "on: push\n",
        "on: [workflow_run]\n",
        "on:\n  workflow_run:\n    workflows: [Measure]\n",
        "on:\n  workflow_run:\n    workflows: [Measure speed now]\n",
        "name: Measure speed\non: {workflow_run: {}}\n",
        "on:\n workflow_run: [\n",
        "[" * 5_000,
    ],
)
def test_nobody_listens(top: Path, text: str) -> None:
    workflow(top, text)
    (said,) = precautions(event(), {"GITHUB_WORKFLOW": "Measure speed"}, top)
    assert "'Measure speed'" in said
    assert precautions(event(name="merge_group"), {"GITHUB_WORKFLOW": "Measure speed"}, top) == ()


# ---------------- parts

ENTRY = {"shard": "2/4", "number": 2, "bench": r"^(?:b\.A|b\.B)\Z", "cases": ["b.A"], "minutes": 2.0, "budget": 120.5}


def test_a_part_by_its_number_or_by_its_entry() -> None:
    assert parse_part("") == Part() == parse_part("  ")
    assert parse_part("2/4") == Part("2/4", 2)
    assert parse_part(json.dumps(ENTRY, indent=2)) == Part("2/4", 2, r"^(?:b\.A|b\.B)\Z", 120.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shard": "5/4"}, 'found "5/4"'),
        ({"shard": 2}, "shard: found '2'"),
        ({"number": 3}, "number: found '3', expected 2, as in 2/4"),
        ({"number": True, "shard": "1/4"}, "number"),
        ({"bench": ""}, "bench: found ''"),
        ({"bench": "("}, "expected a regular expression"),
        ({"budget": 0}, "budget: found '0'"),
        ({"budget": True}, "budget"),
        ({"budget": "2m"}, "budget: found '2m'"),
        ({"budget": float("nan")}, "budget: found 'nan'"),
        ({"os": "linux"}, "'os' is not of an entry of the plan's matrix"),
    ],
)
def test_an_entry_is_taken_as_it_is_or_not_at_all(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_part(json.dumps({**ENTRY, **change}))
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["{", "two", "{} {}", "0/4", "[1]", '{"shard":' * 10_000])
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(ConfigError, match="--shard"):
        parse_part(text)


# ---------------- annotations


@pytest.fixture
def runner() -> Runner:
    return Runner({})


def commands(capsys: pytest.CaptureFixture[str], level: str = "") -> list[str]:
    """The commands to the runner: everything that was printed has to be one."""
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("::") for line in lines), lines
    return [line for line in lines if line.startswith(f"::{level}")]


def test_what_got_slower_or_broke_is_warned_of_case_by_case(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    annotate_comparison(runner, RUNS["mixed"], judged("mixed"))
    warned = commands(capsys)
    bad = [one for one in judged("mixed").cases if one.verdict.value in {"regression", "failed", "invalid"}]
    assert len(bad) == 4
    assert [line.split("::")[1] for line in warned] == [
        "warning title=windtunnel%3A slower",
        "warning title=windtunnel%3A slower",
        "warning title=windtunnel%3A failed",
        "warning title=windtunnel%3A invalid",
        "notice title=windtunnel",
    ]
    assert "psgi.Starlet(5.40, keepalive): CPU per request +6" in warned[0]
    assert "Response time" in warned[1]
    assert "500 instead of 200" in warned[3]
    assert "1 of the cases" in warned[4]


def test_of_many_the_first_are_told_and_a_count(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    annotate_comparison(runner, RUNS["head-build"], judged("head-build"), room=4)
    warned = commands(capsys, "warning")
    assert len(warned) == 4
    assert warned[-1].endswith("::and 3 more; the summary of the job has all of them")


@pytest.mark.parametrize(
    ("name", "words"),
    [("unchanged", "No change"), ("identical", "identical in base and head"), ("first", "First run: head only")],
)
def test_where_nothing_is_wrong_a_notice_says_so(
    runner: Runner, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    annotate_comparison(runner, RUNS[name], judged(name))
    (said,) = commands(capsys)
    assert said.startswith("::notice title=windtunnel::")
    assert words in said


def test_no_text_from_outside_is_a_command_of_its_own(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    text = "a%0Ab\n::set-output name=outcome::ok\r::error::x ##[error]y , : title=z"
    annotate_comparison(runner, *foreign(text))
    for line in commands(capsys):
        assert line.startswith(("::warning title=windtunnel", "::notice title=windtunnel"))
        assert "%0A" not in line.replace("%250A", "")


@pytest.mark.parametrize("file", ["perf/asv.conf.json", "asv.conf.json", "{top}/perf/asv.conf.json"])
def test_an_error_is_told_at_its_file_from_the_top_of_the_repository(
    runner: Runner, top: Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    (top / "perf").mkdir()
    (top / "perf" / "asv.conf.json").write_text("{")
    error = ConfigError("not valid", file=file.format(top=top), line=3)
    annotate_error(runner, error, top, top / "perf")
    (said,) = commands(capsys)
    assert said.startswith("::error title=windtunnel,file=perf/asv.conf.json,line=3::")


@pytest.mark.parametrize("file", ["/etc/passwd", "../outside.toml", "gone.toml", None])
def test_a_file_that_is_not_in_the_repository_is_in_no_annotation(
    runner: Runner, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str | None
) -> None:
    (tmp_path / "outside.toml").write_text("")
    (tmp_path / "top").mkdir()
    annotate_error(runner, ConfigError("wrong", file=file, line=1), tmp_path / "top", tmp_path / "top")
    (said,) = commands(capsys)
    assert said.startswith("::error title=windtunnel::")


# ---------------- summaries


def test_a_summary_is_never_larger_than_a_runner_takes() -> None:
    run, _ = foreign("x")
    case = run.header.cases[0]
    names = [replace(case, benchmark=f"{'é𝛿' * 70}{number}") for number in range(4_000)]
    failures = [replace(run.failures[0], case=one.id, reason=f"{'é𝛿' * 90} {one.id}") for one in names]
    huge = replace(run, header=replace(run.header, cases=tuple(names)), failures=tuple(failures))
    text = comparison_summary(huge, compare(huge), Around(), EngineError("the engine is gone"))
    assert SUMMARY_BYTES / 2 < len(text.encode()) < SUMMARY_BYTES
    assert "Left out for want of space" in text
    assert text.startswith("**Cut short:** `the engine is gone`\n")


def test_a_failure_is_told_with_the_end_of_its_log() -> None:
    text = failure_summary(BuildFailed("step 2 `x` failed", detail="one\n```\n<b>two</b>"))
    assert text.startswith("**Nothing was measured:** ``step 2 `x` failed``\n")
    assert "````text\none\n```\n<b>two</b>\n````" in text


def test_a_plan_is_told_in_a_table() -> None:
    include = [
        {"shard": "1/2", "cases": ["a", "b"], "minutes": 2.0},
        {"shard": "2/2", "cases": ["c"], "minutes": 1.0},
    ]
    lines = plan_summary({"include": include}).splitlines()
    assert lines[0].startswith("**3 cases in 2 shards.**")
    assert lines[-1].startswith("| `2/2` | 1 | ")
