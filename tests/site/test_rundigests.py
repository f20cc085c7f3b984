"""Run files as digests: worked out once, kept by content, and strict with strangers."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from example_history import commits
from example_runs_on_disk import between, write

from example_comparisons import KEEPALIVE, RUNS, Measured, Sides, judged
from windtunnel.compare.rule import JUDGED
from windtunnel.errors import ConfigError
from windtunnel.load.histogram import bounds, merge, quantile
from windtunnel.sample.runfile import Run, read_run
from windtunnel.site import rundigests
from windtunnel.site.rundigest import BUCKETS, digest
from windtunnel.site.rundigests import cache_in, digest_of, unpacked

HASHES = [commit.hash for commit in commits(3)]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    """A folder that digests are kept in."""
    cache_in(tmp_path / "kept")
    yield tmp_path / "kept"
    cache_in(None)


@pytest.fixture
def run() -> Run:
    return between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, Sides(cpu=1.05), pairs=8)])


def _forget() -> None:
    rundigests._known.cache_clear()


def test_packed_or_not_it_is_the_same(tmp_path: Path, run: Run) -> None:
    plain, packed = write(run, tmp_path / "a.jsonl"), write(run, tmp_path / "b.jsonl.xz")
    assert digest_of(plain) == digest_of(packed) == digest(read_run(plain))
    with unpacked(packed) as path:
        assert path.read_bytes() == plain.read_bytes()
    assert not path.exists()


def test_what_is_kept_is_what_was_found_and_serves_without_the_launches(tmp_path: Path, run: Run, kept: Path) -> None:
    path = write(run, tmp_path / "a.jsonl.xz")
    found = digest_of(path)
    (file,) = kept.glob("*.json")
    _forget()
    changed = json.loads(file.read_text())
    changed["headline"] = "from the kept file"
    file.write_text(json.dumps(changed))
    assert digest_of(path) == replace(found, headline="from the kept file")


def test_another_content_is_another_digest(tmp_path: Path, run: Run, kept: Path) -> None:
    path = write(run, tmp_path / "a.jsonl")
    before = digest_of(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert before.complete
    assert not digest_of(path).complete
    assert len(list(kept.glob("*.json"))) == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b'{"id": 3}', b"[" * 5000])
def test_a_kept_file_that_is_none_is_made_anew(tmp_path: Path, run: Run, kept: Path, content: bytes) -> None:
    path = write(run, tmp_path / "a.jsonl")
    found = digest_of(path)
    (file,) = kept.glob("*.json")
    file.write_bytes(content)
    _forget()
    assert digest_of(path) == found
    assert json.loads(file.read_text())["id"] == found.id


def test_many_are_made_ahead_and_what_is_no_run_file_stops_none(
    tmp_path: Path, run: Run, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rundigests, "_WORK_OF_A_BYTE", 1 << 20)  # so much that more processes are worth it
    paths = [
        write(replace(run, launches=run.launches[: 2 * count]), tmp_path / f"{count}.jsonl.xz")
        for count in range(1, 5)
    ]
    broken, gone = tmp_path / "broken.jsonl", tmp_path / "gone.jsonl"
    broken.write_text("no run file\n")
    rundigests.prepare([*paths[:2], broken, gone, *paths[2:]])
    assert len(list(kept.glob("*.json"))) == len(paths)
    monkeypatch.setattr(rundigests, "read_run", lambda _: pytest.fail("was read again"))
    assert [digest_of(path).head for path in paths] == [HASHES[1]] * len(paths)


def test_what_no_site_needs_any_more_is_removed(tmp_path: Path, run: Run, kept: Path) -> None:
    path = write(run, tmp_path / "a.jsonl")
    digest_of(path)
    (file,) = kept.glob("*.json")
    old = kept / "old.json"
    old.write_text("{}")
    os.utime(old, (1.7e9, 1.7e9))
    rundigests.sweep()
    assert list(kept.glob("*.json")) == [file]


def test_a_folder_that_can_not_be_written_costs_time_alone(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").write_text("in the way")
    cache_in(tmp_path / "file" / "kept")
    try:
        assert digest_of(write(run, tmp_path / "a.jsonl")).head == HASHES[1]
    finally:
        cache_in(None)


@pytest.mark.parametrize("name", RUNS)
def test_every_state_survives_being_kept(name: str, tmp_path: Path, kept: Path) -> None:
    path = write(RUNS[name], tmp_path / "a.jsonl")
    found = digest_of(path)
    _forget()
    assert digest_of(path) == found
    # by what is in the file, with the rule it was measured by
    assert {case.id for case in found.cases} == {one.case.id for one in judged(name).cases}


def test_the_figures_are_those_of_the_launches(run: Run) -> None:
    (case,) = digest(run).cases
    arms = {arm.name: arm for arm in case.arms}
    assert list(arms) == ["base", "head"]
    assert all(len(arm.launches[name]) == 8 for arm in arms.values() for name in JUDGED)
    slices = [one for launch in run.launches if launch.arm == "head" for one in launch.slices if one.role == "load"]
    whole = merge(*(one.latency for one in slices))
    coarse = arms["head"].latency
    assert sum(coarse.values()) == sum(whole.values())
    middle = quantile(whole, 0.5)
    seen = 0
    for place in sorted(coarse):
        seen += coarse[place]
        if seen >= sum(coarse.values()) / 2:
            break
    assert bounds(place * BUCKETS)[0] <= middle <= bounds((place + 1) * BUCKETS)[1]


# ---------------- strangers


@pytest.mark.parametrize(
    "content",
    [b"", b"no xz", lzma.compress(b"{}\n"), lzma.compress(b'{"format": "windtunnel-run", "version": 9}\n')],
)
def test_what_is_no_run_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl.xz"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        digest_of(path)


def test_a_half_written_packing_is_refused(tmp_path: Path, run: Run) -> None:
    path = write(run, tmp_path / "x.jsonl.xz")
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(ConfigError, match="unpacked"):
        digest_of(path)


def test_a_line_without_an_end_is_refused_before_the_disk_is_full_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.xz"
    path.write_bytes(lzma.compress(b"0" * (64 << 20), preset=0))
    with pytest.raises(ConfigError, match="more than a run file holds"):
        digest_of(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        digest_of(tmp_path / "gone.jsonl")
