"""asv's environment plug-in: ``"environment_type": "container"``, ``"plugins": [".windtunnel.asv.environment"]``.

asv checks nothing out and creates no virtualenv: benchmarks run in the Python that runs asv, and a commit is
"installed" when the images of the selected cases are built from it. asv loads this module in its main process, for
every command; only the commands that measure start anything.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import logging
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asv import commands, util
from asv.console import log
from asv.environment import Environment

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.watchdog import start_watchdog
from windtunnel.asv.call import Call, read_json, replayed, write_json
from windtunnel.asv.machine import introduce_machine
from windtunnel.asv.processes import end_processes, sweep, unfinished
from windtunnel.errors import WindtunnelError

__all__ = ["ContainerEnvironment"]

_MEASURING = frozenset(("Run", "Continuous", "Find", "Profile"))
_call: Call | None = None


class ContainerEnvironment(Environment):  # type: ignore[misc]
    """Runs benchmarks in this very Python; the project of each commit lives in container images."""

    tool_name = "container"

    def __init__(
        self, conf: Any, python: str, requirements: Mapping[str, str], tagged_env_vars: Mapping[Any, str]
    ) -> None:
        # The base class's constructor asks for all of these before it has set anything.
        self._python, self._requirements = python, requirements
        self._discovered = False
        super().__init__(conf, python, requirements, tagged_env_vars)

    @classmethod
    def matches(cls, python: str) -> bool:  # noqa: ARG003 - asv's signature
        """Any version: the Python that drives the load is not what is measured."""
        return True

    @property
    def name(self) -> str:
        """The same whatever Python runs asv, so that a new one does not begin a new series."""
        parts = [self.tool_name, *(f"{key}{value or ''}" for key, value in sorted(self._requirements.items()))]
        parts += [f"{key}{value}" for key, value in sorted(self.env_vars.items())]
        return str(util.sanitize_filename("-".join(parts)))

    @property
    def python(self) -> str:
        """What asv records as the environment's Python; constant, see `name`."""
        return "container"

    def check_presence(self) -> bool:
        """There is nothing on disk to be present."""
        return True

    def create(self) -> None:
        """Nothing to create."""
        Path(self._path).mkdir(parents=True, exist_ok=True)

    def _get_installed_commit_hash(self) -> str | None:
        commit = self._installed().get("commit")
        return commit if commit in self._installed().get("prepared", ()) else None

    @property
    def _installed_file(self) -> Path:
        folder = _call.folder if _call else Path(self._path)
        return folder / f"installed-{self.dir_name}.json"

    def _installed(self) -> dict[str, Any]:
        """What asv installed last in this call: "commit", and which commits' images are "prepared".

        On disk, since `asv --parallel` installs in a process of its own and measures in this one.
        """
        return read_json(self._installed_file) or {}

    def _remember_installed(self, commit: str, prepared: Sequence[str]) -> None:
        content = {"commit": commit, "prepared": sorted(prepared)}
        write_json(self._installed_file, content)
        if self._installed() != content:  # or another commit would be measured under this one's name
            raise util.UserError(f"{self._installed_file} can't be written; make room or mend its permissions")

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        """Build what the selected benchmarks need of a commit. A failed build fails its own cases only."""
        prepared = set(self._installed().get("prepared", ()))
        self._remember_installed(commit_hash, sorted(prepared))
        self._set_commit_hash(commit_hash)
        repository = str(Path(getattr(repo, "_path", None) or conf.repo).resolve())
        os.environ["WINDTUNNEL_REPOSITORY"] = repository
        if self._discovered and commit_hash not in prepared and _call is not None:
            self._remember_installed(commit_hash, [*prepared, commit_hash])
            _prepare(replace(_call, commit=commit_hash, repository=repository))

    def find_executable(self, executable: str) -> str:
        """Only this Python is there."""
        if executable != "python":
            raise OSError(f"{executable} is not part of a container environment")
        return sys.executable

    def run(self, args: Sequence[str], **kwargs: Any) -> Any:
        """Run a Python command line (a benchmark process). What it leaves behind when it is killed is removed."""
        environment = dict(kwargs.pop("env", None) or os.environ)
        commit = self._installed().get("commit", "")
        if "run" in args[:2] and not commit:  # without one the working tree would be measured
            raise util.UserError(f"{self._installed_file} does not tell which commit is installed")
        environment |= {"WINDTUNNEL_COMMIT": commit, "ASV_COMMIT": commit}
        environment["WINDTUNNEL_REPOSITORY"] = os.environ.get("WINDTUNNEL_REPOSITORY", "")
        timeout = (getattr(_arguments, "attribute", None) or {}).get("timeout")
        if "run" in args[:2] and timeout is not None:
            kwargs["timeout"] = timeout  # asv itself listens to `-a timeout` only where a class names none
        try:
            result = util.check_output([sys.executable, *args], env=environment, **kwargs)
        finally:
            self._discovered = self._discovered or "discover" in args[:2]
            _clean_up()
        if "run" in args[:2]:
            _note_failure(result[-1])
        return result


