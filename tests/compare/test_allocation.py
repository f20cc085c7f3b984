"""What is measured next, and when it is enough: order, budget, fairness, and that an interruption changes nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import plainly
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windtunnel.compare.allocate import CaseState, next_pairs
from windtunnel.compare.rule import JUDGED, Rule, Verdict, judge
from windtunnel.compare.standing import Need, standing

RULE = Rule()
FIRST = RULE.looks[0][0]
some = settings(max_examples=30)
seeds = st.integers(0, 2**32)


def _series(rng: random.Random, count: int) -> dict[str, list[float]]:
    """Log ratios of a case, more than it will ever need: some effect, some noise, for each metric its own."""
    effect, noise = rng.choice([0, 0, 0.01, 0.02, 0.03, 0.06, -0.03]), rng.choice([0.002, 0.01, 0.02, 0.05])
    return {
        name: [rng.choice([effect, 0]) / (2 if place % 7 else 1) + rng.gauss(effect, noise) for place in range(count)]
        for name in JUDGED
    }


@dataclass
class Bench:
    """A machine that makes pairs: what each case's pairs will show is settled beforehand, and what each costs."""

    cases: Mapping[str, Mapping[str, Sequence[float]]]
    cost: float = 3.0
    lost: frozenset[tuple[str, int]] = frozenset()
    made: list[tuple[str, int]] = field(default_factory=list)

    def states(self) -> list[CaseState]:
        """Every case, rebuilt from what was made so far."""
        return [self._state(case) for case in self.cases]

    def _state(self, case: str) -> CaseState:
        numbers = sorted(number for name, number in self.made if name == case)
        good = [number for number in numbers if (case, number) not in self.lost]
        series = {name: tuple([values[number - 1] for number in good]) for name, values in self.cases[case].items()}
        return CaseState(case, series, tried=max(numbers, default=0), seconds=self.cost * len(numbers))

    def run(self, rule: Rule, *, batch: int, budget: float | None = None, stop: int = 10**6) -> Iterator[int]:
        """Make pairs until there is nothing to do, or that many are made; yields the size of every batch."""
        for _ in range(10_000):
            left = None if budget is None else budget - self.cost * len(self.made)
            wanted = next_pairs(self.states(), rule, left=left, batch=batch, seed="s")
            if not wanted:
                return
            for pair in wanted:
                if len(self.made) >= stop:
                    return
                assert pair not in self.made
                self.made.append(pair)
            yield len(wanted)
        raise AssertionError("it never ends")

    def verdicts(self, rule: Rule) -> dict[str, dict[str, Verdict]]:
        """What is told in the end."""
        return {
            state.case: {name: judge(name, values, rule).verdict for name, values in state.series.items() if values}
            for state in self.states()
        }

    def counts(self) -> Counter[str]:
        """How many pairs each case has."""
        return Counter(case for case, _ in self.made)


def _any_flag(state: CaseState) -> bool:
    return any(judge(name, values, RULE, ended=False).pending for name, values in state.series.items() if values)


def _bench(seed: int, cases: int, **changes: float) -> Bench:
    rng = random.Random(seed)
    return Bench({f"case {number}": _series(rng, 80) for number in range(cases)}, **changes)


# ---------------- a whole run


@given(seeds, st.integers(1, 4), st.integers(1, 5))
@some
def test_a_run_ends_and_every_case_has_its_first_look_before_any_goes_on(seed: int, cases: int, batch: int) -> None:
    bench = _bench(seed, cases)
    before = bench.states()
    for size in bench.run(RULE, batch=batch):
        early = {state.case for state in before if state.pairs < FIRST}
        going_on = {case for case, _ in bench.made[-size:]} - early
        flagged = {state.case for state in before if _any_flag(state)}
        waited = all(bench.counts()[case] >= FIRST for case in early)
        assert waited or going_on <= flagged
        before = bench.states()
    assert set(bench.counts()) == set(bench.cases)
    for state in bench.states():
        assert FIRST <= state.pairs <= RULE.most
        stand = standing(state.series, RULE)
        assert stand.need is Need.NOTHING
        assert stand.why


