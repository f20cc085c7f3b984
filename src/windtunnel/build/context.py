"""The build context: exactly the files that a target names, so nothing else can be COPYed."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from windtunnel.build.rules import Choice, Rules
from windtunnel.errors import ConfigError, VariantMissing, WindtunnelError
from windtunnel.model import Target
from windtunnel.ports import ABSENT_SUBMODULE, SourceFile, SourceTree

__all__ = ["DOCKERFILE", "EPOCH", "Context", "select", "tar"]

DOCKERFILE = ".windtunnel.Dockerfile"
"""What the Dockerfile is called in the tar stream. It can't be COPYed from there."""

EPOCH = 315_619_200
"""When every file of a context was changed: 2 January 1980 (UTC). Constant, so that the same files make the same
image; not 0, because zip files (so: wheels) know no time before 1980, and their makers fail on one."""

_IGNORE = ".dockerignore"
# Both builders drop these two from the context before the first COPY, and neither is read as anybody's own rules.
_IGNORE_CONTENT = f"{_IGNORE}\n{DOCKERFILE}\n".encode()


@dataclass(frozen=True)
class Context:
    """What an image is built from. Paths are relative to the context's top.

    Attributes:
        dockerfile: its text.
        dockerfile_path: where it is in its tree, for messages.
        files: part of the image's identity.
        build_only: reach the engine, but are no part of the identity.
    """

    dockerfile: str
    dockerfile_path: str
    files: tuple[SourceFile, ...]
    build_only: tuple[SourceFile, ...] = ()

    def tar(self) -> bytes:
        """The stream that the engine builds from; the Dockerfile is in it as `DOCKERFILE`."""
        added = (
            SourceFile(DOCKERFILE, 0o644, self.dockerfile.encode()),
            SourceFile(_IGNORE, 0o644, _IGNORE_CONTENT),
        )
        return tar((*self.files, *self.build_only, *added))


def select(project: SourceTree, harness: SourceTree, target: Target, *, companion: bool = False) -> Context:
    """The files of `target`'s image.

    With context "." those are the target's own folder, as far as `sources` and `build_only` name its files; with "/"
    the files of `project` that they name, and the whole folder of the target (without what ``!`` excludes) laid over
    them. Where the folder comes from is the target's `harness`: "head" takes it from `harness`, "commit" from
    `project`. Its target.toml is never part of it, and neither is a .dockerignore at the top: only `sources` and
    `build_only` decide.

    Args:
        project: the arm's sources.
        harness: the newest side's tree.
        target: whose image it is.
        companion: a service; those need not change with the project.

    Raises:
        ConfigError: no Dockerfile, a pattern that is none, or an image of head's harness that no commit can change.
        VariantMissing: this commit lacks the target, or all the sources that the newest side has.
        WindtunnelError: a submodule that is needed can't be had.
    """
    selection = _Selection(project, harness, target, Rules.of(target))
    if target.harness == "head" and target.context == "/" and not companion:
        selection.check_that_it_can_change()
    dockerfile_path, dockerfile = selection.dockerfile()
    return Context(dockerfile, dockerfile_path, selection.read(Choice.SOURCE), selection.read(Choice.BUILD_ONLY))