class _Terminal:
    """asv's own log, also where asv wants none of it: it turns its log down while a project is installed."""

    def say(self, text: str) -> None:
        """A line."""
        with log.set_level(logging.INFO):
            log.info(text)

    def warn(self, text: str) -> None:
        """The same, in another colour."""
        log.warning(text)

    def tick(self) -> None:
        """A dot where there is a terminal, at most one a second."""
        log.dot()


def _prepare(call: Call) -> None:
    """Build the images of the selected cases at a commit; what fails is told here, and again by its cases.

    Where a comparison is replayed nothing is built: its launches are put where a benchmark process looks for them.

    Raises asv's UserError, which ends asv, where nothing at all can be built: that is no failure of this commit, and
    must not be recorded as one.
    """
    try:
        if call.replay:
            from windtunnel.asv.replay import read_recording, replay

            replay(call, read_recording(call.replay))
        else:
            from windtunnel.asv.prepare import prepare_commit

            prepare_commit(call, _selected, _Terminal())
    except WindtunnelError as error:
        raise util.UserError("\n".join(part for part in (str(error), error.detail) if part)) from None
    except KeyboardInterrupt:
        raise util.UserError("Interrupted.") from None  # as asv has it elsewhere


_arguments: argparse.Namespace | None = None


def _selected(names: Sequence[str]) -> bool:
    """Whether asv's --bench selects a case, by any of its asv names (`psgi.Starlet.time_request('5.36', ...)`)."""
    patterns = getattr(_arguments, "bench", None)
    if not patterns:
        return True
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    return any(re.search(pattern, name) for pattern in wanted for name in names)


def _parsed() -> argparse.Namespace | None:
    """asv's own reading of its command line; None where this module is not loaded by the asv command."""
    if Path(sys.argv[0]).name not in ("asv", "asv.exe", "__main__.py"):
        return None
    with contextlib.suppress(SystemExit):
        return commands.make_argparser()[0].parse_known_args(sys.argv[1:])[0]  # type: ignore[no-any-return]
    return None


def _clean_up() -> None:
    """See to it that no benchmark process and no container of this call is left; quick when all ended well."""
    if _call is not None and unfinished(_call):
        end_processes(_call)
        with contextlib.suppress(WindtunnelError):  # an engine that went away has nothing to sweep
            sweep(DockerEngine(), _call.id)


_failures = 0


def _note_failure(exit_status: int) -> None:
    global _failures  # noqa: PLW0603 - see `_begin`
    _failures += exit_status != 0


def _at_end() -> None:
    """The last thing asv's process does. A second Ctrl-C must not stop it half-way."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _clean_up()
    if _failures and _command() == "Continuous":
        log.warning(
            "asv continuous compares nothing once a case has failed. What was measured is saved: "
            "`asv compare BASE HEAD` compares it, and `windtunnel compare BASE HEAD` judges case by case."
        )
        log.flush()


def _command() -> str:
    """The name of asv's class for the command that runs, or ""."""
    return str(getattr(getattr(getattr(_arguments, "func", None), "__self__", None), "__name__", ""))


def _warn_quick(arguments: argparse.Namespace) -> None:
    unsaved = _measures_working_tree(arguments) and not getattr(arguments, "set_commit_hash", None)
    if getattr(arguments, "quick", False) and not getattr(arguments, "dry_run", False) and not unsaved:
        log.warning(
            "--quick is one launch and one slice: enough to see that everything runs. Its figures replace saved "
            "samples of the same commits, and asv compares them like sound ones; add --dry-run to keep them out."
        )


def _measures_working_tree(arguments: argparse.Namespace) -> bool:
    """Whether asv uses the Python it runs in (`--python=same`): then it installs nothing, and asks for nothing."""
    chosen = getattr(arguments, "env_spec", None) or []
    kinds = [str(one).partition(":") for one in chosen]
    return bool(kinds) and all(kind == "existing" or python == "same" for kind, _, python in kinds)


def _begin() -> None:
    """Once per asv command that measures: the call, the machine's name, the clean-up that nothing can skip."""
    global _call, _arguments  # noqa: PLW0603 - asv gives a plug-in nothing else to keep its state in
    _arguments = _parsed()
    if _arguments is None or _command() not in _MEASURING:
        return
    if multiprocessing.parent_process() is not None:  # a build process of `asv --parallel`: its parent has begun
        _call = Call.from_environment(os.environ)
        return
    introduce_machine()
    _warn_quick(_arguments)
    rounds = (getattr(_arguments, "attribute", None) or {}).get("rounds")
    quick = bool(getattr(_arguments, "quick", False))
    # `asv find` and `asv profile` are given the name of one benchmark
    named = bool(getattr(_arguments, "bench", None) or getattr(_arguments, "benchmark", None))
    _call = Call.begin(Path.cwd(), quick=quick, rounds=rounds or 0, named=named, replay=replayed(os.environ))
    _call.export()
    if _call.replay:  # there will be no container, so there may be no engine
        return
    start_watchdog(_call.id)
    atexit.register(_at_end)
    if _measures_working_tree(_arguments):
        log.info("Building the working tree")
        with log.indent():
            _prepare(_call)


_begin()
