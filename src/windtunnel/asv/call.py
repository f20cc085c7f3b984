"""What the processes of one asv command know of each other.

asv runs every sample in a process of its own. The plug-in, in asv's main process, puts the facts that belong
together into environment variables; a benchmark process reads them here. The launches of a case are remembered in a
run file per commit and case below the call's folder, so that the `track_*` metrics load nothing twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.adapters.owner import owner_token
from windtunnel.model import Case, Host
from windtunnel.sample.schedule import Sizes

__all__ = ["Call"]

_KEPT = 10
_VARIABLES = {
    "id": "WINDTUNNEL_CALL",
    "folder": "WINDTUNNEL_CALL_FOLDER",
    "owner": "WINDTUNNEL_OWNER",
    "root": "WINDTUNNEL_ROOT",
    "repository": "WINDTUNNEL_REPOSITORY",
    "commit": "WINDTUNNEL_COMMIT",
    "quick": "WINDTUNNEL_QUICK",
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
    """

    id: str
    folder: Path
    owner: str
    root: Path
    repository: str = ""
    commit: str = ""
    quick: bool = False

    @classmethod
    def begin(cls, root: Path, *, quick: bool) -> Call:
        """A new call in this process, with a folder of its own (older calls' folders beyond the last ten go)."""
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        calls = root / ".windtunnel" / "asv"
        with contextlib.suppress(OSError):
            for old in sorted(path for path in calls.iterdir() if path.is_dir())[:-_KEPT]:
                shutil.rmtree(old, ignore_errors=True)
        return cls(name, calls / name, owner_token(), root, quick=quick)

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
        }

    def export(self) -> None:
        """Put them into this process's environment: asv hands it on to every benchmark process."""
        os.environ.update(self.environment())

    def run_file(self, case: Case) -> Path:
        """Where the launches of a case at this call's commit are remembered."""
        return self.folder / (self.commit or "worktree") / f"{_slug(case)}.jsonl"

    # ---------------- what is the same for every commit of the call

    def sizes(self, case: Case) -> Sizes | None:
        """The slice sizes calibrated for a case by an earlier process of the call."""
        found = self._read(f"{_slug(case)}.sizes.json")
        return Sizes(**found) if found else None

    def keep_sizes(self, case: Case, sizes: Sizes) -> None:
        """Remember them: every commit of the call gets the same work."""
        self._write(f"{_slug(case)}.sizes.json", asdict(sizes))

    def host(self) -> Host | None:
        """The machine's facts, if an earlier process of the call has asked for them."""
        found = self._read("host.json")
        if not found:
            return None
        found["siblings"] = tuple(tuple(group) for group in found["siblings"])
        return Host(**{**found, "online": tuple(found["online"])})

    def keep_host(self, host: Host) -> None:
        """Remember the machine's facts."""
        self._write("host.json", asdict(host))

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads((self.folder / name).read_text()))
        except (OSError, ValueError):
            return None

    def _write(self, name: str, content: Mapping[str, object]) -> None:
        """All or nothing: another process may read it at any time. It only saves time, so a full disk is no error."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f".{name}.{os.getpid()}"
            draft.write_text(json.dumps(content))
            draft.replace(self.folder / name)


def _slug(case: Case) -> str:
    digest = hashlib.sha256(case.id.encode()).hexdigest()[:12]
    return f"{case.benchmark}-{digest}"
