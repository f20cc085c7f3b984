"""What a command holds while it measures: the engine, the machine's facts, the load image, its containers' labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources

from windtunnel.build.bases import Bases
from windtunnel.build.context import tar
from windtunnel.build.dockerfile import base_images
from windtunnel.build.identity import DIGEST_LABEL, digest, tag
from windtunnel.build.registry import Registry, Wanted, mistrust
from windtunnel.errors import EngineError
from windtunnel.launch.launch import CGROUPS, SIDECAR_LIMITS, LaunchContext
from windtunnel.launch.sidecar import Sidecar
from windtunnel.model import Host
from windtunnel.ports import LABEL, BuildRequest, ContainerSpec, Engine, ImageInfo, LineSink, SourceFile

__all__ = ["ensure_load_image", "load_image_needed", "open_context", "probe_host"]

_SUITE = "trixie"
_NAME = "load"


def _load_image_files() -> tuple[SourceFile, ...]:
    folder = resources.files("windtunnel.load") / "image"
    names = ("Dockerfile", "worker.py", "arrivals.py")
    return tuple(SourceFile(name, 0o644, (folder / name).read_bytes()) for name in names)


def _load_image(find: Callable[[str], ImageInfo]) -> tuple[Wanted, tuple[SourceFile, ...]]:
    """The load image for the worker and Dockerfile at hand, and the files it is made of; `find` gets its base."""
    files = _load_image_files()
    dockerfile = files[0].content.decode()
    bases = [find(base).layers for base in base_images(dockerfile, {"SUITE": _SUITE})]
    whole = digest(dockerfile, {"SUITE": _SUITE}, files, bases)
    return Wanted(tag(_NAME, whole), whole, bases[-1]), files


def load_image_needed(engine: Engine) -> bool:
    """Whether the load image has still to be built. Raises EngineError where what it stands on is not here."""

    def here(base: str) -> ImageInfo:
        found = engine.image(base)
        if found is None:
            raise EngineError(f"the load image needs {base}, which the engine does not have; run tools/base-images")
        return found

    return engine.image(_load_image(here)[0].tag) is None


def ensure_load_image(engine: Engine, on_line: LineSink, registry: Registry | None = None) -> str:
    """The load image's reference; pulled from the registry, or built, when this version of it is not there yet.

    Raises EngineError where what it stands on is not to be had, BuildFailed.
    """
    bases = Bases(engine, lambda _, line: on_line(line))
    wanted, files = _load_image(lambda base: bases.get(base, "the load image"))
    info = engine.image(wanted.tag)
    if info is not None and not mistrust(info, wanted):
        return wanted.tag
    if registry is None or registry.pull(wanted, on_line) is None:
        labels = {LABEL: "image", "windtunnel.role": "load", DIGEST_LABEL: wanted.digest}
        engine.build(BuildRequest(wanted.tag, tar(files), "Dockerfile", {"SUITE": _SUITE}, labels), on_line)
    return wanted.tag


def probe_host(engine: Engine, load_image: str, labels: Mapping[str, str]) -> Host:
    """Ask the machine under load about itself, from a side-car of its own that is removed at once."""
    spec = ContainerSpec(
        image=load_image,
        name=f"windtunnel-probe-{labels[LABEL]}",
        labels={**labels, "windtunnel.role": "probe"},
        limits=SIDECAR_LIMITS,
        read_only_mounts=CGROUPS,
        interactive=True,
    )
    identifier, _ = engine.create(spec)
    try:
        sidecar = Sidecar(engine.attach(identifier))
        try:
            engine.start(identifier)
            return sidecar.probe(engine.info())
        finally:
            sidecar.close()
    finally:
        engine.remove(identifier)


def open_context(
    engine: Engine, labels: Mapping[str, str], on_line: LineSink, host: Host | None = None
) -> LaunchContext:
    """Everything launches need: the load image, built if need be, and the machine's facts, asked if not given.

    Whoever opens it removes the group's containers at the end: also those of a launch cut short.
    """
    image = ensure_load_image(engine, on_line)
    return LaunchContext(engine, host or probe_host(engine, image, labels), image, labels)