@given(seeds, st.integers(1, 3), st.integers(1, 4), st.integers(0, 60), st.integers(1, 4))
@some
def test_a_run_that_is_cut_short_and_resumed_comes_to_the_same(
    seed: int, cases: int, batch: int, stop: int, again: int
) -> None:
    """Whatever the batches: pairs of a case are the same in the same order, and it stops at the same one."""
    whole, cut = _bench(seed, cases), _bench(seed, cases)
    list(whole.run(RULE, batch=batch))
    list(cut.run(RULE, batch=batch, stop=stop))
    list(cut.run(RULE, batch=again))
    assert cut.counts() == whole.counts()
    assert cut.verdicts(RULE) == whole.verdicts(RULE)


@given(seeds, st.integers(1, 4), st.integers(1, 4), st.floats(0, 300), st.floats(0.1, 20))
@some
def test_the_budget_is_never_exceeded(seed: int, cases: int, batch: int, budget: float, cost: float) -> None:
    """Once it is known what a pair costs; a first one that costs more than was thought can't be helped."""
    bench = _bench(seed, cases, cost=cost)
    bench.made = [(case, 1) for case in bench.cases]
    spent = cost * cases
    list(bench.run(RULE, batch=batch, budget=budget + spent))
    assert cost * len(bench.made) <= budget + spent + 1e-9
    if any(standing(state.series, RULE).need is not Need.NOTHING for state in bench.states()):
        left = budget + spent - cost * len(bench.made)
        assert left < cost or all(
            standing(state.series, RULE, state.pairs + int(left / cost)).need is Need.NOTHING
            for state in bench.states()
        )


@given(seeds, st.integers(1, 4), st.integers(9, 40), st.integers(1, 12))
@some
def test_no_case_gets_more_than_it_may(seed: int, cases: int, most: int, batch: int) -> None:
    """Also where the most lies between two looks, and a batch reaches over it."""
    rule, bench = replace(RULE, most=most), _bench(seed, cases)
    list(bench.run(rule, batch=batch))
    assert max(bench.counts().values()) <= most


def test_lost_pairs_are_made_up_for_with_new_numbers() -> None:
    lost = frozenset({("case 0", 2), ("case 0", 5)})
    bench = replace(_bench(3, 1), lost=lost)
    list(bench.run(RULE, batch=2))
    assert bench.states()[0].pairs >= FIRST
    assert sorted(number for _, number in bench.made) == list(range(1, len(bench.made) + 1))


def test_a_case_that_shows_no_figure_is_let_go() -> None:
    """Its launches are good, and nothing that is judged can be read from them."""
    bench = Bench({"blind": {}, "other": _series(random.Random(1), 80)})
    list(bench.run(RULE, batch=2))
    assert bench.counts()["blind"] <= FIRST
    assert bench.counts()["other"] >= FIRST


# ---------------- one choice


def _state(case: str, values: Sequence[float], **changes: float) -> CaseState:
    return replace(CaseState(case, {JUDGED[0]: tuple(values)}, len(values), 3.0 * len(values)), **changes)


