"""What stands in a repository: a project with its own Dockerfile, a Python one, a Perl one, or something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from windtunnel.cli.detect_perl import perl_project
from windtunnel.cli.detect_python import python_project
from windtunnel.cli.project import Project, papers, read

__all__ = ["detect"]

_JOIN = re.compile(r"\\[ \t]*\n")
_INSTRUCTION = re.compile(r"^\s*([A-Za-z]+)\s+(.*)$", re.MULTILINE)
_DOCKERFILE = "Dockerfile"


def detect(top: Path, own: str = "") -> Project:
    """What the repository in `top` is.

    A Dockerfile that copies the sources in, names its port and starts something is taken at its word, whatever the
    project is written in: its author knew. One that does less only counts where nothing else is recognised.

    Args:
        top: the repository's folder.
        own: the first folder on the way to the suite, "" where the suite is at the top.

    Raises:
        ConfigError: a recipe that can't be read.
    """
    serves = _docker_project(top)
    if serves is not None and serves.port is not None:
        return serves
    return (
        python_project(top, own)
        or perl_project(top, own)
        or serves
        or Project(top, top.name, "unknown", "", build_only=papers(top))
    )


def _docker_project(top: Path) -> Project | None:
    instructions = list(_instructions(read(top / _DOCKERFILE)))
    words = {word for word, _ in instructions}
    copied = [path for word, rest in instructions if word in ("COPY", "ADD") for path in _copied(rest)]
    if not copied or "FROM" not in words:
        return None
    ports = [rest for word, rest in instructions if word == "EXPOSE"]
    serves = bool(words & {"CMD", "ENTRYPOINT"})
    return Project(
        top=top,
        name=top.name,
        language="docker",
        found=_DOCKERFILE,
        sources=tuple(dict.fromkeys(_pattern(top, path) for path in copied)),
        build_only=papers(top),
        port=_port(ports[-1]) if ports and serves else None,
    )


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    joined = _JOIN.sub(" ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    for match in _INSTRUCTION.finditer(joined):
        yield match[1].upper(), match[2].strip()


def _port(rest: str) -> int | None:
    match = re.match(r"([0-9]{1,5})(?![0-9])", rest)
    return int(match[1]) if match and 0 < int(match[1]) < 65536 else None


def _copied(rest: str) -> list[str]:
    """The sources of a COPY or ADD, without those of another stage or of the network."""
    words = rest.strip("[]").replace('"', " ").replace(",", " ").split() if rest.startswith("[") else rest.split()
    if any(word.startswith("--from") for word in words) or "<<" in rest:
        return []
    paths = [word for word in words if not word.startswith("--")]
    return [path for path in paths[:-1] if "://" not in path]


def _pattern(top: Path, path: str) -> str:
    """A path of a COPY as a pattern of target.toml; everything where it is the whole context or a variable."""
    plain = path.removeprefix("./").strip("/")
    if plain in ("", ".") or "$" in plain or ".." in plain.split("/"):
        return "**"
    return f"{plain}/**" if (top / plain).is_dir() else f"/{plain}"
