"""`windtunnel clean`: what windtunnel keeps on the engine, and how to get rid of it."""

from __future__ import annotations

import click

from windtunnel.adapters.docker import DockerEngine
from windtunnel.errors import EngineError
from windtunnel.launch.reap import reap_group
from windtunnel.ports import LABEL, Engine
from windtunnel.units import Unit, format_value

__all__ = ["clean_command"]


@click.command("clean", short_help="Remove windtunnel's containers and images from the engine.")
@click.option("--images", is_flag=True, help="Remove the images too: the next run builds them again.")
@click.option("--dry-run", is_flag=True, help="Only say what there is.")
def clean_command(images: bool, dry_run: bool) -> None:
    """Remove every container that carries windtunnel's label, of running commands too; with --images its images.

    Run files and results are never touched.
    """
    engine = DockerEngine()
    containers = engine.containers(LABEL)
    kept = engine.images(LABEL) if images else ()
    size = format_value(float(sum(image.size for image in kept)), Unit.BYTE)
    click.echo(f"{len(containers)} containers, {len(kept)} images ({size}, layers that they share counted each time)")
    if dry_run:
        return
    for group in {container.labels.get(LABEL, "") for container in containers}:
        reap_group(engine, group)
    refused = [error for image in kept if (error := _removed(engine, image.id))]
    engine.prune_dangling(LABEL)
    if refused:
        raise EngineError(
            f"{len(refused)} of {len(kept)} images could not be removed; end what uses them and try again",
            detail="\n".join(map(str, refused)),
        )


def _removed(engine: Engine, image: str) -> EngineError | None:
    """Remove an image; why not, where the engine refuses."""
    try:
        engine.remove_image(image)
    except EngineError as error:
        return error
    return None
