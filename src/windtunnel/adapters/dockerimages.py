"""What the engine does with images: the first half of `windtunnel.ports.Engine`."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import docker
import docker.errors

from windtunnel.adapters.dockerclient import DockerClient, translated
from windtunnel.adapters.imagebuild import buildx_available, buildx_build, classic_build
from windtunnel.adapters.registry import pull, push
from windtunnel.errors import EngineError
from windtunnel.ports import BuildRequest, ByteSink, HistoryEntry, ImageInfo, LineSink

__all__ = ["DockerImages", "platform_of"]

_CHUNK = 1 << 20

_ARCHIVE_TIMEOUT = 600.0
"""Seconds: the engine packs or unpacks hundreds of megabytes before it says the next word."""

_YOUNG = "10m"

_NOBODYS = "localhost:1"
"""A registry that there is nowhere."""


class DockerImages(DockerClient):
    """See `windtunnel.ports.Engine` for what the methods promise."""

    @translated
    def image(self, reference: str) -> ImageInfo | None:
        """The image, or None."""
        try:
            return _image_info(self._api.inspect_image(reference))
        except docker.errors.ImageNotFound:
            return None

    @translated
    def history(self, reference: str) -> tuple[HistoryEntry, ...]:
        """Oldest first. The engine tells sizes, not emptiness: a layer is empty when its instruction makes none."""
        entries = [
            HistoryEntry(entry.get("CreatedBy", ""), _is_empty(entry), int(entry.get("Size") or 0))
            for entry in self._api.history(reference)
        ]
        return tuple(reversed(entries))

    @translated
    def images(self, label: str) -> tuple[ImageInfo, ...]:
        """Tagged and untagged."""
        found = self._api.images(filters={"label": label})
        return tuple(_image_info(self._api.inspect_image(entry["Id"])) for entry in found)

    # ---------------- come and go

    @translated
    def pull(self, reference: str, on_line: LineSink, patience: float = 60.0) -> ImageInfo:
        """Pull by name; the registry's refusal is a RegistryError."""
        with self._patient(patience) as api:
            pull(api, reference, on_line, patience)
        return _image_info(self._api.inspect_image(reference))

    @translated
    def push(self, reference: str, on_line: LineSink, patience: float = 60.0) -> None:
        """Push by name; the registry's refusal is a RegistryError."""
        with self._patient(patience) as api:
            push(api, reference, on_line, patience)

    @translated
    def save(self, references: Sequence[str], sink: ByteSink) -> None:
        """As `docker save` does it; the library knows how for a single image only."""
        api = self._api
        url = f"{api.base_url}/v{api.api_version}/images/get"
        with api.get(url, params={"names": list(references)}, stream=True, timeout=_ARCHIVE_TIMEOUT) as answer:
            if not answer.ok:
                raise EngineError(f"the container engine refused: {answer.text.strip()}")
            for chunk in answer.iter_content(_CHUNK):
                sink(chunk)

    @translated
    def load(self, chunks: Iterable[bytes]) -> None:
        """As `docker load` does it."""
        with self._patient(_ARCHIVE_TIMEOUT) as api:
            for event in api.load_image(iter(chunks), quiet=True):
                if "error" in event or "message" in event:
                    raise EngineError(str(event.get("error") or event["message"]))

    @translated
    def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
        """buildx where the docker command has it and the engine can, else the classic builder."""
        network = self._build_network()
        if buildx_available():
            with self._sources(request) as sources:
                buildx_build(request, network, on_line, sources)
        else:
            classic_build(self._api, request, network, on_line)
        return _image_info(self._api.inspect_image(request.tag))

    @contextlib.contextmanager
    def _sources(self, request: BuildRequest) -> Iterator[tuple[str, ...]]:
        """What BuildKit may take layers from: a registry's images, else the engine's own under another name.

        BuildKit asks a registry for a name that it does not find here, and ours would be somebody's on a public one.
        """
        if request.remote_cache or not request.cache_from:
            yield request.remote_cache
            return
        names = {f"{_NOBODYS}/{uuid.uuid4().hex}/{own}": own for own in request.cache_from}
        try:
            for name, own in names.items():
                self.tag(own, name)
            yield tuple(names)
        finally:
            for name in names:
                self.remove_image(name)

    def _build_network(self) -> str:
        """ "default", or "host" where the engine has no bridge (no iptables there): a build has to reach packages."""
        return "default" if self._api.networks(names=["bridge"]) else "host"

    # ---------------- names

    @translated
    def tag(self, image: str, reference: str) -> None:
        """One more name."""
        repository, tag = docker.utils.parse_repository_tag(reference)
        self._api.tag(image, repository, tag or "latest", force=True)

    @translated
    def remove_image(self, reference: str) -> None:
        """Untag, and remove what nothing else uses; an image that is gone is fine."""
        with contextlib.suppress(docker.errors.ImageNotFound):
            self._api.remove_image(reference, force=True)

    @translated
    def prune_dangling(self, label: str) -> int:
        """Untagged images with the label. Young ones stay: one that is being built has no tag until its very end."""
        freed = self._api.prune_images(filters={"dangling": True, "label": [label], "until": _YOUNG})
        return int(freed.get("SpaceReclaimed") or 0)


def _image_info(seen: dict[str, Any]) -> ImageInfo:
    return ImageInfo(
        id=seen["Id"],
        layers=tuple((seen.get("RootFS") or {}).get("Layers") or ()),
        size=int(seen.get("Size") or 0),
        created=seen.get("Created") or "",
        labels=dict((seen.get("Config") or {}).get("Labels") or {}),
        platform=platform_of(seen),
        parent=seen.get("Parent") or "",
        tags=tuple(seen.get("RepoTags") or ()),
    )


def platform_of(seen: dict[str, Any]) -> str:
    """Of what an image, or the engine's version, says of itself: "linux/amd64", or "" where it does not."""
    system, machine = seen.get("Os") or "", seen.get("Architecture") or seen.get("Arch") or ""
    return f"{system}/{machine}" if system and machine else ""


def _is_empty(entry: dict[str, Any]) -> bool:
    created = entry.get("CreatedBy", "")
    return (
        entry.get("Size", 0) == 0
        and ("#(nop)" in created or created.split(" ", 1)[0] in _METADATA)
        and not any(word in created for word in (" COPY ", " ADD ", " WORKDIR "))
    )


_METADATA = frozenset(
    ("ARG", "CMD", "ENV", "LABEL", "EXPOSE", "ENTRYPOINT", "USER", "STOPSIGNAL", "VOLUME", "SHELL", "HEALTHCHECK")
)
