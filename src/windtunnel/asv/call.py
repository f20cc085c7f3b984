"""What the processes of one asv command know of each other.

asv runs every sample in a process of its own. The plug-in, in asv's main process, puts the facts that belong
together into environment variables; a benchmark process reads them here. What is to be remembered of a commit or a
case (launches, failed builds, slice sizes) lies in files below the call's folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.model import Case, Host
from windtunnel.sample.schedule import Sizes

__all__ = ["REPLAY", "Call", "read_json", "replayed", "write_json"]

REPLAY = "WINDTUNNEL_REPLAY"
"""The variable that makes asv take its launches from a comparison's run file, instead of making them."""

_KEPT = 10
_VARIABLES = {
    "id": "WINDTUNNEL_CALL",
    "folder": "WINDTUNNEL_CALL_FOLDER",
    "owner": "WINDTUNNEL_OWNER",
    "root": "WINDTUNNEL_ROOT",
    "repository": "WINDTUNNEL_REPOSITORY",
    "commit": "WINDTUNNEL_COMMIT",
    "quick": "WINDTUNNEL_QUICK",
    "rounds": "WINDTUNNEL_ROUNDS",
    "named": "WINDTUNNEL_NAMED",
    "replay": REPLAY,
}


@dataclass(frozen=True)
class Call:
    """One asv command.

    Attributes:
        id: the value of the label `windtunnel` on all its containers.
        folder: where its processes remember launches.
        owner: the token of the process that answers for its containers.
        root: the suite's folder (that of asv.conf.json).
        repository: the git repository asv reads commits from, or "" for the suite's own.
        commit: the full hash under measurement, or "" for the working tree.
        quick: whether asv was called with --quick: one launch, one slice.
        rounds: what asv was told with `-a rounds=...`, or 0 where every benchmark has its own number.
        named: whether asv was told which benchmarks to run; nightly ones run only then.
        replay: the comparison's run file that all launches are taken from, so that none is made; or None.
    """

    id: str
    folder: Path
    owner: str
    root: Path
    repository: str = ""
    commit: str = ""
    quick: bool = False
    rounds: int = 0
    named: bool = False
    replay: Path | None = None

    @classmethod
    def begin(
        cls, root: Path, *, quick: bool = False, rounds: int = 0, named: bool = False, replay: Path | None = None
    ) -> Call:
        """A new call in this process, with a folder of its own (older calls' folders beyond the last ten go)."""
        name = new_id()
        calls = root / ".windtunnel" / "asv"
        with contextlib.suppress(OSError):
            for old in sorted(path for path in calls.iterdir() if path.is_dir())[:-_KEPT]:
                shutil.rmtree(old, ignore_errors=True)
        return cls(name, calls / name, owner_token(), root, quick=quick, rounds=rounds, named=named, replay=replay)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Call | None:
        """The call this process belongs to, or None when asv's plug-in did not start it."""
        if not environment.get(_VARIABLES["id"]):
            return None
        return cls(
            id=environment[_VARIABLES["id"]],
            folder=Path(environment[_VARIABLES["folder"]]),
            owner=environment[_VARIABLES["owner"]],
            root=Path(environment[_VARIABLES["root"]]),
            repository=environment.get(_VARIABLES["repository"], ""),
            commit=environment.get(_VARIABLES["commit"], ""),
            quick=environment.get(_VARIABLES["quick"]) == "1",
            rounds=int(environment.get(_VARIABLES["rounds"]) or 0),
            named=environment.get(_VARIABLES["named"]) == "1",
            replay=replayed(environment),
        )

    def environment(self) -> dict[str, str]:
        """The variables that hand this call to another process."""
        return {
            _VARIABLES["id"]: self.id,
            _VARIABLES["folder"]: str(self.folder),
            _VARIABLES["owner"]: self.owner,
            _VARIABLES["root"]: str(self.root),
            _VARIABLES["repository"]: self.repository,
            _VARIABLES["commit"]: self.commit,
            _VARIABLES["quick"]: "1" if self.quick else "",
            _VARIABLES["rounds"]: str(self.rounds or ""),
            _VARIABLES["named"]: "1" if self.named else "",
            REPLAY: str(self.replay or ""),
        }

    def export(self) -> None:
        """Put them into this process's environment: asv hands it on to every benchmark process."""
        os.environ.update(self.environment())

    @property
    def arm(self) -> str:
        """What messages and run files call the side under measurement."""
        return self.commit[:8] or "worktree"

    def run_file(self, case: Case) -> Path:
        """Where the launches of a case at this call's commit are kept, whole."""
        return self.case_file(case, "jsonl")

    def case_file(self, case: Case, ending: str) -> Path:
        """A file of the call about a case at this call's commit."""
        return self.folder / (self.commit or "worktree") / f"{_slug(case)}.{ending}"

    # ---------------- what is the same for every commit of the call

    def sizes(self, case: Case) -> Sizes | None:
        """The slice sizes calibrated for a case by an earlier process of the call."""
        found = read_json(self.folder / f"{_slug(case)}.sizes.json")
        return Sizes(**found) if found else None

    def keep_sizes(self, case: Case, sizes: Sizes) -> None:
        """Remember them: every commit of the call gets the same work."""
        write_json(self.folder / f"{_slug(case)}.sizes.json", asdict(sizes))

    def host(self) -> Host | None:
        """The machine's facts, if an earlier process of the call has asked for them."""
        found = read_json(self.folder / "host.json")
        if not found:
            return None
        found["siblings"] = tuple(tuple(group) for group in found["siblings"])
        return Host(**{**found, "online": tuple(found["online"])})

    def keep_host(self, host: Host) -> None:
        """Remember the machine's facts."""
        write_json(self.folder / "host.json", asdict(host))


def replayed(environment: Mapping[str, str]) -> Path | None:
    """The run file that asv is told to take its launches from, or None."""
    named = environment.get(REPLAY)
    return Path(named) if named else None


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file of the call, or None where there is none."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return None


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """All or nothing: another process may read it at any time. It only saves time, so a full disk is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(content))
        draft.replace(path)


def _slug(case: Case) -> str:
    digest = hashlib.sha256(case.id.encode()).hexdigest()[:12]
    return f"{case.benchmark}-{digest}"
