"""Change points: asv's levels, both directions, found once."""

from __future__ import annotations

import math
import random
from array import array
from pathlib import Path

import pytest
from asv.step_detect import detect_steps
from hypothesis import given
from hypothesis import strategies as st

from history_store.folders import Folder, plain, row
from windtunnel.history import Index, levels, open_history
from windtunnel.history.changes import Change, Level, changes
from windtunnel.history.nouns import ChangePoint


def series(*stretches: tuple[float, int], noise: float = 0.004, seed: int = 1) -> list[float]:
    """Values around levels."""
    made = random.Random(seed)
    return [level * made.gauss(1, noise) for level, count in stretches for _ in range(count)]


def written(tmp_path: Path, values: list[float | None]) -> Folder:
    folder = plain(tmp_path / "results")
    for number, value in enumerate(values):
        folder.result(number, {"m.time_it": row([value])})
    return folder


def opened(folder: Folder, tmp_path: Path) -> Index:
    return open_history([folder.path], tmp_path / "index.sqlite")


def test_both_directions_with_the_commits_around(tmp_path: Path) -> None:
    values: list[float | None] = [*series((1.0, 20), (1.2, 15), (0.8, 15))]
    values[19] = None  # a failure is no value: the last commit before the change that has one is 18
    history = opened(written(tmp_path, values), tmp_path)
    slower, faster = history.change_points("m.time_it")
    assert (slower.previous, slower.position) == (18, 20)
    assert (faster.previous, faster.position) == (34, 35)
    assert slower.ratio == pytest.approx(1.2, rel=0.01)
    assert faster.ratio == pytest.approx(2 / 3, rel=0.01)
    assert slower.key == history.series("m.time_it")[0].key


@pytest.mark.parametrize("values", [[], [1.0], [1.0, None], series((1.0, 30)), [0.0] * 9, [None] * 5])
def test_without_a_change_there_is_none(tmp_path: Path, values: list[float | None]) -> None:
    assert opened(written(tmp_path, values), tmp_path).change_points("m.time_it") == ()


def test_zero_and_negative_values_are_values(tmp_path: Path) -> None:
    history = opened(written(tmp_path, [0.0] * 10 + [1.0] * 10 + [-1.0] * 10), tmp_path)
    found = [(one.position, one.before, one.after) for one in history.change_points("m.time_it")]
    assert found == [(10, 0.0, 1.0), (20, 1.0, -1.0)]


@given(st.lists(st.floats(0.9, 2.0) | st.just(math.nan), max_size=40), st.booleans())
def test_levels_are_those_of_asv(values: list[float], weighted: bool) -> None:
    """Except where no change can be: there none are looked for."""
    width = [0.01 * (1 + number % 3) if weighted else math.nan for number in range(len(values))]
    low = array("d", [value - one for value, one in zip(values, width, strict=True)])
    high = array("d", [value + one for value, one in zip(values, width, strict=True)])
    found = levels.detect(array("d", values), low, high)
    weights = [2 / (b - a) if b > a else None for a, b in zip(low, high, strict=True)]
    expected = detect_steps(values, weights)
    points = [Level(left, right, level, error) for left, right, level, _, error in expected]
    assert found == [[left, right, level, error] for left, right, level, _, error in expected] or (
        found == [] and changes(points) == ()
    )


def test_it_is_found_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time nothing is looked for: with a detection that can't work the points are still there."""
    folder = written(tmp_path, [*series((1.0, 20), (1.5, 20))]).define("m.time_other")
    before = opened(folder, tmp_path).change_points("m.time_it")
    assert len(before) == 1

    def broken(*_: object) -> list[list[float]]:
        raise AssertionError("looked for again")

    monkeypatch.setattr(levels, "detect", broken)
    history = opened(folder, tmp_path)
    assert history.change_points("m.time_it") == before
    folder.result(50, {"m.time_other": row([1.0])})  # another series, and a new commit
    history.update()
    folder.result(0, {"m.time_it": row([3.0])})
    history.update()
    with pytest.raises(AssertionError):
        history.change_points("m.time_it")


def test_a_commit_in_between_moves_the_points(tmp_path: Path) -> None:
    folder = written(tmp_path, [*series((1.0, 20), (1.5, 20))]).define("m.time_other")
    history = opened(folder, tmp_path)
    (before,) = history.change_points("m.time_it")
    folder.result(3, {"m.time_other": row([1.0])}, commit_hash="f" * 40, environment="other")
    history.update()
    (after,) = history.change_points("m.time_it")
    assert after == ChangePoint(before.key, before.position + 1, before.previous + 1, before.before, before.after)


# ---------------- which steps count


def steps(*found: tuple[float, int], error: float = 0.0) -> list[Level]:
    left, made = 0, []
    for value, count in found:
        made.append(Level(left, left + count, value, error))
        left += count
    return made


def test_a_step_counts_from_five_percent_on_up_and_down_alike() -> None:
    assert changes(steps((1.0, 5), (1.049, 5))) == ()
    assert changes(steps((1.049, 5), (1.0, 5))) == ()
    assert changes(steps((1.0, 5), (1.051, 5))) == (Change(5, 4, 1.0, 1.051),)
    assert changes(steps((1.051, 5), (1.0, 5))) == (Change(5, 4, 1.051, 1.0),)


def test_a_step_within_the_noise_does_not_count() -> None:
    assert changes(steps((1.0, 5), (1.2, 5), error=0.25)) == ()


def test_small_steps_add_up() -> None:
    assert changes(steps((1.0, 5), (1.03, 5), (1.06, 5))) == (Change(10, 9, 1.0, 1.06),)


def test_one_value_that_stands_out_is_none_unless_it_is_the_last_or_all_stays_different() -> None:
    assert changes(steps((1.0, 5), (2.0, 1), (1.01, 5))) == ()
    assert [one.index for one in changes(steps((1.0, 5), (2.0, 2), (1.0, 5)))] == [5, 7]
    assert [one.index for one in changes(steps((1.0, 5), (2.0, 1)))] == [5]
    assert [one.index for one in changes(steps((1.0, 5), (2.0, 1), (3.0, 5)))] == [5, 6]


@given(st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(2, 5)), max_size=2))
def test_backwards_it_is_the_same_the_other_way_round(found: list[tuple[float, int]]) -> None:
    total = sum(count for _, count in found)
    there = changes(steps(*found))
    back = changes(steps(*reversed(found)))
    assert [(total - one.index, one.after, one.before) for one in back] == [
        (one.index, one.before, one.after) for one in there
    ]
