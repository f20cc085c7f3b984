"""What a Python project is made of: pyproject.toml, setup.cfg, setup.py or requirements.txt, and its packages."""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from windtunnel.cli.project import Entry, Project, existing, files_below, knowledge, papers, read
from windtunnel.errors import ConfigError

__all__ = ["python_project", "stops_at_second_folder"]

_RECIPES = ("pyproject.toml", "setup.py", "setup.cfg")
_CONFIGURATION = (
    *_RECIPES,
    *("MANIFEST.in", "hatch_build.py", "build.py", "meson.build", "CMakeLists.txt", "Cargo.toml", "Cargo.lock"),
    *("VERSION", "VERSION.txt"),
)
_NOT_PACKAGES = {
    *("test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "targets"),
    *("tool", "tools", "script", "scripts", "site", "ci", "requirements"),
}
_NOT_MODULES = {"setup", "conftest", "noxfile", "tasks", "fabfile", "hatch_build", "build", "versioneer"}
_COMPILED = (".pyx", ".c", ".cc", ".cpp", ".rs")
_COMPILING = {"maturin", "meson-python", "scikit-build-core", "setuptools-rust", "cython", "cffi", "pybind11"}
_FACTORY = re.compile(r"^def ((?:create|make|get)_app)\((?:\)|\w+(?::[^,=()]+)?=|\*)", re.MULTILINE)

# The image's Python is Debian trixie's.
_ENVIRONMENT = {
    "python_version": "3.13",
    "python_full_version": "3.13.5",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "extra": "",
}


@dataclass
class _Metadata:
    """What the recipes say, added up; the first name counts."""

    name: str = ""
    requires: list[str] = field(default_factory=list)
    build: list[str] = field(default_factory=list)
    papers: list[str] = field(default_factory=list)
    compiled: bool = False


def python_project(top: Path, own: str) -> Project | None:
    """The Python project in `top`, or None. `own` is the suite's folder there, which is not part of it ("" for none).

    Raises:
        ConfigError: its pyproject.toml is no TOML.
    """
    found = existing(top, (*_RECIPES, "requirements.txt"))
    layout = _Layout.of(top, own)
    if not found or (not existing(top, _RECIPES) and not layout.modules):
        return None
    metadata = _metadata(top)
    requires = _requirements(metadata.requires or read(top / "requirements.txt").splitlines())
    compiled = metadata.compiled or layout.compiled
    return Project(
        top=top,
        name=metadata.name or top.name,
        language="python",
        found=found[0],
        sources=("**",) if compiled else (*existing(top, _CONFIGURATION), *_listed(top), *layout.sources),
        build_only=tuple(dict.fromkeys((*papers(top), *_inside(top, metadata.papers)))),
        modules=_likely_first(layout.modules, metadata.name),
        requires=requires,
        build=tuple(dict.fromkeys(_names(metadata.build))),
        installable=_installable(top),
        compiled=compiled,
        entry=_entry(layout, metadata.name, requires),
    )


def _installable(top: Path) -> bool:
    """A pyproject.toml may hold nothing but the settings of tools."""
    pyproject = _toml(top / "pyproject.toml")
    return bool(existing(top, ("setup.py", "setup.cfg"))) or "project" in pyproject or "build-system" in pyproject


def _listed(top: Path) -> list[str]:
    """The lists of requirements that a recipe reads. The others are for people."""
    recipes = "".join(read(top / name) for name in _RECIPES)
    return [name for name in existing(top, ("requirements*.txt",)) if name in recipes]


# ---------------- the recipes


def _metadata(top: Path) -> _Metadata:
    metadata = _Metadata()
    _from_pyproject(_toml(top / "pyproject.toml"), metadata)
    _from_setup_cfg(read(top / "setup.cfg"), metadata)
    _from_setup_py(read(top / "setup.py"), metadata)
    if not metadata.build:
        metadata.build += ["setuptools", "wheel"]
    metadata.compiled |= not _COMPILING.isdisjoint(_names(metadata.build))
    return metadata


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}; mend it first", file=path) from error


