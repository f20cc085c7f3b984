"""Simulated comparisons are decided as real ones are."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from benchlib.noise import Sitting, write_noise
from benchlib.planting import Plant, draws_of
from benchlib.rivals import RIVALS, WAYS, rival_trial
from benchlib.simulate import Work, simulate
from benchlib.trial import Setting, decide, remember_samples, run_trial
from made_noise import CASE, made_run, made_sitting

from commands import run
from windtunnel.compare import rule as rule_module
from windtunnel.compare import verdict as deciding
from windtunnel.compare.effects import series_of
from windtunnel.compare.estimate import Sample
from windtunnel.compare.rule import Rule, Verdict
from windtunnel.compare.verdict import compare

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "simulate"


class TestPlant:
    """What is planted is what is seen."""

    def seen(self, plant: Plant, metric: str) -> list[float]:
        """By how much each log ratio moves."""
        sitting = made_sitting(pairs=6)
        return [
            draw.effects[metric] - plain.effects[metric]
            for draws, plains in zip(draws_of(sitting, plant), draws_of(sitting, Plant()), strict=True)
            for draw, plain in zip(draws, plains, strict=True)
        ]

    @pytest.mark.parametrize("cpu", [0.03, -0.03, 0.1])
    def test_cpu(self, cpu: float) -> None:
        assert self.seen(Plant(cpu=cpu), "cpu_per_request") == pytest.approx([math.log1p(cpu)] * 12)

    def test_cpu_takes_time_too_as_far_as_the_target_computes(self) -> None:
        assert self.seen(Plant(cpu=0.06), "time_per_request") == pytest.approx([math.log1p(0.05)] * 12, abs=1e-5)

    def test_a_wait_is_seen_by_the_response_time_alone(self) -> None:
        assert self.seen(Plant(wait=0.001), "cpu_per_request") == [0.0] * 12
        assert self.seen(Plant(wait=0.001), "time_per_request") == [0.0] * 12
        assert all(0.05 < one < 0.15 for one in self.seen(Plant(wait=0.001), "response_time"))

    def test_arms_change_sides(self) -> None:
        for as_made, swapped in draws_of(made_sitting(pairs=6), Plant()):
            assert swapped.effects == pytest.approx({name: -value for name, value in as_made.effects.items()})

    def test_what_takes_longer_costs_more(self) -> None:
        ((draw, _),) = draws_of(made_sitting(pairs=1), Plant(cpu=0.1))
        assert draw.cost == pytest.approx(2.5 + 0.1 * sum(one.cpu / 1.1 for one in draw.pair.other.slices))  # type: ignore[operator]


@pytest.mark.parametrize("effect", [0.0, 0.02, 0.025, 0.03, 0.05, -0.04])
@pytest.mark.parametrize("pairs", [5, 13, 20, 34])
def test_a_case_is_decided_as_compare_does(effect: float, pairs: int) -> None:
    sitting = made_sitting(pairs, effect=effect)
    (expected,) = compare(made_run(sitting), Rule()).cases
    found = decide(series_of([one.pair for one in sitting.pairs]), Rule(), pairs)
    assert found == (expected.verdict, expected.decided_by)


def test_the_cases_above_end_in_every_way() -> None:
    """Else the test above would not tell much."""
    seen = {
        decide(series_of([one.pair for one in made_sitting(34, effect=effect).pairs]), Rule(), 34)[0]
        for effect in (0.0, 0.02, 0.05, -0.04)
    }
    assert seen == {Verdict.UNCHANGED, Verdict.INCONCLUSIVE, Verdict.REGRESSION, Verdict.IMPROVEMENT}


def test_a_case_stops_when_it_is_clear_or_the_time_is_up() -> None:
    draws = draws_of(made_sitting(), Plant(cpu=0.5))
    clear = run_trial(draws, Rule(), random.Random(1), Setting(budget=600))
    assert clear.verdict is Verdict.REGRESSION
    assert clear.pairs < Rule().most
    short = run_trial(draws, Rule(), random.Random(1), Setting(budget=12))
    assert short.verdict is Verdict.INCONCLUSIVE
    assert short.seconds <= 12 + 2 * 2.5


def test_remembered_samples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rule_module, deciding):
        monkeypatch.setattr(module, "Sample", Sample)  # put back afterwards
    draws = draws_of(made_sitting(), Plant(cpu=0.03))
    plain = [run_trial(draws, Rule(), random.Random(seed), Setting()) for seed in range(5)]
    remember_samples()
    assert [run_trial(draws, Rule(), random.Random(seed), Setting()) for seed in range(5)] == plain


def test_the_same_seed_gives_the_same_cases_whatever_the_number_of_processes() -> None:
    work = Work((made_sitting(), made_sitting(name="another")))
    rows = [("windtunnel", "A/A"), ("windtunnel", "+3 %")]
    one, two = (list(simulate(work, rows, 260, jobs)) for jobs in (1, 2))
    assert one == two
    assert [len(row.trials) for row in one] == [260, 260]
    assert list(simulate(replace(work, seed=2), rows[:1], 260)) != one[:1]


class TestRivals:
    """Other tools' rules."""

    def verdicts(self, sitting: Sitting, plant: Plant, way: str) -> dict[str, Verdict]:
        plain, planted = draws_of(sitting, Plant()), draws_of(sitting, plant)
        sample = WAYS[way](planted, plain, random.Random(1), 60)
        return {name: rival_trial(one, sample, "cpu_per_request").verdict for name, one in RIVALS.items()}

    @pytest.mark.parametrize("way", WAYS)
    def test_all_see_what_is_three_times_as_slow(self, way: str) -> None:
        found = self.verdicts(made_sitting(), Plant(cpu=2), way)
        assert set(found.values()) == {Verdict.REGRESSION}

    @pytest.mark.parametrize("way", WAYS)
    def test_they_differ_by_what_they_call_a_change(self, way: str) -> None:
        found = self.verdicts(made_sitting(), Plant(cpu=0.3), way)
        assert {name for name, one in found.items() if one is Verdict.UNCHANGED} == {"200 % of the last run"}
        faster = self.verdicts(made_sitting(), Plant(cpu=-0.3), way)
        assert {name for name, one in faster.items() if one is Verdict.UNCHANGED} == {"200 % of the last run"}

    @pytest.mark.parametrize("way", WAYS)
    def test_the_time_is_the_same_for_both_ways(self, way: str) -> None:
        draws = draws_of(made_sitting(), Plant())
        sample = WAYS[way](draws, draws, random.Random(1), 60)
        assert sample.seconds == pytest.approx(60)
        assert len(sample.base) == len(sample.head) == 24

    def test_apart_means_other_pairs(self) -> None:
        draws = draws_of(made_sitting(pairs=64), Plant())
        sample = WAYS["apart"](draws, draws, random.Random(1), 60)
        numbers = [[one.pair.number for one in arm] for arm in (sample.base, sample.head)]
        assert not set(numbers[0]) & set(numbers[1])
        assert [(after - before) % 64 for before, after in zip(*numbers, strict=True)] == [24] * 24


def test_the_script_prints_a_table_of_what_it_was_asked_for(tmp_path: Path) -> None:
    write_noise(tmp_path / "made.jsonl.xz", [made_sitting()])
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- simulation -->\nold\n<!-- end of simulation -->\n")
    done = run(SCRIPT, tmp_path / "made.jsonl.xz", "--cases", "20", "--only", "A/A", "--page", page)
    assert done.returncode == 0, done.stderr
    assert "| A/A, quiet | 20 |" in done.stdout
    assert done.stdout.strip() in page.read_text()
    assert "old" not in page.read_text()
    assert f"**windtunnel**: {CASE.id}" not in done.stdout  # there is one case only


def test_the_script_says_what_is_wrong(tmp_path: Path) -> None:
    write_noise(tmp_path / "made.jsonl.xz", [made_sitting()])
    done = run(SCRIPT, tmp_path / "made.jsonl.xz", "--set", "tresh=1")
    assert done.returncode != 0
    assert "--set tresh: the rule has no such field; it has alpha" in done.stderr
