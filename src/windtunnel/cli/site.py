"""`windtunnel site`: the pages of a history, and the project's own ones around them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from windtunnel.cli.console import tell
from windtunnel.errors import ConfigError

__all__ = ["site_command"]

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("site", short_help="Build the site of a history: what changed, and since when.")
@click.option("--results", multiple=True, metavar="DIR", type=_FOLDER, help="A folder of results; may be repeated.")
@click.option(
    "--out", default=Path(".windtunnel/site"), metavar="DIR", type=_FOLDER, show_default=True, help="Where it is put."
)
@click.option("--repository", metavar="DIR", type=_FOLDER, help="The project's git repository.")
@click.option("--commit-url", default="", metavar="URL", help="Where commits are shown; the hash is put behind it.")
@click.option(
    "--config",
    "configuration",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A mkdocs.yml whose pages it has, too.",
)
@click.option("--title", default="", metavar="TEXT", help="What the project is called.")
@click.option("--asv", is_flag=True, help="Put what asv publish makes of the results at asv/.")
def site_command(**given: Any) -> None:
    """Build a site: what changed lately, a page with charts for each benchmark class, versions and servers side by
    side, a feed of changes.

    \b
    Without --results it is the site of this folder's suite: its results, with
    the pages of mkdocs.yml at the top of the repository where there is one.
    With --results it has these alone (or with --config): folders of asv (any
    project's), of the results branch, or of run files.

    \b
    It asks no other host for anything. Put the folder on any web server; from
    the disk all figures are there, but charts can't be changed. Building again
    reads only what is new.

    \b
    Exit codes: 0 built; 2 usage or configuration; 6 the disk; 130 interrupted.
    """
    from windtunnel.site.build import SiteWanted, build_site, needed

    needed()
    with _asv_pages(given.pop("asv"), given["results"]) as pages:
        first = build_site(SiteWanted(Path.cwd(), asv=pages, **given), tell)
    click.echo(first)


@contextmanager
def _asv_pages(asked: bool, results: tuple[Path, ...]) -> Iterator[Path | None]:
    """What asv makes of the suite's results, for as long as the site is built."""
    if not asked:
        yield None
        return
    from windtunnel.site.asvpages import publish
    from windtunnel.site.source import suite_of

    suite = suite_of(Path.cwd())
    if results or suite is None:
        raise ConfigError("asv makes pages of a suite's own results only; leave --results out, or --asv", key="--asv")
    with tempfile.TemporaryDirectory(prefix="windtunnel-asv-") as folder:
        yield publish(suite, Path(folder) / "html", tell)