class _Selection:
    def __init__(self, project: SourceTree, harness: SourceTree, target: Target, rules: Rules) -> None:
        self._project, self._harness, self._target, self._rules = project, harness, target, rules
        self._own_tree = harness if target.harness == "head" else project
        self._prefix = f"{target.folder}/" if target.folder else ""
        self._whole = target.context == "/"
        self._own = dict(self._own_choices())
        self._outside = dict(self._outside_choices(project)) if self._whole else {}

    def _own_choices(self) -> Iterator[tuple[str, Choice]]:
        """The target's own folder: path in its tree, and what it is to the image."""
        paths = self._own_tree.paths(self._target.folder)
        if not paths:
            raise VariantMissing(f"target {self._target.name} is not in {_at(self._own_tree)}: no {self._prefix}")
        for path in paths:
            if path in (f"{self._prefix}target.toml", self._in_tree(_IGNORE)):
                continue
            choice = self._choice(path, self._own_tree, wholly=self._whole)
            yield path, Choice.SOURCE if self._whole and choice is Choice.UNNAMED else choice

    def _outside_choices(self, tree: SourceTree) -> Iterator[tuple[str, Choice]]:
        """Everything else in a tree. What is in the way of the target's folder gives way to it."""
        for path in tree.paths():
            if path != _IGNORE and not path.startswith(self._prefix) and not self._prefix.startswith(f"{path}/"):
                yield path, self._choice(path, tree)

    def _choice(self, path: str, tree: SourceTree, *, wholly: bool = False) -> Choice:
        inside = self._in_context(path)
        if not inside.endswith(ABSENT_SUBMODULE):
            return self._rules.choice(inside)
        folder = inside.removesuffix(ABSENT_SUBMODULE)
        if self._rules.may_reach_into(folder, unnamed_too=wholly):
            _explain(tree, path, folder)
        return Choice.EXCLUDED

    def _in_context(self, path: str) -> str:
        return path if self._whole else path.removeprefix(self._prefix)

    def _in_tree(self, inside: str) -> str:
        return inside if self._whole else self._prefix + inside

    def read(self, wanted: Choice) -> tuple[SourceFile, ...]:
        """The files of one kind, with their paths in the context."""
        files: list[SourceFile] = []
        for tree, choices in ((self._project, self._outside), (self._own_tree, self._own)):
            try:
                files += tree.read(path for path, choice in choices.items() if choice is wanted)
            except KeyError as error:
                raise WindtunnelError(f"{error.args[0]}: it vanished from {_at(tree)} while it was read") from error
        return tuple(replace(file, path=self._in_context(file.path)) for file in files)

    def dockerfile(self) -> tuple[str, str]:
        """Its path in its tree, and its text."""
        path = posixpath.normpath(posixpath.join(self._target.folder, self._target.dockerfile))
        own = path.startswith(self._prefix)
        tree = self._own_tree if own or not self._whole else self._project
        try:
            (file,) = tree.read([path]) if own or self._whole else ()
            return path, file.content.decode()
        except (KeyError, ValueError) as error:
            hint = f"add it, or set `dockerfile` in {self._prefix}target.toml"
            problem = (
                "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else f"is not in {_at(tree)}; {hint}"
            )
            raise ConfigError(f"the Dockerfile {problem}", file=path) from error

    def check_that_it_can_change(self) -> None:
        """Head's harness over a project that is not in the image would compare the harness with itself."""
        if Choice.SOURCE in self._outside.values():
            return
        if Choice.SOURCE in dict(self._outside_choices(self._harness)).values():
            raise VariantMissing(
                f"target {self._target.name}: {_at(self._project)} has none of the files that `sources` name"
            )
        raise ConfigError(
            f"no file from outside {self._prefix} is in the image, so no commit of the project can change it; "
            'name the project\'s files there, or set harness = "commit"',
            file=f"{self._prefix}target.toml",
            key="sources",
        )


def _explain(tree: SourceTree, path: str, folder: str) -> None:
    """Raise what the tree says of an absent submodule, and how to do without it."""
    try:
        tree.read([path])
    except WindtunnelError as error:
        raise WindtunnelError(f"{error}; or leave it out with `!{folder}/` as the last of `sources`") from error


def _at(tree: SourceTree) -> str:
    return "the working tree" if tree.revision == "worktree" else f"commit {tree.revision[:12]}"


def tar(files: Iterable[SourceFile]) -> bytes:
    """`files` as an uncompressed tar stream. The same files give the same bytes: sorted, owner 0, time 0."""
    stream = io.BytesIO()
    ordered = sorted(files, key=lambda file: _encoded(file.path))
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as archive:
        for folder in _folders(ordered):
            archive.addfile(_member(folder, 0o755, tarfile.DIRTYPE))
        for file in ordered:
            _add(archive, file)
    return stream.getvalue()


def _folders(files: Iterable[SourceFile]) -> list[str]:
    """Every folder on the way to a file. Left to the engine, they would carry the time of the build."""
    found = {str(parent) for file in files for parent in _parents(file.path)}
    return sorted(found, key=_encoded)


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _add(archive: tarfile.TarFile, file: SourceFile) -> None:
    if file.symlink:
        member = _member(file.path, file.mode, tarfile.SYMTYPE)
        member.linkname = file.content.decode("utf-8", "surrogateescape")
        archive.addfile(member)
    else:
        member = _member(file.path, file.mode, tarfile.REGTYPE)
        member.size = len(file.content)
        archive.addfile(member, io.BytesIO(file.content))


def _member(path: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.mode, member.mtime = kind, mode, EPOCH
    return member


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
