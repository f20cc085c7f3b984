"""A whole site, built by MkDocs: with the project's own mkdocs.yml, or without one, of results alone."""

from __future__ import annotations

import importlib.util
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.adapters import git
from windtunnel.errors import ConfigError, StorageError, WindtunnelError
from windtunnel.report.visible import visible
from windtunnel.site.source import index_for, suite_of

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

__all__ = ["SiteWanted", "build_site", "needed"]

Tell = Callable[[str], None]

_NEEDED = ("jinja2", "mkdocs", "material", "vl_convert")
_REMEDY = "pip install 'windtunnel[site]'"
_PLUGIN = "windtunnel"
_OURS = "404.html"
"""What every site of MkDocs has; a folder with other things in it is never emptied."""

_TOGGLES = (
    ("(prefers-color-scheme)", "", "material/brightness-auto", "Switch to light"),
    ("(prefers-color-scheme: light)", "default", "material/weather-sunny", "Switch to dark"),
    ("(prefers-color-scheme: dark)", "slate", "material/weather-night", "Switch to the system's choice"),
)


@dataclass(frozen=True)
class SiteWanted:
    """What is to be built.

    Attributes:
        start: the folder to begin in: its suite and its mkdocs.yml are found from here.
        out: the folder that the site is written to. What is in it goes.
        results: folders of results; () for the suite's own.
        repository: of the project, or None for the suite's own.
        asv: what `asv publish` has written, to be had at asv/, or None.
        commit_url: as the plug-in has it.
        configuration: a mkdocs.yml whose pages the site has, too; None for the suite's where no results are named.
        title: of the project; "" for what its suite, or the folder of results, is called.
    """

    start: Path
    out: Path
    results: tuple[Path, ...] = ()
    repository: Path | None = None
    asv: Path | None = None
    commit_url: str = ""
    configuration: Path | None = None
    title: str = ""


def needed() -> None:
    """Raises ConfigError where something is not installed that sites are built with."""
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"a site is built with {name}, which is not installed; {_REMEDY}")


def build_site(wanted: SiteWanted, tell: Tell) -> Path:
    """Build it; returns the page to begin with.

    Where results are named and no mkdocs.yml is, the site is of these alone. Else mkdocs.yml (the one that is named,
    or the one beside the suite or at the top of its repository) says what the site has, and gets the plug-in where it
    does not ask for it itself.

    Raises:
        ConfigError: something is not installed, a folder is not there, mkdocs.yml or an option of the plug-in is
            wrong, or `out` has something else in it.
        StorageError: the site or the index can't be written.
    """
    needed()
    _check(wanted)
    own = wanted.configuration or (None if wanted.results else _own_configuration(wanted.start))
    with tempfile.TemporaryDirectory(prefix="windtunnel-site-") as scratch, _heard(tell):
        try:
            _build(_project_site(wanted, own) if own else _results_site(wanted, Path(scratch)))
        except OSError as error:
            place = error.filename or wanted.out
            raise StorageError(f"cannot write {place}: {error.strerror}; make room, or name another --out") from error
    return wanted.out / "index.html"


def _check(wanted: SiteWanted) -> None:
    for folder in wanted.results:
        if not folder.is_dir():
            raise ConfigError(
                f"{folder} is not there; name a folder that asv or windtunnel has written", key="--results"
            )
        if folder.resolve().is_relative_to(wanted.out.resolve()):
            raise ConfigError(f"{wanted.out} holds the results; name another folder", key="--out")
    if wanted.out.exists() and not wanted.out.is_dir():
        raise ConfigError(f"{wanted.out} is a file; name a folder", key="--out")
    if wanted.out.is_dir() and any(wanted.out.iterdir()) and not (wanted.out / _OURS).is_file():
        raise ConfigError(
            f"{wanted.out} has something in it that is no site; it would be lost. Name another folder", key="--out"
        )


def _own_configuration(start: Path) -> Path | None:
    """mkdocs.yml of the project: beside the suite, or at the top of the repository it is in."""
    suite = suite_of(start)
    places = [suite.root, _top(suite.root)] if suite else [start]
    names = (place / name for place in places for name in ("mkdocs.yml", "mkdocs.yaml"))
    return next((path for path in names if path.is_file()), None)


def _top(folder: Path) -> Path:
    """The top of the repository that a folder is in, or itself."""
    try:
        return git.top(folder)
    except WindtunnelError:
        return folder


@contextmanager
def _heard(tell: Tell) -> Iterator[None]:
    """What the plug-in says, and what MkDocs warns of, goes to `tell`."""
    handler = _Teller(tell)
    loggers = [logging.getLogger("mkdocs"), logging.getLogger(f"mkdocs.plugins.{_PLUGIN}")]
    before = [(logger, logger.level) for logger in loggers]
    loggers[0].addHandler(handler)
    for logger, level in zip(loggers, (logging.WARNING, logging.INFO), strict=True):
        logger.setLevel(level)
    try:
        yield
    finally:
        loggers[0].removeHandler(handler)
        for logger, level in before:
            logger.setLevel(level)