def _noisy(count: int, effect: float = 0.0, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [effect + rng.choice([-1, 1]) * rng.uniform(0.02, 0.03) for _ in range(count)]


CLEAR = [0.0001, -0.0001] * (FIRST // 2 + 1)
FLAGGED = [0.2 + place / 1000 for place in range(FIRST)]
UNCLEAR = [0.04, -0.04] * FIRST


def test_what_is_flagged_comes_first_then_first_looks_then_the_rest() -> None:
    flagged, new = _state("flagged", FLAGGED), _state("new", UNCLEAR[: FIRST - 2])
    unclear, clear = _state("unclear", UNCLEAR[:FIRST]), _state("clear", CLEAR[:FIRST])
    assert [standing(one.series, RULE).need for one in (flagged, new, unclear, clear)] == list(Need)
    following = RULE.looks[1][0] - FIRST
    for states in ([flagged, new, unclear, clear], [clear, unclear, new, flagged]):
        chosen = next_pairs(states, RULE, left=None, batch=100, seed="s")
        assert [case for case, _ in chosen] == [
            *["flagged"] * following,
            *["new"] * 2,
            *["unclear"] * following,
        ]
        assert chosen[:2] == (("flagged", FIRST + 1), ("flagged", FIRST + 2))


def test_open_cases_take_turns_the_one_with_fewest_pairs_first() -> None:
    states = [_state(f"case {number}", UNCLEAR[: FIRST + number % 2]) for number in range(6)]
    chosen = next_pairs(states, RULE, left=None, batch=9, seed="s")
    order = [int(case[-1]) for case, _ in chosen]
    assert sorted(order[:3]) == [0, 2, 4]
    assert sorted(order[3:]) == list(range(6))


def test_a_case_that_was_given_up_or_is_clear_gets_nothing() -> None:
    states = [_state("clear", CLEAR[:FIRST]), replace(_state("broken", FLAGGED), given_up=True)]
    assert next_pairs(states, RULE, left=None, batch=4, seed="s") == ()
    assert next_pairs([], RULE, left=None, batch=4, seed="s") == ()


@given(st.text(max_size=5), st.integers(1, 8), st.randoms())
@some
def test_the_choice_hangs_on_the_seed_alone(seed: str, batch: int, rng: random.Random) -> None:
    """Not on the order of the cases."""
    states = [CaseState(f"case {number}", {}) for number in range(8)]
    chosen = next_pairs(states, RULE, left=None, batch=batch, seed=seed)
    assert chosen == next_pairs(rng.sample(states, 8), RULE, left=None, batch=batch, seed=seed)
    assert len({case for case, _ in chosen}) == batch


def test_other_seeds_choose_others() -> None:
    states = [CaseState(f"case {number}", {}) for number in range(8)]
    first = Counter(next_pairs(states, RULE, left=None, batch=1, seed=str(seed))[0][0] for seed in range(400))
    assert set(first) == {state.case for state in states}
    assert max(first.values()) < 100


def test_pairs_that_do_not_fit_are_passed_over_for_those_that_do() -> None:
    dear, cheap = _state("dear", UNCLEAR[:2], seconds=200.0), _state("cheap", UNCLEAR[:4], seconds=4.0)
    assert next_pairs([dear, cheap], RULE, left=5.0, batch=8, seed="s") == tuple(
        ("cheap", number) for number in range(5, min(9, FIRST) + 1)
    )
    assert next_pairs([dear, cheap], RULE, left=0.5, batch=8, seed="s") == ()
    assert next_pairs([dear, cheap], RULE, left=-3.0, batch=8, seed="s") == ()


@given(
    st.lists(st.tuples(st.sampled_from([UNCLEAR, CLEAR, FLAGGED]), st.integers(0, 12), st.booleans()), max_size=4),
    st.floats(-100, 300),
    st.integers(1, 8),
)
@example([(UNCLEAR, FIRST, False)], -0.1, 4)
@some
def test_no_budget_is_overdrawn_and_none_that_is_stops_the_run(
    mix: list[tuple[list[float], int, bool]], left: float, batch: int
) -> None:
    """The last pairs may take longer than thought: then less than nothing is left."""
    states = [
        replace(_state(f"case {number}", values[:count], seconds=3.0 * count), given_up=given_up)
        for number, (values, count, given_up) in enumerate(mix)
    ]
    chosen = next_pairs(states, RULE, left=left, batch=batch, seed="s")
    costs = {state.case: state.cost for state in states}
    assert sum(costs[case] for case, _ in chosen) <= max(0.0, left)
    assert len(chosen) <= batch


def test_pairs_that_took_no_time_that_is_known_cost_what_is_thought_at_first() -> None:
    free = _state("free", UNCLEAR[:4], seconds=0.0)
    assert free.cost == CaseState("new", {}).cost > 0
    assert next_pairs([free], RULE, left=100.0, batch=1, seed="s") == (("free", 5),)


# ---------------- standing


def test_a_regression_ends_it_and_an_improvement_ends_it_and_noise_goes_on() -> None:
    many = RULE.most
    clear = [0.2 + place / 10000 for place in range(many)]
    assert standing({JUDGED[0]: clear}, RULE).need is Need.NOTHING
    assert standing({JUDGED[0]: [-value for value in clear[: many - 1]]}, RULE).need is Need.NOTHING
    assert standing({JUDGED[1]: clear, JUDGED[0]: UNCLEAR[:FIRST]}, RULE).why == "a regression, confirmed"
    assert standing({JUDGED[0]: UNCLEAR[:FIRST]}, RULE).need is Need.MORE
    assert standing({JUDGED[0]: _noisy(many)}, RULE).need is Need.NOTHING


def test_time_that_is_only_unclear_asks_for_nothing_and_a_suspect_time_does() -> None:
    cpu = CLEAR[:FIRST]
    assert standing({JUDGED[0]: cpu, JUDGED[1]: UNCLEAR[:FIRST]}, RULE).why == "clear"
    assert standing({JUDGED[0]: cpu, JUDGED[1]: FLAGGED}, RULE).need is Need.CONFIRM


def test_noise_without_hope_is_let_go() -> None:
    late = max(count for count, _, _ in RULE.looks if count < RULE.most)
    wild = [2.0 + place // 2 if place % 2 else -2.0 - place // 2 for place in range(late)]
    stand = standing({JUDGED[0]: wild}, RULE)
    assert stand.need is Need.NOTHING
    assert "hardly" in stand.why


@given(seeds, st.integers(0, 44), st.none() | st.integers(0, 60))
@settings(max_examples=200)
def test_a_case_stands_somewhere_whatever_it_has(seed: int, count: int, most: int | None) -> None:
    rng = random.Random(seed)
    series = {name: plainly.drawn(rng.randrange(2**40), 44)[: rng.choice([count, count, 0])] for name in JUDGED}
    stand = standing(series, RULE, most)
    pairs = max(map(len, series.values()))
    assert set(stand.findings) == {name for name, values in series.items() if values}
    if pairs >= (RULE.most if most is None else min(most, RULE.most)):
        assert stand.need is Need.NOTHING
    elif pairs < FIRST:
        assert stand.need is Need.FIRST
    if stand.need is Need.CONFIRM:
        assert any(one.pending for one in stand.findings.values())


def test_a_case_that_went_on_at_a_look_goes_on_to_the_next() -> None:
    """Whatever the pairs in between are like: where it stops does not hang on how many are made at once."""
    rng, looks = random.Random(2), [count for count, _, _ in RULE.looks if count <= RULE.most]
    went_on = 0
    for _ in range(300):
        series = {name: [rng.gauss(0.005, 0.05) for _ in range(RULE.most)] for name in JUDGED}
        at = rng.randrange(1, len(looks) - 1)
        needs = {
            count: standing({name: values[:count] for name, values in series.items()}, RULE).need
            for count in range(looks[at], looks[at + 1])
        }
        assert len(set(needs.values())) == 1
        went_on += needs[looks[at]] is Need.MORE
    assert went_on > 30


def test_no_case_is_not_measured_at_all() -> None:
    assert standing({}, RULE).need is Need.FIRST
    assert standing({}, RULE, 0).need is Need.NOTHING


@pytest.mark.parametrize("metric", JUDGED)
def test_what_is_missing_of_a_metric_holds_nobody_up(metric: str) -> None:
    """A pair without one figure is still a pair of the others."""
    series = {name: CLEAR[: FIRST - 3 * (name == metric)] for name in JUDGED}
    assert standing(series, RULE).need in {Need.NOTHING, Need.MORE}
