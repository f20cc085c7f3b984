"""What a Perl project is made of: META.json, cpanfile, Makefile.PL or Build.PL, and its modules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from windtunnel.cli.project import Entry, Project, existing, files_below, papers, read

__all__ = ["perl_project"]

_RECIPES = ("Makefile.PL", "Build.PL", "cpanfile", "dist.ini", "minil.toml")
_CONFIGURATION = (*_RECIPES, "META.json", "META.yml", "MANIFEST", "*.psgi", "*.xs", "*.c", "*.h", "typemap")
_FOLDERS = ("lib", "script", "bin", "share", "inc", "src", "templates", "views", "public")
_TEXT = (".pm", ".pl", ".psgi", ".xs", ".c", ".h", "")

_MODULE = r"['\"]?([A-Za-z_][\w:]*)['\"]?"
_REQUIRES = re.compile(rf"^\s*requires[\s(]+{_MODULE}", re.MULTILINE)
_PAIR = re.compile(rf"{_MODULE}\s*=>")
_BLOCKS = (
    re.compile(r"\bPREREQ_PM\s*=>\s*\{([^}]*)\}"),
    re.compile(r"(?<!_)\brequires\s*=>\s*\{([^}]*)\}"),
)
_PHASES = re.compile(
    r"\bon\s*\(?\s*['\"]?(?:test|develop|configure|build)['\"]?\s*=>\s*sub\s*\{.*?^\s*\}", re.M | re.S
)
_COMMENT = re.compile(r"(?<![\w$\\])#.*")
_NAMES = (
    ("Makefile.PL", re.compile(rf"\b(?:DISTNAME|NAME)\s*=>\s*{_MODULE}|^\s*name[\s(]+['\"]([\w:-]+)", re.M)),
    ("Build.PL", re.compile(r"\b(?:module_name|dist_name)\s*=>\s*['\"]([\w:-]+)")),
    ("dist.ini", re.compile(r"^name\s*=\s*([\w:-]+)", re.M)),
    ("minil.toml", re.compile(r"^name\s*=\s*['\"]([\w:-]+)", re.M)),
)


def perl_project(top: Path, own: str) -> Project | None:
    """The Perl project in `top`, or None. `own` is the suite's folder, which is not part of it ("" for none)."""
    found = existing(top, _RECIPES)
    if not found:
        return None
    meta = _meta(top)
    name = _name(top, meta)
    compiled = bool(existing(top, ("*.xs",))) or any(files_below(top / "lib", ".xs"))
    folders = [folder for folder in _FOLDERS if folder != own and any(files_below(top / folder, *_TEXT))]
    return Project(
        top=top,
        name=name,
        language="perl",
        found=found[0],
        sources=("**",) if compiled else (*existing(top, _CONFIGURATION), *(f"{folder}/**" for folder in folders)),
        build_only=papers(top),
        modules=_modules(top, name),
        requires={module: module for module in _requires(top, meta)},
        build=tuple(_build(top)),
        installable=compiled,
        compiled=compiled,
        entry=_entry(top),
    )


def _meta(top: Path) -> Mapping[str, object]:
    try:
        meta = json.loads(read(top / "META.json") or "{}")
    except ValueError:
        return {}
    return meta if isinstance(meta, dict) else {}


def _name(top: Path, meta: Mapping[str, object]) -> str:
    if isinstance(meta.get("name"), str):
        return str(meta["name"])
    for file, pattern in _NAMES:
        if match := pattern.search(_code(top / file)):
            return next(group for group in match.groups() if group).replace("::", "-")
    return top.name


def _code(path: Path) -> str:
    return _COMMENT.sub("", read(path))


def _requires(top: Path, meta: Mapping[str, object]) -> Iterator[str]:
    """Modules needed at run time: by META.json, else by the first recipe that names any."""
    prereqs: object = meta.get("prereqs")
    for key in ("runtime", "requires"):
        prereqs = prereqs.get(key) if isinstance(prereqs, Mapping) else None
    if isinstance(prereqs, Mapping) and prereqs:
        yield from (str(module) for module in prereqs)
        return
    for file in ("cpanfile", "Makefile.PL", "Build.PL"):
        if found := list(_required_in(_code(top / file))):
            yield from dict.fromkeys(found)
            return


def _required_in(code: str) -> Iterator[str]:
    code = _PHASES.sub("", code)
    yield from _REQUIRES.findall(code)
    for block in _BLOCKS:
        for body in block.findall(code):
            yield from _PAIR.findall(body)


def _build(top: Path) -> Iterator[str]:
    """What the recipe itself is written with."""
    for file in ("Makefile.PL", "Build.PL"):
        yield from re.findall(r"^\s*use\s+([A-Za-z_][\w:]*)", _code(top / file), re.M)


def _modules(top: Path, name: str) -> tuple[str, ...]:
    found: Iterable[str] = (
        "::".join(path.relative_to(top / "lib").with_suffix("").parts) for path in files_below(top / "lib", ".pm")
    )
    main = name.replace("-", "::")
    return tuple(sorted(found, key=lambda module: (module != main, module.count("::"), module)))


def _entry(top: Path) -> Entry | None:
    """The application that `plackup` or a script starts: module "psgi" or "script", and its path."""
    for name in existing(top, ("app.psgi", "*.psgi")):
        return Entry("psgi", name)
    for path in files_below(top / "script", ".pl", ""):
        if "Mojolicious::Commands" in read(path) or "start_app" in read(path):
            return Entry("script", path.relative_to(top).as_posix())
    return None