def _table(value: object, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _from_pyproject(pyproject: Mapping[str, Any], metadata: _Metadata) -> None:
    project, poetry = _table(pyproject, "project"), _table(pyproject, "tool", "poetry")
    metadata.name = str(project.get("name") or poetry.get("name") or "")
    metadata.requires += _texts(project.get("dependencies"))
    metadata.requires += [name for name in _table(poetry, "dependencies") if name.lower() != "python"]
    metadata.build += _texts(_table(pyproject, "build-system").get("requires"))
    for key in ("readme", "license"):
        value = _table(project, key).get("file") or (project.get("readme") if key == "readme" else None)
        metadata.papers += [value] if isinstance(value, str) else []
    metadata.papers += _texts(project.get("license-files"))


def _from_setup_cfg(text: str, metadata: _Metadata) -> None:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return  # pip will say what is wrong with it, in its own words
    metadata.name = metadata.name or parser.get("metadata", "name", fallback="")
    metadata.requires += parser.get("options", "install_requires", fallback="").splitlines()


def _from_setup_py(text: str, metadata: _Metadata) -> None:
    """The literal arguments of `setup(...)`; whatever is computed stays unknown."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "setup":
            for keyword in call.keywords:
                _from_argument(keyword, metadata)


def _from_argument(keyword: ast.keyword, metadata: _Metadata) -> None:
    if keyword.arg in ("ext_modules", "cffi_modules", "rust_extensions"):
        metadata.compiled = True
    try:
        value = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return
    if keyword.arg == "name" and isinstance(value, str):
        metadata.name = metadata.name or value
    elif keyword.arg == "install_requires":
        metadata.requires += _texts(list(value) if isinstance(value, tuple) else value)
    elif keyword.arg == "use_scm_version" and value:
        metadata.build += ["setuptools", "wheel", "setuptools-scm"]


def _inside(top: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Named files as patterns; what is not in the repository is left to the build to complain of."""
    paths = (posixpath.normpath(name) for name in names if name.strip())
    inside = [path for path in paths if path != "." and ".." not in path.split("/") and not path.startswith("/")]
    return tuple(path for path in inside if any(top.glob(path)))


# ---------------- dependencies


def _parsed(lines: Iterable[str]) -> Iterable[Requirement]:
    for line in lines:
        try:
            requirement = Requirement(line.split(" #")[0].strip())
        except InvalidRequirement:
            continue  # an option of pip, a path, an empty line
        if requirement.marker is None or requirement.marker.evaluate(_ENVIRONMENT):
            yield requirement


def _requirements(lines: Iterable[str]) -> dict[str, str]:
    """Name -> requirement without its marker, of those that hold in the image."""
    found: dict[str, str] = {}
    for requirement in _parsed(lines):
        requirement.marker = None
        found.setdefault(canonicalize_name(requirement.name), str(requirement))
    return found


def _names(lines: Iterable[str]) -> list[str]:
    return [canonicalize_name(requirement.name) for requirement in _parsed(lines)]


# ---------------- the packages


@dataclass(frozen=True)
class _Layout:
    """Where the modules are: `base` is "src", "lib" or ""; `sources` their patterns."""

    top: Path
    base: str
    modules: tuple[str, ...]
    sources: tuple[str, ...]
    compiled: bool

    @classmethod
    def of(cls, top: Path, own: str) -> _Layout:
        for base in ("src", "lib"):
            modules = _modules(top / base, set())
            if modules:
                return cls(top, base, modules, (f"{base}/**",), _has_compiled(top / base))
        modules = _modules(top, _NOT_PACKAGES | {own})
        folders = [name for name in modules if (top / name).is_dir()]
        files = [f"{name}.py" for name in modules if name not in folders]
        compiled = any(_has_compiled(top / name) for name in folders)
        return cls(top, "", modules, (*(f"{name}/**" for name in folders), *files), compiled)

    def files(self) -> Iterable[tuple[str, Path]]:
        """Every module of the project: its dotted name and its file."""
        root = self.top / self.base
        for name in self.modules:
            single = root / f"{name}.py"
            for path in [single] if single.is_file() else files_below(root / name, ".py"):
                parts = path.relative_to(root).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _modules(folder: Path, others: set[str]) -> tuple[str, ...]:
    """Packages (folders with Python files; at the repository's top only real ones) and single modules in a folder."""
    if not folder.is_dir():
        return ()
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")) or path.name in others:
            continue
        if path.is_dir() and path.name.isidentifier() and _is_package(path, anything=not others):
            found.append(path.name)
        elif path.suffix == ".py" and path.stem.isidentifier() and path.stem not in _NOT_MODULES:
            found.append(path.stem)
    return tuple(found)


def _is_package(folder: Path, *, anything: bool) -> bool:
    return (folder / "__init__.py").is_file() or (anything and any(files_below(folder, ".py")))


def _has_compiled(folder: Path) -> bool:
    return any(files_below(folder, *_COMPILED))


def _likely_first(modules: Iterable[str], name: str) -> tuple[str, ...]:
    wanted = re.sub(r"[^a-z0-9]", "", name.lower())
    return tuple(sorted(modules, key=lambda module: module.lower().replace("_", "") != wanted))


# ---------------- the application


def _entry(layout: _Layout, name: str, requires: Mapping[str, str]) -> Entry | None:
    """An application object, or a function that makes one. A framework's own sources are full of others' examples."""
    frameworks = knowledge("python")["frameworks"]
    if canonicalize_name(name or "-") in frameworks:
        return None
    makers = [maker for one, known in frameworks.items() if one in requires for maker in known["objects"]]
    if not makers:
        return None
    made = re.compile(rf"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\.)?(?:{'|'.join(makers)})\(", re.MULTILINE)
    factory: Entry | None = None
    for module, path in layout.files():
        text = read(path)
        if match := made.search(text):
            return Entry(module, match[1])
        if match := _FACTORY.search(text):
            factory = factory or Entry(module, match[1], factory=True)
    return factory


def stops_at_second_folder(project: Project) -> bool:
    """Whether setuptools is left to find the packages at the repository's top, where it puts up with one folder."""
    if project.language != "python" or not project.installable or not project.modules:
        return False
    pyproject = _toml(project.top / "pyproject.toml")
    backend = _table(pyproject, "build-system").get("build-backend", "setuptools.build_meta")
    named = _table(pyproject, "tool", "setuptools")
    text = read(project.top / "setup.cfg") + read(project.top / "setup.py")
    at_the_top = (project.top / project.modules[0]).is_dir()
    return (
        at_the_top
        and str(backend).startswith("setuptools")
        and not {"packages", "py-modules", "package-dir"} & named.keys()
        and not re.search(r"\b(packages|py_modules)\s*=", text)
    )
