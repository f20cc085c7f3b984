"""Recorded noise is what it was when it is read again."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from benchlib.noise import Sitting, lines_of, noise_of, read_noise, write_noise
from benchlib.planting import Plant, draws_of
from benchlib.record import _Book
from made_noise import CASE, made_run, made_sitting

from windtunnel.errors import ConfigError
from windtunnel.model import LaunchPlan
from windtunnel.sample.runfile import RunWriter
from windtunnel.units import Missing


def effects(sitting: Sitting) -> list[dict[str, float]]:
    return [dict(draw.effects) for draws in draws_of(sitting, Plant()) for draw in draws]


def test_a_sitting_says_the_same_when_it_is_read(tmp_path: Path) -> None:
    before = made_sitting()
    write_noise(tmp_path / "made.jsonl.xz", [before])
    (after,) = read_noise(tmp_path / "made.jsonl.xz")
    assert effects(after) == effects(before)
    assert replace(after, pairs=()) == replace(before, pairs=())
    assert [one.cost for one in after.pairs] == [2.5] * 24


def test_what_was_not_measured_stays_missing(tmp_path: Path) -> None:
    sitting = made_sitting(pairs=1)
    (one,) = sitting.pairs
    blind = replace(
        one.pair.base, slices=tuple(replace(part, cpu=Missing("no cgroup")) for part in one.pair.base.slices)
    )
    write_noise(
        tmp_path / "blind.jsonl.xz", [replace(sitting, pairs=(replace(one, pair=replace(one.pair, base=blind)),))]
    )
    (after,) = read_noise(tmp_path / "blind.jsonl.xz")
    assert all(isinstance(part.cpu, Missing) for part in after.pairs[0].pair.base.slices)
    assert effects(after)[0].keys() == {"time_per_request", "response_time"}


def test_sittings_of_several_cases_stay_apart(tmp_path: Path) -> None:
    write_noise(tmp_path / "two.jsonl.xz", [made_sitting(3, "one"), made_sitting(4, "two")])
    assert [(one.name, len(one.pairs)) for one in read_noise(tmp_path / "two.jsonl.xz")] == [("one", 3), ("two", 4)]


def test_sixty_four_pairs_are_small(tmp_path: Path) -> None:
    write_noise(tmp_path / "made.jsonl.xz", [made_sitting(pairs=64)])
    assert (tmp_path / "made.jsonl.xz").stat().st_size < 30_000


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text("".join(lines_of(made_sitting(pairs=3)))[:-20])
    (found,) = read_noise(path)
    assert [one.pair.number for one in found.pairs] == [1, 2]


@pytest.mark.parametrize("content", [b"", b"no JSON\n", b"{}\n", b'{"format":"windtunnel-noise","version":99}\n'])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"other\.jsonl: is n"):
        read_noise(path)


def test_a_file_that_is_not_compressed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl.xz").write_bytes(b"{}\n")
    with pytest.raises(ConfigError, match="neither recorded noise nor a run file"):
        read_noise(tmp_path / "plain.jsonl.xz")


def test_a_run_file_is_noise_too(tmp_path: Path) -> None:
    sitting = made_sitting(pairs=4)
    run = made_run(sitting)
    writer = RunWriter(tmp_path / "run.jsonl")
    writer.header(run.header)
    writer.sizes(CASE.id, run.sizes[CASE.id])
    for launch in run.launches:
        writer.launch(launch)
    writer.close()
    (found,) = read_noise(tmp_path / "run.jsonl", "loaded")
    assert effects(found) == effects(sitting)
    assert (found.name, found.case, found.conditions) == ("run", CASE.id, "loaded")
    assert noise_of(run, "run", "loaded")[0].pairs[0].cost == 2.5  # of both launches


class TestBook:
    """A noise file while it is written."""

    def opened(self, folder: Path, wanted: int = 4, **changes: object) -> _Book:
        return _Book.opened(folder, replace(made_sitting(), pairs=(), sizes=None, **changes), wanted)  # type: ignore[arg-type]

    def test_goes_on_where_it_was_left(self, tmp_path: Path) -> None:
        pairs = list(made_sitting().pairs)
        book = self.opened(tmp_path)
        book.add(pairs[:2], made_sitting().sizes)
        again = self.opened(tmp_path)  # the first one was killed
        assert again.missing == 2
        again.add(pairs[2:4], again.sitting.sizes)
        again.close()
        assert [path.name for path in tmp_path.iterdir()] == ["made.jsonl.xz"]
        assert self.opened(tmp_path, 6).missing == 2  # more are wanted later
        assert lzma.decompress((tmp_path / "made.jsonl.xz").read_bytes()).count(b'"number"') == 4

    def test_is_not_mixed_with_another_plan(self, tmp_path: Path) -> None:
        write_noise(tmp_path / "made.jsonl.xz", [made_sitting()])
        with pytest.raises(ConfigError, match=r"plan: was recorded with .*take another name"):
            self.opened(tmp_path, plan=LaunchPlan(slices=3))
