"""A push to main, from its commit to the commit on the results branch that has everything of it."""

from __future__ import annotations

import lzma
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.results import ResultsBranch, layout_of, restore_calibration
from windtunnel.cli.action.mainline import base_of, check_whole, first_parents
from windtunnel.cli.comparing import Request, compare_revisions
from windtunnel.cli.record import record
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import Comparison, compare
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError, StorageError
from windtunnel.publish.accepted import Accepted, accepted_document
from windtunnel.publish.merging import merged_benchmarks, merged_results
from windtunnel.publish.results import Added, Addition, Layout, TryAgain, Written, add, serves
from windtunnel.report.comparison_words import headline
from windtunnel.report.visible import visible
from windtunnel.sample.decode import FILE_BYTES
from windtunnel.sample.runfile import Run, read_run

__all__ = ["Measured", "Recording", "Wanted"]

_BENCHMARKS, _MACHINE = "benchmarks.json", "machine.json"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What is to be recorded, and how long measuring may take.

    Attributes:
        head: full hash.
        suite: of windtunnel.toml, or "".
        budget: seconds of machine time, or None for the suite's.
        run_file: where everything measured goes.
    """

    head: str
    suite: str
    budget: float | None
    run_file: Path


@dataclass(frozen=True)
class Measured:
    """What was measured, and what came in since the last time: `commits` from head backwards, without base."""

    run: Run
    comparison: Comparison
    commits: tuple[str, ...]

    @property
    def regressions(self) -> tuple[str, ...]:
        """The ids of the cases that got slower."""
        return tuple(one.case.id for one in self.comparison.having(Verdict.REGRESSION))


@dataclass
class Recording:
    """One call of `windtunnel action record`.

    Attributes:
        suite: what is measured.
        branch: where it is recorded.
        wanted: the commit, and the choice of cases.
        tell: for whoever watches.
        layout: where on the branch.
        idle: why nothing is measured, once `measure` has found that.
    """

    suite: Suite
    branch: ResultsBranch
    wanted: Wanted
    tell: Tell
    layout: Layout = field(init=False)
    idle: str = ""

    def __post_init__(self) -> None:
        self.layout = layout_of(self.suite.root)

    # ---------------- measuring

    def measure(self) -> Measured | None:
        """Compare head with what was recorded last; None where nothing is to be done, see `idle`.

        Raises what `compare_revisions` raises; ConfigError where the clone lacks the history.
        """
        head, known = self.wanted.head, self.layout.recorded(self.branch.paths(), self.wanted.suite)
        if head in known:
            self._rest(f"{head[:12]} is recorded already; nothing is measured.")
            return None
        line = first_parents(self.suite.repository, head)
        base = base_of(line, known, lambda commit: self._serves(commit, known[commit]))
        if base not in known:
            check_whole(self.suite.repository, head)
        if not base:
            self._rest(f"{head[:12]} is the first commit of the history; the next one is compared with it.")
            return None
        if restore_calibration(self.suite.root, git.top(self.suite.root), self.suite.settings):
            self.tell(f"how launches are best loaded is known from {self.branch.name}")
        self.tell(f"{head[:12]} is compared with {base[:12]}, {'recorded last' if base in known else 'its parent'}")
        run = read_run(self._compared(base))
        return Measured(run, compare(run), (head, *line[: line.index(base)]))

    def _rest(self, why: str) -> None:
        self.tell(why)
        self.idle = why

    def _serves(self, commit: str, path: str) -> bool:
        """A commit that does not build or serve is no base: everything after it would fail."""
        packed = self.branch.read(path) or b""
        try:
            with tempfile.TemporaryDirectory() as folder:
                unpacked = Path(folder) / "run.jsonl"
                unpacked.write_bytes(lzma.LZMADecompressor().decompress(packed, max_length=FILE_BYTES))
                return serves(read_run(unpacked))
        except (lzma.LZMAError, EOFError, ConfigError) as error:
            self.tell(f"{self.branch.name}: {path} can't be read, so {commit[:12]} is no base: {error}")
            return False

    def _compared(self, base: str) -> Path:
        """The run file. One that an earlier call has left, which could not be pushed, is not measured again."""
        path, wanted = self.wanted.run_file, self.wanted
        begun = read_run(path) if path.is_file() and path.stat().st_size else None
        if begun is not None and _commits(begun) != (base, wanted.head):
            raise ConfigError("is of other commits; name another folder with --output", file=path)
        if begun is not None and begun.complete:
            self.tell(f"{path} has this comparison already")
            return path
        if begun is not None:
            return compare_revisions(Request(self.suite.root, resume=path))
        return compare_revisions(
            Request(
                self.suite.root,
                base=base,
                head=wanted.head,
                suite=wanted.suite,
                budget=wanted.budget,
                output=path,
            )
        )

    # ---------------- recording

    def lay(self) -> None:
        """Put all that asv has recorded by now, also elsewhere, to where this suite's asv looks for it."""
        with suppress(TryAgain):
            self.branch.fetch()
        self.branch.lay(self.layout.asv, self.suite.results_dir)

    def lay_history(self, folder: Path) -> int:
        """Put all that a site is made of into a folder, as the branch had it last; returns how many files."""
        top = self.layout.top
        return sum(self.branch.lay(f"{top}{name}", folder / name) for name in ("asv", "runs", "accepted"))

    def record(self, measured: Measured, accepted: tuple[Accepted, ...] = ()) -> Added:
        """Let asv record what was measured, and add everything to the branch in one commit.

        Raises WindtunnelError where asv fails, StorageError where the branch can't be written.
        """
        head = self.wanted.head
        with suppress(TryAgain):
            self.branch.fetch()  # measuring took its time
        self._lay_own()
        record(self.wanted.run_file, self.suite, self.tell)
        year = git.describe(self.suite.repository, head).date.year
        key = self.layout.run(head, year, self.wanted.suite)
        acceptances = [
            Written(
                self.layout.accepted(one.commit),
                accepted_document(one, measured.regressions if one.commit == head else ()),
            )
            for one in accepted
        ]
        packed = Written(key, lzma.compress(self.wanted.run_file.read_bytes()))
        files = (*self._asv_files(), packed, *acceptances)
        return add(self.branch, Addition(files, self._message(measured), key))

    def _lay_own(self) -> None:
        """What asv adds this commit's results to: its list of benchmarks, and what it has of the commit already."""
        pattern = f"/{self.wanted.head[:8]}-"
        for path in self.branch.paths():
            name = path.removeprefix(f"{self.layout.asv}/")
            if name != path and (name == _BENCHMARKS or pattern in name):
                file = self.suite.results_dir / name
                try:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(self.branch.read(path) or b"")
                except OSError as error:
                    raise StorageError(f"cannot write {file}: {error.strerror}; make room") from error

    def _asv_files(self) -> list[Written]:
        """asv's files that recording this commit has written, or would have."""
        folder = self.suite.results_dir
        own = sorted(folder.glob(f"*/{self.wanted.head[:8]}-*.json"))
        if not own:
            return []  # nothing of head is known: its images are those of base
        machines = [path.with_name(_MACHINE) for path in own]
        found = [path for path in dict.fromkeys([folder / _BENCHMARKS, *machines, *own]) if path.is_file()]
        return [self._asv_file(path.relative_to(folder).as_posix(), path.read_bytes()) for path in found]

    def _asv_file(self, name: str, content: bytes) -> Written:
        path = f"{self.layout.asv}/{name}"
        if name.endswith(f"/{_MACHINE}"):
            return Written(path, content)
        merge = merged_benchmarks if name == _BENCHMARKS else merged_results
        return Written(path, content, self.branch.read(path), merge)

    def _message(self, measured: Measured) -> str:
        info = git.describe(self.suite.repository, self.wanted.head)
        said = visible(headline(measured.run, measured.comparison), 100)
        suite = f" ({visible(self.wanted.suite, 40)})" if self.wanted.suite else ""
        return f"Record {info.short}{suite}: {said}\n\nhead {info.hash}\nbase {_commits(measured.run)[0]}\n"


def _commits(run: Run) -> tuple[str, str]:
    """Base and head of a comparison."""
    found: Mapping[str, str] = {arm.name: arm.commit for arm in run.header.arms}
    return found.get("base", ""), found.get("head", "")
