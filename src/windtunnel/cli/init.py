"""`windtunnel init`: a small, complete suite for the repository it stands in, or a sample project."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from windtunnel.cli.detect import detect
from windtunnel.cli.detect_python import stops_at_second_folder
from windtunnel.cli.project import Project, read
from windtunnel.cli.render import Place, example_files, suite_files
from windtunnel.cli.stacks import Stack, choose
from windtunnel.errors import ConfigError, StorageError

__all__ = ["initialise", "next_steps"]

_IGNORED = ".gitignore"
_FORGE = re.compile(r"(?:https://|git@|ssh://git@)(github\.com|gitlab\.com|codeberg\.org)[:/](.+?)(?:\.git)?/?")


def initialise(directory: Path, *, example: bool, force: bool) -> tuple[Path, ...]:
    """Write a suite for the repository around `directory` into it, or a whole sample project.

    Args:
        directory: the suite's folder, made where it does not exist; the repository's top or a folder below it. With
            `example` it need not be in a repository.
        example: write the sample project instead.
        force: overwrite what is in the way.

    Returns:
        The files written, in the order of their names. A .gitignore that is there already is left alone.

    Raises:
        ConfigError: no repository, or files are in the way; nothing has been written then.
        StorageError: a file could not be written.
    """
    files = example_files() if example else _suite(directory)
    targets = {directory / path: text for path, text in sorted(files.items())}
    if (directory / _IGNORED).exists():
        targets.pop(directory / _IGNORED, None)
    _check_room(directory, targets, force=force)
    for path, text in targets.items():
        _write(path, text)
    return tuple(targets)


def next_steps(directory: Path, *, example: bool) -> str:
    """What was recognised, what to look at and what to run next, after `initialise`; lines for a person."""
    lines = _example_steps(directory) if example else _suite_steps(directory)
    if _asv_is_not_ignored(directory):
        lines.append(f"Add .asv/ to {directory / _IGNORED}: asv keeps clones and results there.")
    return "\n".join(lines)


# ---------------- the suite


def _suite(directory: Path) -> dict[str, str]:
    top, place = _place(directory)
    project, stack = _recognised(top, place)
    files = suite_files(project, stack, place)
    files[_IGNORED] = ".asv/\n.windtunnel/\n__pycache__/\n"
    return files


def _recognised(top: Path, place: Place) -> tuple[Project, Stack]:
    project = detect(top, place.prefix.partition("/")[0])
    return project, choose(project)


def _place(directory: Path) -> tuple[Path, Place]:
    folder = directory.resolve()
    top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    if top is None:
        raise ConfigError(
            f"{directory} is not in a git repository, and asv measures commits: run `git init` and commit "
            "the project first, or try `windtunnel init --example` in an empty folder"
        )
    prefix = folder.relative_to(top).as_posix()
    return top, Place("" if prefix == "." else prefix, _branch(top), _commit_url(top))


def _branch(top: Path) -> str:
    """The main branch: the remote's, a local one by its usual name, the one that is checked out."""
    remote = _git(top, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    if remote:
        return remote
    usual = [name for name in ("main", "master", "trunk") if _git(top, "rev-parse", "--verify", f"refs/heads/{name}")]
    return next(iter(usual), _git(top, "symbolic-ref", "--short", "HEAD") or "main")


def _commit_url(top: Path) -> str:
    match = _FORGE.fullmatch(_git(top, "config", "--get", "remote.origin.url"))
    return f"https://{match[1]}/{match[2]}/commit/" if match else ""


def _git(top: Path, *arguments: str) -> str:
    """What git answers; "" where it does not know, or is not there."""
    try:
        done = subprocess.run(("git", "-C", str(top), *arguments), capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# ---------------- writing


def _check_room(directory: Path, targets: Iterable[Path], *, force: bool) -> None:
    """All or nothing: a suite of which half is another's would be worse than none."""
    if directory.exists() and not directory.is_dir():
        raise ConfigError("is a file; name a folder", file=directory)
    folders = [path for path in targets if path.is_dir()]
    if folders:
        raise ConfigError("is a folder, and a file of that name is to be written; move it away", file=folders[0])
    standing = [path for path in targets if os.path.lexists(path)]
    if standing and not force:
        others = f" (and {', '.join(str(path) for path in standing[1:])})" if standing[1:] else ""
        raise ConfigError(
            f"is there already{others}; nothing was written. Another folder has room: `windtunnel init perf/`; "
            "--force overwrites",
            file=standing[0],
        )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} can't be written: {error.strerror}") from error


# ---------------- what to do next


def _asv_is_not_ignored(directory: Path) -> bool:
    return not re.search(r"^/?(\*\*/)?\.asv(/|$)", read(directory / _IGNORED), re.MULTILINE)


def _go(directory: Path) -> str:
    return "" if directory.resolve() == Path.cwd() else f"cd {directory} && "


def _suite_steps(directory: Path) -> list[str]:
    top, place = _place(directory)
    project, stack = _recognised(top, place)
    target = directory / "targets" / project.slug
    lines = ["", _found(project, stack)]
    lines += [f"To edit in {target}: {stack.guess}."] if stack.guess else []
    if stack.others:
        lines.append(f"Not known as Debian packages: {', '.join(stack.others)}; see {target / 'Dockerfile'}.")
    if stops_at_second_folder(project):
        folders = place.prefix.partition("/")[0] or "targets"
        lines.append(
            f"setuptools looks for packages by itself here, and {folders}/ now looks like one: name yours in "
            f'pyproject.toml, [tool.setuptools] packages = ["{project.modules[0]}"].'
        )
    go = _go(directory)
    return [
        *lines,
        f"See whether it runs: {go}windtunnel run --quick",
        f"Commit it; then compare two commits: {go}asv continuous {place.branch} HEAD",
    ]


def _found(project: Project, stack: Stack) -> str:
    what = {
        "python": f"a Python project ({project.found})",
        "perl": f"a Perl project ({project.found})",
        "docker": f"a project with its own {project.found}",
        "unknown": "no project that windtunnel knows",
    }[project.language]
    return f"Found {what}; {project.name} is served by {stack.server} on port {stack.port}."


def _example_steps(directory: Path) -> list[str]:
    go = _go(directory)
    return [
        "",
        "A sample project: hello/ is a small web application, served by waitress. Make it a repository:",
        f"  {go}git init -b main && git add -A && git commit -m 'Say hello'",
        "See whether it runs:",
        "  windtunnel run --quick",
        "Make hello/app.py slower, commit, and see whether it is noticed:",
        "  asv continuous HEAD~1 HEAD",
    ]
