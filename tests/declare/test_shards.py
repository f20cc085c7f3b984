"""Cutting cases into shards: nothing lost, nothing twice, the same everywhere, and fair."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.declare.cases import Discovery, chosen
from windtunnel.declare.shards import in_shard, parse_shard, pattern_of, select_shard, shard_of
from windtunnel.errors import ConfigError
from windtunnel.model import Case, Variant, Workload

ids = st.text(min_size=1, max_size=8)
costs = st.dictionaries(ids, st.floats(0, 1e4), max_size=12)


@given(costs, st.integers(1, 6), st.data())
def test_every_case_is_in_exactly_one_shard_wherever_it_is_cut(
    seconds: dict[str, float], shards: int, data: st.DataObject
) -> None:
    images = {case: data.draw(st.sampled_from("abc")) for case in seconds}
    shuffled = data.draw(st.permutations(list(seconds.items())))
    cut = shard_of(list(seconds.items()), shards, images)
    assert len(cut) == shards
    assert sorted(itertools.chain(*cut)) == sorted(seconds)
    again = shard_of(shuffled, shards, dict(reversed(images.items())))
    assert [set(one) for one in again] == [set(one) for one in cut]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=7), st.integers(1, 3))
def test_no_shard_takes_much_longer_than_it_has_to(seconds: list[int], shards: int) -> None:
    """Against the best of all cuts; 4/3 is what the method promises, a tenth more what images may cost."""
    named = [(f"c{index}", float(one)) for index, one in enumerate(seconds)]
    best = min(
        max(sum(own for own, place in zip(seconds, cut, strict=True) if place == shard) for shard in range(shards))
        for cut in itertools.product(range(shards), repeat=len(seconds))
    )
    images = {case: "one" if index % 2 else "other" for index, (case, _) in enumerate(named)}
    for shared in ({}, images):
        cut = shard_of(named, shards, shared)
        longest = max(sum(dict(named)[case] for case in one) for one in cut)
        assert longest <= best * 4 / 3 * (1.1 if shared else 1) + 1e-9


def test_the_order_within_a_shard_is_the_one_declared() -> None:
    cut = shard_of([("z", 1.0), ("y", 2.0), ("x", 3.0), ("w", 4.0)], 2)
    assert cut == (("z", "w"), ("y", "x"))


def test_cases_of_one_image_stay_together_where_that_costs_little() -> None:
    cases = [f"{image}{number}" for number in range(3) for image in "abcd"]
    cut = shard_of([(case, 60.0) for case in cases], 4, {case: case[0] for case in cases})
    assert sorted({case[0] for case in one} for one in cut) == [{"a"}, {"b"}, {"c"}, {"d"}]


def test_an_image_with_most_of_the_cases_is_divided_and_others_are_not() -> None:
    cases = [*(f"big{number}" for number in range(12)), "small1", "small2", "small3", "small4"]
    images = {case: case.rstrip("0123456789") for case in cases}
    cut = shard_of([(case, 60.0) for case in cases], 4, images)
    assert sorted(map(len, cut)) == [4, 4, 4, 4]
    assert sum("small1" in one for one in cut) == 1
    assert sum(any(case.startswith("small") for case in one) for one in cut) == 1


def test_balance_goes_before_builds() -> None:
    """Two images, three shards: whole they would leave one shard idle."""
    cases = [f"{image}{number}" for image in "ab" for number in range(6)]
    cut = shard_of([(case, 10.0) for case in cases], 3, {case: case[0] for case in cases})
    assert [len(one) for one in cut] == [4, 4, 4]


def test_a_cost_that_is_no_number_is_none() -> None:
    cut = shard_of([("a", float("nan")), ("b", float("inf")), ("c", -5.0), ("d", 1.0)], 2)
    assert cut == (("d",), ("a", "b", "c"))


def test_fewer_cases_than_shards_leave_the_last_ones_empty() -> None:
    assert shard_of([("a", 1.0)], 3) == (("a",), (), ())
    assert shard_of([], 2) == ((), ())


@pytest.mark.parametrize(("text", "expected"), [("1/1", (1, 1)), ("2/4", (2, 4)), ("1000/1000", (1000, 1000))])
def test_a_shard_is_a_number_of_a_number(text: str, expected: tuple[int, int]) -> None:
    assert parse_shard(text) == expected


@pytest.mark.parametrize(
    "text", ["", "0/4", "5/4", "x", "2", "2/", "/4", "-1/4", "1/0", "1/1001", "1 / 2", "1/2\n", "١/٢"]
)
def test_anything_else_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ConfigError, match='such as "2/4"') as caught:
        parse_shard(text)
    assert f'"{text}"' in str(caught.value)


def test_machines_that_know_nothing_agree() -> None:
    cases = [f"http.Hello({number})" for number in range(10)]
    parts = [select_shard(cases, {}, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(map(len, parts)) == [3, 3, 4]
    assert sorted(itertools.chain(*parts)) == cases
    shuffled = random.Random(1).sample(cases, 10)
    assert [set(select_shard(shuffled, {}, f"{number}/3")) for number in (1, 2, 3)] == [set(part) for part in parts]


def test_known_costs_are_used() -> None:
    assert select_shard(["a", "b", "c"], {"a": 90.0, "b": 40.0, "c": 40.0}, "1/2") == ("a",)


def case(name: str, target: str) -> Case:
    return Case(name, (), Variant(target), Workload())


def test_all_shards_of_a_discovery_are_the_whole_of_it_and_say_once_what_is_declined() -> None:
    found = Discovery(
        tuple(case(f"b.{target.upper()}{number}", target) for number in range(3) for target in ("one", "two")),
        (("b.Old", "not implemented"), ("b.Older", "not implemented")),
    )
    parts = [in_shard(found, f"{number}/2") for number in (1, 2)]
    assert [{case.variant.target for case in part.cases} for part in parts] == [{"one"}, {"two"}]
    assert sorted(itertools.chain(*(part.skipped for part in parts))) == list(found.skipped)
    assert in_shard(found, "") == found


@given(st.lists(ids, min_size=2, max_size=6, unique=True), st.data())
def test_the_pattern_of_a_shard_finds_its_cases_and_no_other(names: list[str], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(names)))
    pattern = pattern_of(names[:count])
    assert [name for name in names if re.search(pattern, name)] == names[:count]
    assert chosen(names, (), (pattern,)) == tuple(names[:count])


def test_a_pattern_is_to_be_read_by_people_too() -> None:
    assert pattern_of(["http.Hello(5.36, close)"]) == r"^(?:http\.Hello\(5\.36, close\))\Z"


def test_a_case_has_to_be_found_by_the_suite_and_by_the_command_line() -> None:
    names = ["a.One", "a.Two", "b.One"]
    assert chosen(names, (), ()) == tuple(names)
    assert chosen(names, ("^a",), ()) == ("a.One", "a.Two")
    assert chosen(names, ("^a",), ("One",)) == ("a.One",)
    assert chosen(names, ("^a", "^b"), ("One", "Two")) == tuple(names)


def test_a_pattern_that_finds_nothing_says_whose_it_is() -> None:
    with pytest.raises(ConfigError, match=r'^windtunnel\.toml: the suite\'s cases: no case matches "c"'):
        chosen(["a.One", "b.One"], ("c",), ())
    with pytest.raises(ConfigError, match=r'^no case matches "b"'):
        chosen(["a.One", "b.One"], ("^a",), ("b",))