class _Teller(logging.Handler):
    """A handler of the standard library's logging."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the message, each line of it."""
        for line in record.getMessage().splitlines():
            self._tell(visible(line, 500))


def _project_site(wanted: SiteWanted, path: Path) -> MkDocsConfig:
    """The project's own site; the plug-in is put in where mkdocs.yml does not have it."""
    config = _loaded(path, {"site_dir": str(wanted.out)})
    if _PLUGIN not in config.plugins:
        config = _loaded(path, {"site_dir": str(wanted.out), "plugins": [*_asked(path), {_PLUGIN: {}}]})
    options = config.plugins[_PLUGIN].config
    if wanted.results:
        options["results"] = [str(folder.resolve()) for folder in wanted.results]
    if wanted.title:
        options["title"] = wanted.title
    if wanted.repository:
        options["repository"] = str(wanted.repository.resolve())
    if wanted.asv:
        options["asv"] = str(wanted.asv.resolve())
    if wanted.commit_url:
        options["commit_url"] = wanted.commit_url
    return config


def _asked(path: Path) -> list[Any]:
    """The plug-ins of a mkdocs.yml, in one of the two ways in which it may list them."""
    from mkdocs.utils.yaml import yaml_load

    with path.open("rb") as stream:
        plugins = yaml_load(stream).get("plugins", ["search"])
    return (
        [{name: options or {}} for name, options in plugins.items()] if isinstance(plugins, dict) else plugins or []
    )


def _results_site(wanted: SiteWanted, scratch: Path) -> MkDocsConfig:
    """A site of nothing but results."""
    suite = suite_of(wanted.start) if not wanted.results else None
    results = wanted.results or ((suite.results_dir,) if suite and suite.results_dir.is_dir() else ())
    index = index_for([folder.resolve() for folder in results], _kept(suite.root if suite else wanted.start))
    repository = wanted.repository or (suite.repository if suite else None)
    title = wanted.title or (suite.project if suite else _title(results))
    options = {
        "results": [str(folder.resolve()) for folder in results],
        "index": str(index),
        "repository": str(repository.resolve()) if repository else "",
        "folder": "",
        "commit_url": wanted.commit_url,
        "title": title,
        "asv": str(wanted.asv.resolve()) if wanted.asv else "",
    }
    (scratch / "docs").mkdir()
    path = scratch / "mkdocs.yml"
    path.write_text("site_name: results\n", encoding="utf-8")
    return _loaded(path, _settings(wanted, scratch, f"{title}: performance" if title else "Performance", options))


def _kept(folder: Path) -> Path:
    """Where the index can be kept between builds."""
    return folder.resolve() if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())


def _title(results: tuple[Path, ...]) -> str:
    """What a folder of results is called by whoever keeps it."""
    if not results:
        return ""
    folder = results[0].resolve()
    return folder.parent.name if folder.name in {"results", ".asv"} else folder.name


def _settings(wanted: SiteWanted, scratch: Path, name: str, options: dict[str, Any]) -> dict[str, Any]:
    palette = [
        {
            "media": media,
            **({"scheme": scheme, "primary": "indigo", "accent": "indigo"} if scheme else {}),
            "toggle": {"icon": icon, "name": words},
        }
        for media, scheme, icon, words in _TOGGLES
    ]
    features = ["navigation.top", "search.highlight"]
    return {
        "site_name": visible(name, 100).translate(str.maketrans("<>&\"'", "‹›＆”’")),
        "docs_dir": str(scratch / "docs"),
        "site_dir": str(wanted.out.resolve()),
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "features": features, "palette": palette},
        "extra": {"generator": False},
        "plugins": ["search", {_PLUGIN: options}],
    }


def _loaded(path: Path, settings: dict[str, Any]) -> MkDocsConfig:
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    from mkdocs.config import load_config
    from mkdocs.exceptions import ConfigurationError

    try:
        return load_config(str(path), **settings)
    except ConfigurationError as error:
        raise ConfigError(f"MkDocs does not take it: {visible(str(error), 1000)}", file=path) from error


def _build(config: MkDocsConfig) -> None:
    from mkdocs.commands.build import build
    from mkdocs.exceptions import Abort, MkDocsException

    try:
        config.plugins.on_startup(command="build", dirty=False)
        try:
            build(config)
        finally:
            config.plugins.on_shutdown()
    except (Abort, MkDocsException) as error:
        reason = _reason(error)
        if isinstance(reason, WindtunnelError):
            raise reason from None
        raise ConfigError(f"MkDocs can't build the site: {visible(str(reason), 1000)}") from error


def _reason(error: BaseException) -> BaseException:
    """What is at the bottom of it: MkDocs wraps an error of a plug-in twice."""
    while not isinstance(error, WindtunnelError) and (below := error.__cause__ or error.__context__):
        error = below
    return error
