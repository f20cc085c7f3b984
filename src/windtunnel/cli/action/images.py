"""Images that are carried from job to job in a folder: a runner begins with none, and to build them takes minutes."""

from __future__ import annotations

from pathlib import Path

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.imagestore import load_images, our_images, save_images
from windtunnel.cli.action.events import Event
from windtunnel.cli.console import tell
from windtunnel.errors import WindtunnelError

__all__ = ["MOST", "keep_images", "restore_images"]

MOST = 3 << 30
"""Bytes. A repository's caches may have 10 GB together, and what is read anew in each job must not be huge."""


def restore_images(folder: Path) -> None:
    """Give the engine what earlier jobs have kept there. Raises EngineError where no engine answers."""
    count = load_images(DockerEngine(), folder, tell)
    if count:
        tell(f"{count} image{'s' * (count > 1)} of earlier jobs need not be built")


def keep_images(folder: Path, event: Event, most: int = MOST) -> bool:
    """Keep the engine's images there for later jobs; whether it is worth it to carry the folder on.

    At most `most` bytes of them, the load image first, then the newest.

    Only a job of the default branch leaves what others may read; what a pull request keeps is read by itself alone.
    That something can't be kept is told, and is no failure.
    """
    default = event.text("repository", "default_branch")
    if event.name in {"pull_request", "merge_group"} or event.ref != f"refs/heads/{default}":
        return False
    engine = DockerEngine()
    try:
        return save_images(engine, folder, our_images(engine), most, tell) > 0
    except WindtunnelError as error:
        tell(f"the images are not kept for later jobs: {error}")
        return False
