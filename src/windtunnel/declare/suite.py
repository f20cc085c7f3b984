"""asv.conf.json -> Suite: where the benchmarks, the targets and the repository of the project are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import json5

from windtunnel.declare.settings import Settings, load_settings, read_text
from windtunnel.declare.values import describe
from windtunnel.errors import ConfigError

__all__ = ["FILES", "Suite", "find_suite", "load_suite"]

FILES = ("asv.conf.json", "asv.conf.jsonc")

_TARGETS = "targets"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\\]+@[^/\\]+:")
_JSON_ERROR = re.compile(r"<string>:(\d+) (.*)", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<mark>[{}\[\],:])|"""
    r"""(?P<word>[^\s{}\[\],:"'/]+)|(?P<other>.)""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Suite:
    """An asv suite on this disk. All paths are absolute and without symbolic links.

    Attributes:
        root: the folder that holds asv.conf.json.
        repository: top of the project's git repository (its working tree, or a bare repository). Where `repo` is a
            URL, the place of the clone that asv makes, which need not exist yet.
        prefix: POSIX path of `root` below `repository`; "" at its top, and for a separate suite.
        project: the project's name.
        benchmark_dir, results_dir, env_dir, html_dir: as asv has them.
        branches: the branches asv looks at; () for the repository's default branch.
        targets_folder: POSIX path of the folder of targets, below `repository`, or below `root` if `separate`.
        settings: windtunnel.toml beside asv.conf.json.
        separate: the suite is not part of the project's repository.
    """

    root: Path
    repository: Path
    prefix: str
    project: str
    benchmark_dir: Path
    results_dir: Path
    env_dir: Path
    html_dir: Path
    branches: tuple[str, ...]
    targets_folder: str
    settings: Settings
    separate: bool


def find_suite(start: Path) -> Suite:
    """The suite that `start` (a folder) is in: the nearest folder upwards that holds asv.conf.json.

    Raises:
        ConfigError: there is none, there are two in one folder, or it or windtunnel.toml is wrong.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        found = [folder / name for name in FILES if (folder / name).is_file()]
        if len(found) > 1:
            raise ConfigError(f"{FILES[0]} and {FILES[1]} are both there; remove one", file=found[1])
        if found:
            return load_suite(found[0])
    raise ConfigError(
        f"no {FILES[0]} in {start} or above it; go to the suite's folder, or write one: windtunnel init"
    )


def load_suite(path: Path) -> Suite:
    """The suite of one asv.conf.json; raises ConfigError as `find_suite`."""
    conf = _Conf.load(path)
    root = path.parent.resolve()
    project = conf.text("project", "project")
    repository = _repository(conf, root, project)
    separate = _top(root) != repository
    prefix = "" if separate or root == repository else root.relative_to(repository).as_posix()
    return Suite(
        root=root,
        repository=repository,
        prefix=prefix,
        project=project,
        benchmark_dir=conf.folder("benchmark_dir", "benchmarks"),
        results_dir=conf.folder("results_dir", "results"),
        env_dir=conf.folder("env_dir", "env"),
        html_dir=conf.folder("html_dir", "html"),
        branches=conf.branches(),
        targets_folder=f"{prefix}/{_TARGETS}" if prefix else _TARGETS,
        settings=load_settings(root),
        separate=separate,
    )


def _repository(conf: _Conf, root: Path, project: str) -> Path:
    repo = conf.text("repo", None)
    if _URL.match(repo):
        return root / project
    path = (root / repo).resolve()
    top = _top(path) if path.is_dir() else None
    if top is None:
        what = "is not inside a git repository" if path.is_dir() else "does not exist"
        raise conf.wrong("repo", f'{path} {what}; name the project\'s repository relative to this file, such as "."')
    return top


def _top(path: Path) -> Path | None:
    """The top of the git repository that holds `path`: a folder with .git (a file in worktrees), or a bare one."""
    for folder in (path, *path.parents):
        bare = (
            folder.name != ".git"
            and (folder / "HEAD").is_file()
            and (folder / "objects").is_dir()
            and (folder / "refs").is_dir()
        )
        if (folder / ".git").exists() or bare:
            return folder
    return None


@dataclass(frozen=True)
class _Conf:
    """The values of asv.conf.json (JSON5, as asv reads it) and the lines of its keys."""

    path: Path
    data: dict[str, object]
    lines: dict[str, int]

    @classmethod
    def load(cls, path: Path) -> _Conf:
        text = read_text(path)
        try:
            data = json5.loads(text)
        except RecursionError:
            raise ConfigError("nested too deeply; flatten it", file=path) from None
        except ValueError as error:
            match = _JSON_ERROR.fullmatch(str(error))
            what, line = (match[2], int(match[1])) if match else (str(error), 1)
            raise ConfigError(f"not valid JSON (with comments): {what}", file=path, line=line) from None
        if not isinstance(data, dict):
            raise ConfigError(f"found {describe(data)}, expected an object: {{ ... }}", file=path, line=1)
        return cls(path, data, _key_lines(text))

    def wrong(self, key: str, message: str) -> ConfigError:
        return ConfigError(message, file=self.path, line=self.lines.get(key, 1), key=key)

    def text(self, key: str, default: str | None) -> str:
        """A string that says something. Without a default the key is needed."""
        value = self.data.get(key, default)
        if value is None and key not in self.data:
            raise self.wrong(key, 'missing; expected the project\'s repository relative to this file, such as "."')
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise self.wrong(key, f"found {describe(value)}, expected a string")
        return value

    def folder(self, key: str, default: str) -> Path:
        return (self.path.parent / self.text(key, default)).resolve()

    def branches(self) -> tuple[str, ...]:
        value = self.data.get("branches", [None])
        if value == [None]:
            return ()
        if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
            raise self.wrong("branches", f'found {describe(value)}, expected an array of branches, such as ["main"]')
        return tuple(value)


def _key_lines(text: str) -> dict[str, int]:
    """The line of each key of the outermost object of valid JSON5 `text`. The last of several wins, as in JSON."""
    lines: dict[str, int] = {}
    depth, line, last = 0, 1, ("", 1)
    for match in _TOKEN.finditer(text):
        piece = match.group()
        if match.lastgroup in ("text", "word"):
            last = (piece.strip("\"'"), line)
        elif match.lastgroup == "mark":
            if piece == ":" and depth == 1:
                lines[last[0]] = last[1]
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece, 0)
        line += piece.count("\n")
    return lines
