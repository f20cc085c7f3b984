"""The campaign's repository, its run files, and its table."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchlib import campaign
from benchlib.bursts import bursts
from benchlib.campaign import KINDS
from benchlib.plants import CASES, Calibration, branches, keep, known
from benchlib.runs import kept_run, pack, results, runs_table
from benchlib.scratch import Branch, make_repository
from benchlib.tables import bounds, place, share
from hypothesis import given
from hypothesis import strategies as st
from made_noise import made_run, made_sitting
from scipy.stats import binomtest

from commands import processes_naming, run, wait_until
from windtunnel.compare.verdict import compare
from windtunnel.errors import ConfigError, EngineError
from windtunnel.sample.runfile import RunWriter

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "campaign"
MEASURED = Calibration(1000, 1.30, 1.29, 1.31, 90e-6, 20, "2026-01-01T00:00:00Z", "made up")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


class TestRepository:
    """Commits with a planted cost."""

    def made(self, folder: Path, **branches: Branch) -> Path:
        return make_repository(folder / "scratch", branches)

    def test_a_branch_differs_by_what_is_planted(self, tmp_path: Path) -> None:
        folder = self.made(tmp_path, slow=Branch({"starlet": 70, "waitress": 80}, {"starlet": 0.001}))
        changed = [line for line in git(folder, "diff", "--unified=0", "main", "slow").splitlines() if line[0] == "+"]
        assert [line for line in changed if "=" in line] == [
            "+my $rounds = 70;",
            "+my $wait   = 0.001;",
            "+ROUNDS = 80",
        ]

    def test_the_planted_sources_run(self, tmp_path: Path) -> None:
        folder = self.made(tmp_path, slow=Branch({"waitress": 3}, {"waitress": 0.001}, comment="new"))
        git(folder, "checkout", "--quiet", "slow")
        code = "import plant; plant.grow(); print(plant.ROUNDS, plant.WAIT, plant._asked)"
        done = run("python3", "-c", code, PYTHONPATH=str(folder / "targets/waitress"))
        assert done.stdout.split() == ["3", "0.001", "1"], done.stderr

    def test_a_comment_alone_makes_another_commit(self, tmp_path: Path) -> None:
        folder = self.made(tmp_path, same=Branch({}, {}, comment="This line alone is new."))
        lines = [line for line in git(folder, "diff", "main", "same").splitlines() if line[0] in "+-"]
        assert [line for line in lines if line[:3] not in {"+++", "---"}] == ["+# This line alone is new."] * 2

    def test_the_same_content_has_the_same_commits(self, tmp_path: Path) -> None:
        plant = Branch({"starlet": 7}, {})
        first = git(self.made(tmp_path, slow=plant), "rev-parse", "main", "slow")
        assert git(self.made(tmp_path, slow=plant), "rev-parse", "main", "slow") == first
        assert len(set(first.split())) == 2

    def test_a_folder_of_somebody_else_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "scratch").mkdir()
        (tmp_path / "scratch" / "thesis.txt").write_text("years of work")
        with pytest.raises(ConfigError, match="--scratch"):
            self.made(tmp_path)
        assert (tmp_path / "scratch" / "thesis.txt").exists()


class TestPlants:
    """What a planted cost takes."""

    def test_rounds_go_with_the_share(self) -> None:
        assert [MEASURED.rounds_for(share) for share in (0.03, 0.10, 0.30)] == [100, 333, 1000]

    def test_what_was_measured_is_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "plants.json"
        for target in CASES:
            keep(target, replace(MEASURED, rounds=len(target)), path)
        assert known(path) == {target: replace(MEASURED, rounds=len(target)) for target in CASES}
        assert {kind.branch for kind in KINDS.values()} == branches(path).keys()

    def test_nothing_is_planted_that_was_not_measured(self, tmp_path: Path) -> None:
        keep("starlet", MEASURED, tmp_path / "plants.json")
        with pytest.raises(ConfigError, match=r"in waitress; measure it: bench/campaign --calibrate waitress$"):
            branches(tmp_path / "plants.json")


class TestRuns:
    """Run files that are kept."""

    def packed(self, folder: Path, name: str, effect: float) -> Path:
        found = made_run(made_sitting(24, name, effect))
        busy = [
            replace(one, slices=tuple(replace(part, latency={7: 800}) for part in one.slices))
            for one in found.launches
        ]
        writer = RunWriter(folder / "run.jsonl")
        writer.header(found.header)
        for launch in busy:
            writer.launch(launch)
        writer.end(exit=0)
        writer.close()
        pack(folder / "run.jsonl", folder / "kept" / f"{name}.jsonl.xz")
        (folder / "run.jsonl").unlink()
        return folder / "kept" / f"{name}.jsonl.xz"

    def test_verdicts_stay_and_paths_and_histograms_go(self, tmp_path: Path) -> None:
        kept = kept_run(self.packed(tmp_path, "cpu3-01", 0.05))
        (before,), (after,) = compare(made_run(made_sitting(24, "cpu3-01", 0.05))).cases, compare(kept).cases
        assert (after.verdict, after.metrics["cpu_per_request"].effect) == (
            before.verdict,
            before.metrics["cpu_per_request"].effect,
        )
        assert kept.complete
        assert kept.header.command == ("windtunnel", "compare", "--output", "run.jsonl")
        assert not any(part.latency for launch in kept.launches for part in launch.slices)

    def test_the_table_counts_what_was_found_and_what_was_false(self, tmp_path: Path) -> None:
        for name, effect in {"cpu3-01": 0.06, "cpu3-02": 0.0, "aa-starlet-01": 0.0, "aa-starlet-02": 0.06}.items():
            self.packed(tmp_path, name, effect)
        table = runs_table(results(tmp_path / "kept"), {"aa-starlet": "", "cpu3": "cpu_per_request", "wait": "x"})
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
        assert [row[:4] for row in rows] == [
            ["aa-starlet", "servers.Made", "2", "1"],
            ["cpu3", "servers.Made", "2", "1"],
        ]
        assert rows[0][8].startswith("false 50.0 (1.3–98.7)")
        assert rows[1][8].startswith("found 50.0 (1.3–98.7)")
        assert rows[0][11:] == ["60.0", "24.0"]

    def test_the_script_reports_without_measuring(self, tmp_path: Path) -> None:
        self.packed(tmp_path, "cpu3-01", 0.06)
        done = run(SCRIPT, "--report", "--folder", tmp_path / "kept")
        assert done.returncode == 0, done.stderr
        assert "| cpu3 | servers.Made | 1 | 1 | 0 |" in done.stdout

    def test_what_is_there_is_not_measured_again(self, tmp_path: Path) -> None:
        """Nothing is missing here: neither a repository nor an engine is asked for."""
        self.packed(tmp_path, "cpu3-01", 0.06)
        done = run(SCRIPT, "cpu3", "--runs", "1", "--folder", tmp_path / "kept", "--scratch", tmp_path / "scratch")
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "scratch").exists()

    def test_a_campaign_begins_with_the_calibration(self, tmp_path: Path) -> None:
        done = run(
            SCRIPT, "--folder", tmp_path, "--plants", tmp_path / "none.json", "--scratch", tmp_path / "scratch"
        )
        assert done.returncode == 2
        assert "--calibrate starlet --calibrate waitress" in done.stderr

    def test_an_unknown_kind(self, tmp_path: Path) -> None:
        done = run(SCRIPT, "cpu33", "--folder", tmp_path)
        assert done.returncode == 2
        assert "cpu33 is no kind of comparison; there are aa-starlet" in done.stderr


class TestFailures:
    """Comparisons that do not come to their end: which, and how many, is made up; no engine is asked."""

    def measured(self, folder: Path, monkeypatch: pytest.MonkeyPatch, broken: set[str]) -> list[str]:
        tried: list[str] = []

        def compared(_repository: Path, plain: Path, *_asked: str) -> None:
            tried.append(plain.stem)
            if plain.stem in broken:
                raise EngineError("the engine is away")
            plain.parent.mkdir(exist_ok=True)
            writer = RunWriter(plain)
            found = made_run(made_sitting(4))
            writer.header(found.header)
            for launch in found.launches:
                writer.launch(launch)
            writer.close()

        monkeypatch.setattr(campaign, "_compare", compared)
        for target in CASES:
            keep(target, MEASURED, folder / "plants.json")
        places = ["--folder", folder / "kept", "--scratch", folder / "scratch", "--plants", folder / "plants.json"]
        options = campaign._parser().parse_args(["aa-starlet", "wait", "--runs", "3", *map(str, places)])
        try:
            campaign._measure(options)
        except EngineError as error:
            tried.append(str(error))
        return tried

    def test_kinds_take_turns(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.measured(tmp_path, monkeypatch, set()) == [
            f"{kind}-0{number}" for number in (1, 2, 3) for kind in ("aa-starlet", "wait")
        ]

    def test_the_others_go_on_and_the_end_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tried = self.measured(tmp_path, monkeypatch, {"wait-01"})
        assert len(tried) == 7
        assert tried[-1].startswith("comparisons that did not come to their end: 1; call this again")
        assert self.measured(tmp_path, monkeypatch, set()) == ["wait-01"]

    def test_what_fails_again_and_again_ends_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tried = self.measured(tmp_path, monkeypatch, {f"wait-0{number}" for number in (1, 2, 3)})
        assert tried[-2:] == ["wait-03", "the engine is away"]


class TestTables:
    """Shares and their bounds."""

    @given(st.integers(1, 400), st.data())
    def test_bounds_are_exact(self, of: int, data: st.DataObject) -> None:
        hits = data.draw(st.integers(0, of))
        expected = binomtest(hits, of).proportion_ci(0.95, "exact")
        assert bounds(hits, of) == pytest.approx((expected.low, expected.high), abs=1e-9)

    def test_a_share_of_nothing_is_not_known(self) -> None:
        assert share(0, 0) == "n/a"
        assert share(0, 3000) == "0.00 (0.00–0.12)"

    def test_a_page_without_a_place_is_refused(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text("# Page\n")
        with pytest.raises(ConfigError, match="has no place for campaign"):
            place(page, "campaign", "| |")
        assert page.read_text() == "# Page\n"


def burners(parent: int) -> list[int]:
    """The processes of other work that one process has started."""
    return [pid for pid, line in processes_naming("bursts.py").items() if line.split()[2:3] == [str(parent)]]


def test_other_work_ends_with_what_it_was_for() -> None:
    with bursts(1):
        wait_until(lambda: len(burners(os.getpid())) == 1)
    assert burners(os.getpid()) == []


def test_other_work_does_not_outlive_a_parent_that_is_killed() -> None:
    code = "import time\nfrom benchlib.bursts import bursts\nwith bursts(1): time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SCRIPT.parent)}
    ) as parent:
        wait_until(lambda: burners(parent.pid))
        parent.kill()
    wait_until(lambda: not burners(parent.pid))
