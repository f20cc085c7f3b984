"""`windtunnel init`: a small, complete suite for the repository it stands in, or a sample project."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import click

from windtunnel.cli.detect import detect
from windtunnel.cli.detect_python import stops_at_second_folder
from windtunnel.cli.project import Project, read
from windtunnel.cli.render import Place, example_files, suite_files
from windtunnel.cli.stacks import Stack, choose
from windtunnel.cli.workflows import FOLDER, installed_source, workflow_files, workflow_steps
from windtunnel.declare.settings import load_settings
from windtunnel.declare.suite import FILES, load_suite
from windtunnel.errors import ConfigError, StorageError

__all__ = ["init_command", "initialise", "next_steps"]

_IGNORED = ".gitignore"
_FORGE = re.compile(r"(?:https://|git@|ssh://git@)(github\.com|gitlab\.com|codeberg\.org)[:/](.+?)(?:\.git)?/?")


def initialise(directory: Path, *, example: bool, force: bool, github: bool = False) -> tuple[Path, ...]:
    """Write a suite for the repository around `directory` into it, or a whole sample project.

    Args:
        directory: the suite's folder, made where it does not exist; the repository's top or a folder below it. With
            `example` it need not be in a repository.
        example: write the sample project instead.
        force: overwrite what is in the way.
        github: write GitHub's workflows as well, into the repository's top. A suite that is there already stays.

    Returns:
        The files written, in the order of their names. A .gitignore that is there already is left alone.

    Raises:
        ConfigError: no repository, or files are in the way, or the suite that is there is not one for workflows of
            this repository; nothing has been written then.
        StorageError: a file could not be written.
    """
    targets: dict[Path, str] = {}
    if github and not example:
        _check_suite(directory, force=force)
    if example or not github or _standing(directory) is None:
        targets |= _suite_targets(directory, example=example)
    if github:
        targets |= _workflow_targets(directory, example=example)
    _check_room(directory, targets, force=force)
    for path, text in targets.items():
        _write(path, text)
    return tuple(targets)


def next_steps(directory: Path, *, example: bool, written: tuple[Path, ...] | None = None) -> str:
    """What was recognised, what to look at and what to run next; lines for a person.

    Args:
        directory: as for `initialise`.
        example: as for `initialise`.
        written: what `initialise` has returned; None for a suite and no workflows.
    """
    lines: list[str] = []
    if written is None or any(path.name in FILES for path in written):
        lines += _example_steps(directory) if example else _suite_steps(directory)
    if _asv_is_not_ignored(directory):
        lines.append(f"Add .asv/ to {directory / _IGNORED}: asv keeps clones and results there.")
    if any(path.parent.name == "workflows" for path in written or ()):
        _, place = _whole(directory) if example else _place(directory)
        lines += workflow_steps(place.branch, load_settings(directory), installed_source())
    return "\n".join(lines)


# ---------------- the suite


def _standing(directory: Path) -> Path | None:
    """The asv.conf.json of the suite that is there already."""
    return next((directory / name for name in FILES if (directory / name).is_file()), None)


def _suite_targets(directory: Path, *, example: bool) -> dict[Path, str]:
    files = example_files() if example else _suite(directory)
    targets = {directory / path: text for path, text in sorted(files.items())}
    if (directory / _IGNORED).exists():
        targets.pop(directory / _IGNORED, None)
    return targets


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


# ---------------- workflows


def _check_suite(directory: Path, *, force: bool) -> None:
    """Workflows measure the suite that is there; one that is elsewhere must not get a second one beside it."""
    standing = _standing(directory)
    if standing is not None:
        if load_suite(standing).separate:
            raise ConfigError(
                "names another repository, and workflows see the pull requests of the one that they are in; "
                "write them where the project is",
                file=standing,
                key="repo",
            )
        return
    near = sorted(path.parent for name in FILES for path in directory.glob(f"*/{name}"))
    if near and not force:
        raise ConfigError(
            f"there is a suite already, in {near[0]}: `windtunnel init {near[0]} --github` writes its workflows; "
            "--force makes one more here",
            file=directory,
        )


def _whole(directory: Path) -> tuple[Path, Place]:
    """The place of a sample project, which is to be a repository of its own."""
    return directory, Place()


def _workflow_targets(directory: Path, *, example: bool) -> dict[Path, str]:
    top, place = _whole(directory) if example else _place(directory)
    if not directory.is_absolute():
        top = Path(os.path.relpath(top))
    files = workflow_files(place.prefix, place.branch, installed_source())
    return {top / path: text for path, text in sorted(files.items())}


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
        room = "Another folder has room: `windtunnel init perf/`"
        if all(path.parent.as_posix().endswith(FOLDER) for path in standing):
            room = "For one more suite add steps with its `directory` to what is there"
        raise ConfigError(
            f"is there already{others}; nothing was written. {room}; --force overwrites", file=standing[0]
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
        f"Commit it; then compare two commits: {go}windtunnel compare {place.branch} HEAD",
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
        "  windtunnel compare HEAD~1 HEAD",
    ]


@click.command("init", short_help="Write a small, complete suite for the repository in this folder.")
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path))
@click.option("--example", is_flag=True, help="Write a self-contained sample project that works as it is.")
@click.option("--github", is_flag=True, help="Write GitHub workflows too; only them, where DIR has a suite already.")
@click.option("--force", is_flag=True, help="Overwrite files that stand in the way.")
def init_command(directory: Path, example: bool, github: bool, force: bool) -> None:
    """Look at the repository in this folder and write asv.conf.json, benchmarks/ and targets/ into DIR, so that this
    checkout is installed into the image that is measured. `perf/` as DIR keeps everything in one folder.

    With --github also the workflows that measure pull requests, comment on them, and keep the history.
    """
    written = initialise(directory, example=example, force=force, github=github)
    for path in written:
        click.echo(path)
    click.echo(next_steps(directory, example=example, written=written))
