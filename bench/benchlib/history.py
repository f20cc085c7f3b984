"""The history store against `asv publish`: the same values, and how long either takes.

Everything is measured in one run on one machine, so what counts are the ratios; `bench/history --help` tells more.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlib.asvgraphs import agreement, publish, results_by_commit, same_order
from windtunnel.history import Index, open_history

__all__ = ["main"]

_COMMITS = 5
_PARTS = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class _Setting:
    """What is measured with: results, the project's repository, a scratch folder."""

    results: Path
    repository: Path
    branch: str
    scratch: Path

    def opened(self, results: Path, name: str) -> Index:
        return open_history([results], self.scratch / f"{name}.sqlite", self.repository, tell=print)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where values differ from those of asv or none could be compared; times are told, not judged."""
    chosen = _options().parse_args(arguments)
    if chosen.results is None or chosen.repository is None:
        sys.exit("name the results and the repository: --results, --repository or the variables, see --help")
    with tempfile.TemporaryDirectory(prefix="windtunnel-bench-") as scratch:
        return _measure(_Setting(chosen.results, chosen.repository, chosen.branch, Path(scratch)))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/history", description=__doc__)
    for name, what in (("results", "asv's results folder"), ("repository", "the project's git repository")):
        variable = f"WINDTUNNEL_BENCH_{name.upper()}"
        default = os.environ.get(variable)
        parser.add_argument(
            f"--{name}", type=Path, default=default and Path(default), help=f"{what}; default: ${variable}"
        )
    parser.add_argument("--branch", default="main", help="which branch asv is to publish")
    return parser


def _measure(setting: _Setting) -> int:
    asv = publish(setting.results, setting.repository, setting.scratch / "asv", setting.branch)
    print(f"asv publish                 {asv:9.3f} s")
    history = setting.opened(setting.results, "whole")
    _tell("read into a new index", _timed(history.update), asv)
    _tell("nothing has changed", _timed(history.update), asv)
    _tell("all series", _timed(lambda: [history.series(one.name) for one in history.benchmarks()]), asv)
    _tell("all change points, first", _timed(lambda: history.change_points("")), asv)
    again = setting.opened(setting.results, "whole")
    _tell("open again, all points", _timed(lambda: again.change_points("")), asv)
    newest = [one.hash for one in history.commits()[-_COMMITS:]]
    _tell("add the newest commit", statistics.median(_added(setting, newest)), asv)
    _linear(setting)
    found = agreement(history, setting.scratch / "asv" / "html")
    print(f"{found.series} series compared with asv's graphs: {found.values} values are the same")
    for line in found.differences:
        print(f"  {line}")
    ordered = same_order(history, setting.scratch / "asv" / "html")
    print(f"commits are {'' if ordered else 'not '}in asv's order")
    return int(bool(found.differences) or not found.series or not ordered)


def _tell(what: str, seconds: float, asv: float) -> None:
    print(f"{what:27} {seconds:9.3f} s   asv takes {asv / seconds:10,.1f} times as long")


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _added(setting: _Setting, commits: Sequence[str]) -> list[float]:
    """Seconds to add the results of each of these commits to an index that has those of all earlier ones."""
    folder = setting.scratch / "one-more"
    shutil.copytree(setting.results, folder)
    files = dict(results_by_commit(folder))
    held = [[(path, path.read_bytes()) for path in files[commit[:8]]] for commit in commits]
    for path, _ in itertools.chain(*held):
        path.unlink()
    history = setting.opened(folder, "one-more")
    history.update()
    seconds = []
    for group in held:
        for path, content in group:
            path.write_bytes(content)
        seconds.append(_timed(history.update))
    return seconds


def _linear(setting: _Setting) -> None:
    """Seconds for a quarter, half and all of the files."""
    files = [path for _, paths in results_by_commit(setting.results) for path in paths]
    for part in _PARTS:
        folder = setting.scratch / f"part-{part}"
        chosen = files[: round(len(files) * part)]
        _copy(setting.results, chosen, folder)
        history = setting.opened(folder, f"part-{part}")
        seconds = _timed(history.update)
        print(
            f"{len(chosen):6} files of results      {seconds:9.3f} s   {seconds / len(chosen) * 1e3:6.2f} ms a file"
        )


def _copy(results: Path, files: Sequence[Path], folder: Path) -> None:
    shutil.copytree(results, folder, ignore=lambda _, names: [one for one in names if one.endswith(".json")])
    for path in [results / "benchmarks.json", *results.glob("*/machine.json"), *files]:
        shutil.copy2(path, folder / path.relative_to(results))


if __name__ == "__main__":
    sys.exit(main())
