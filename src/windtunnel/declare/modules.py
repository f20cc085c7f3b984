"""Import of the benchmark package, with asv's meaning: a package named like its folder, and all its submodules.

asv puts the folder's parent first for that one name only, so that a suite can't shadow anything else; so does this.
Several suites of one process may have folders of the same name: the package of the last one is dropped first.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, TracebackType

from windtunnel.errors import ConfigError

__all__ = ["failure", "import_package", "line_inside"]

_MARK = "__windtunnel_suite__"


def import_package(folder: Path) -> tuple[ModuleType, ...]:
    """The package in `folder` and its submodules, in asv's order: a package before its parts, parts by name.

    Raises:
        ConfigError: the folder is no package, its name is taken, or an import failed (with the line that failed).
    """
    _check_folder(folder)
    importlib.invalidate_caches()
    _purge(folder.name)
    try:
        with _without_bytecode():
            return tuple(_walk(_import_root(folder), folder))
    except BaseException:
        _purge(folder.name)
        raise


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Python takes a compiled file for fresh where the source has the same size and the same time in seconds.

    A file that is changed right after it was read would be read as it was: so none is written.
    """
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ConfigError("there is no such folder; write it, or name another as benchmark_dir", file=folder)
    if not (folder / "__init__.py").is_file():
        raise ConfigError(
            "missing; asv needs it to import the benchmarks: add an empty file", file=folder / "__init__.py"
        )
    name = folder.name
    loaded = sys.modules.get(name)
    ours = loaded is not None and (hasattr(loaded, _MARK) or str(folder) in getattr(loaded, "__path__", ()))
    taken = name in sys.stdlib_module_names or (loaded is not None and not ours)
    if taken or "." in name:
        why = "is the name of another package" if taken else "can't be the name of a package"
        raise ConfigError(f'"{name}" {why}; rename the folder (benchmark_dir in asv.conf.json too)', file=folder)


def _purge(name: str) -> None:
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]


def _import_root(folder: Path) -> ModuleType:
    init = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(folder.name, init, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise ConfigError("can't be imported", file=init)
    module = importlib.util.module_from_spec(spec)
    setattr(module, _MARK, True)
    sys.modules[folder.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _import_failed(error, folder, folder.name) from error
    return module


def _walk(module: ModuleType, folder: Path) -> Iterator[ModuleType]:
    yield module
    for part in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
        try:
            inner = importlib.import_module(part.name)
        except (Exception, SystemExit) as error:
            raise _import_failed(error, folder, part.name) from error
        yield from _walk(inner, folder)


def _import_failed(error: BaseException, folder: Path, module: str) -> ConfigError:
    file, line = line_inside(error.__traceback__, folder)
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        file, line = error.filename, error.lineno
    if file is None:
        file = str(folder.parent.joinpath(*module.split(".")))
    hint = "; is it installed beside windtunnel?" if isinstance(error, ImportError) else ""
    return ConfigError(f"can't be imported: {failure(error)}{hint}", file=file, line=line, key=module)


def failure(error: BaseException) -> str:
    """An exception in one line: ``ZeroDivisionError: division by zero``."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 (an exception of the user's own whose text can't be had)
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_inside(traceback: TracebackType | None, folder: Path) -> tuple[str | None, int | None]:
    """File and line of the innermost frame whose code is below `folder`; (None, None) where there is none."""
    found: tuple[str | None, int | None] = (None, None)
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if Path(file).is_relative_to(folder):
            found = (file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found
