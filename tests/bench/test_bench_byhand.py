"""windtunnel against the same tools by hand: what is read of their reports, and what the table says of the ratios."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from benchlib.byhand import PAIRS, Launched, Shell, Turns, by_connection, printed_rate, ratios_table, report

from commands import run
from windtunnel.errors import EngineError

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "data" / "load"


def _launches(count: int, **by_name: float) -> Sequence[Turns]:
    """All loads at 1,000 requests per second but those that are named, with some noise that ratios do not see."""

    def rate(name: str, drift: int) -> float:
        return 1000 * by_name.get(name.replace(" ", "_"), 1.0) * (1 + drift / 50)

    turns = {
        pair: [(rate(f"windtunnel {pair.ours}", drift), rate(pair.hand, drift)) for drift in range(3)]
        for pair in PAIRS
    }
    return [turns] * count


def _rows(text: str) -> dict[tuple[str, str, str], list[str]]:
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]
    return {(cells[0], cells[1], cells[2]): cells for cells in lines}


@pytest.mark.parametrize(("tool", "name"), [("ab", "ab-close"), ("h2load", "h2load-keepalive"), ("wrk", "wrk-close")])
def test_the_rate_is_the_one_that_the_tool_printed(tool: str, name: str) -> None:
    text = (CAPTURES / f"{name}.txt").read_text("utf-8")
    (line,) = [
        line for line in text.splitlines() if re.search(r"requests per second|req/s,|requests/sec", line, re.I)
    ]
    assert f"{printed_rate(tool, text):.2f}" in line


@pytest.mark.parametrize("tool", ["ab", "h2load", "wrk"])
def test_a_tool_that_printed_none_measured_nothing(tool: str) -> None:
    with pytest.raises(EngineError, match=f"{tool} printed no rate"):
        printed_rate(tool, (CAPTURES / f"{tool}-refused.txt").read_text("utf-8").replace("1", "0"))


def test_there_is_a_row_for_each_pair_and_connection() -> None:
    found = _rows(ratios_table({"close": _launches(8), "keepalive": _launches(8)}))
    assert set(found) == {(name, pair.ours, pair.hand) for name in ("close", "keepalive") for pair in PAIRS}
    assert all(cells[6] == "1.000 [1.000, 1.000]" and cells[7] == "yes" for cells in found.values())


def test_what_is_off_is_not_called_near() -> None:
    found = _rows(ratios_table({"close": _launches(8, windtunnel_wrk=0.95, h2load_long=1.25)}))
    assert found["close", "wrk", "wrk"][6:] == ["0.950 [0.950, 0.950]", "no"]
    assert found["close", "h2load", "h2load long"][6:] == ["0.800 [0.800, 0.800]", "no"]
    assert found["close", "h2load", "h2load"][7] == "yes"


def test_launches_that_differ_leave_it_open() -> None:
    mixed = [*_launches(4, windtunnel_ab=0.9), *_launches(4, windtunnel_ab=1.1)]
    assert _rows(ratios_table({"close": mixed}))["close", "ab", "ab"][7] == "not sure"


def test_too_few_launches_claim_nothing() -> None:
    cells = _rows(ratios_table({"close": _launches(2)}))["close", "ab", "ab"]
    assert cells[6:] == ["1.000 (too few launches for an interval)", "not known"]


def test_what_is_kept_is_what_was_seen() -> None:
    launches = [Launched(name, _launches(1)[0], 0.25) for name in ("keepalive", "close", "keepalive")]
    assert [Launched.of(one.line()) for one in launches] == launches
    found = by_connection(launches)
    assert {name: len(turns) for name, turns in found.items()} == {"close": 1, "keepalive": 2}


def test_a_pair_that_some_launches_lack_has_those_of_the_others() -> None:
    (whole,) = _launches(1)
    like = {pair: turns for pair, turns in whole.items() if pair.kind.startswith("like with like")}
    found = _rows(ratios_table({"close": [whole, like, like]}))
    assert found["close", "ab", "ab"][5] == "3"
    assert found["close", "wrk", "ab long"][5] == "1"
    assert set(_rows(ratios_table({"close": [like]}))) == {("close", pair.ours, pair.hand) for pair in like}


def test_a_launch_that_had_to_share_its_processors_is_not_counted() -> None:
    (turns,) = _launches(1)
    text = report([Launched("close", turns, share) for share in (0.0, 0.02, 0.021, 0.5)], 0.02)
    table, _, words = text.partition("\n\n")
    assert {cells[5] for cells in _rows(table).values()} == {"2"}
    assert words.startswith("2 of 4 launches are counted")


def test_a_pair_of_former_days_is_not_read() -> None:
    (whole,) = _launches(1)
    line = Launched("close", whole, 0.0).line().replace('"wrk"', '"siege"')
    assert {pair.ours for pair in Launched.of(line).turns} == {"h2load", "ab", "h2load long", "ab long"}


@pytest.fixture
def shell() -> Iterator[Shell]:
    with subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Shell(process)


def test_a_shell_gives_what_each_command_printed_and_nothing_else(shell: Shell) -> None:
    assert shell.run(["echo", "a b", "$HOME"]).strip() == "a b $HOME"
    assert shell.run(["sh", "-c", "printf no-end-of-line >&2"]).strip() == "no-end-of-line"


def test_a_command_that_fails_is_told_with_what_it_said_and_the_shell_goes_on(shell: Shell) -> None:
    with pytest.raises(EngineError, match="ended with 3") as told:
        shell.run(["sh", "-c", "echo why; exit 3"])
    assert "why" in told.value.detail
    assert shell.run(["echo", "next"]).strip() == "next"


def test_a_shell_that_is_gone_is_told(shell: Shell) -> None:
    with pytest.raises(EngineError, match="has ended"):
        shell.run(["sh", "-c", "kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)"])


def test_the_script_says_what_it_is_for() -> None:
    done = run(ROOT / "bench" / "byhand", "--help")
    assert done.returncode == 0
    assert "Like is compared with like" in done.stdout
