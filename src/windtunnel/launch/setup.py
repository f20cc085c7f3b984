"""What a command holds while it measures: the engine, the machine's facts, the load image, its containers' labels."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from windtunnel.build.context import tar
from windtunnel.build.dockerfile import base_images
from windtunnel.build.identity import digest
from windtunnel.errors import EngineError
from windtunnel.launch.launch import CGROUPS, SIDECAR_LIMITS, LaunchContext
from windtunnel.launch.sidecar import Sidecar
from windtunnel.model import Host
from windtunnel.ports import LABEL, BuildRequest, ContainerSpec, Engine, LineSink, SourceFile

__all__ = ["ensure_load_image", "load_image_needed", "open_context", "probe_host"]

_SUITE = "trixie"
_REPOSITORY = "windtunnel/load"


def _load_image_files() -> tuple[SourceFile, ...]:
    folder = resources.files("windtunnel.load") / "image"
    names = ("Dockerfile", "worker.py")
    return tuple(SourceFile(name, 0o644, (folder / name).read_bytes()) for name in names)


def _load_image(engine: Engine) -> tuple[str, tuple[SourceFile, ...]]:
    """The load image's tag for the worker and Dockerfile at hand, and the files it is made of."""
    files = _load_image_files()
    dockerfile = files[0].content.decode()
    layers: list[str] = []
    for base in base_images(dockerfile, {"SUITE": _SUITE}):
        found = engine.image(base)
        if found is None:
            raise EngineError(f"the load image needs {base}, which the engine does not have; run tools/base-images")
        layers += found.layers
    return f"{_REPOSITORY}:{digest(dockerfile, {'SUITE': _SUITE}, files, tuple(layers))[:24]}", files


def load_image_needed(engine: Engine) -> bool:
    """Whether the load image has still to be built."""
    return engine.image(_load_image(engine)[0]) is None


def ensure_load_image(engine: Engine, on_line: LineSink) -> str:
    """The load image's reference; built when this version of it is not there yet."""
    tag, files = _load_image(engine)
    if engine.image(tag) is None:
        labels = {LABEL: "image", "windtunnel.role": "load"}
        engine.build(BuildRequest(tag, tar(files), "Dockerfile", {"SUITE": _SUITE}, labels), on_line)
    return tag


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
