"""Images on their way to a registry and back."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from imagesuite import APP, Suite

from registries import Served
from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.build.context import tar
from windtunnel.build.images import ImageBuilder
from windtunnel.errors import EngineError
from windtunnel.model import ResolvedLaunch, Variant
from windtunnel.ports import BuildRequest, SourceFile

OTHER = Variant("other")
SMALL = "FROM scratch\nCOPY . /app/\n"
"""Pushing is what takes time here: a base of 80 MB is packed for each registry of a test."""

needs_forgetting = pytest.mark.skipif(
    buildx_available(), reason="BuildKit's cache keeps the layers of a removed image"
)


def forget(engine: DockerEngine, seen) -> None:
    for tag in {tag for kind in ("finished", "pulled", "reused") for tag in seen.tags(kind)}:
        with suppress(EngineError):
            engine.remove_image(tag)


def pushed(builder: ImageBuilder, *launches: ResolvedLaunch) -> None:
    for launch in launches:
        assert builder.registry.push(launch.image, lambda _: None)


def kinds(seen) -> list[str]:
    return [kind for kind, _ in seen.events if kind != "line"]


def of_test(engine: DockerEngine, launch: ResolvedLaunch, address: str) -> str:
    """The image's name in the registry, which the engine is not to keep."""
    reference = f"{address}/tests/project:{launch.image.removeprefix('windtunnel/').replace(':', '-')}"
    assert engine.image(reference) is None
    return reference


def bare(engine: DockerEngine, tag: str, content: bytes, dockerfile: str = "FROM scratch\n", **labels: str) -> None:
    """Some image under that name."""
    text = f"{dockerfile}COPY a /a\n"
    context = tar([SourceFile("a", 0o644, content), SourceFile("Dockerfile", 0o644, text.encode())])
    engine.build(BuildRequest(tag, context, "Dockerfile", {}, labels), lambda _: None)


def put(
    engine: DockerEngine, reference: str, content: bytes, dockerfile: str = "FROM scratch\n", **labels: str
) -> None:
    """Push some image under that name, and keep nothing of it."""
    bare(engine, reference, content, dockerfile, **labels)
    engine.push(reference, lambda _: None)
    engine.remove_image(reference)


def turned_into(served: Served, architecture: str) -> None:
    """Give every image in the registry another architecture, with all digests right."""
    import hashlib
    import urllib.request

    def send(method: str, path: str, body: bytes | None, kind: str) -> object:
        url = path if path.startswith("http") else f"http://{served.address}/v2/tests/project/{path}"
        request = urllib.request.Request(
            url, data=body, method=method, headers={"Content-Type": kind, "Accept": kind}
        )
        return urllib.request.urlopen(request, timeout=10)

    kind = "application/vnd.docker.distribution.manifest.v2+json"
    for tag in served.tags("tests/project"):
        manifest = json.load(send("GET", f"manifests/{tag}", None, kind))
        config = json.load(send("GET", f"blobs/{manifest['config']['digest']}", None, "*/*"))
        content = json.dumps({**config, "architecture": architecture}).encode()
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        where = send("POST", "blobs/uploads/", b"", "application/octet-stream").headers["Location"]
        joint = "&" if "?" in where else "?"
        send("PUT", f"{where}{joint}digest={digest}", content, "application/octet-stream")
        manifest["config"] |= {"digest": digest, "size": len(content)}
        send("PUT", f"manifests/{tag}", json.dumps(manifest).encode(), kind)


def both(suite: Suite) -> list[tuple[object, Variant]]:
    suite.target("app", "FROM scratch\nCOPY stamp one /\n", one="1")
    suite.target("other", "FROM scratch\nCOPY stamp two /\n", two="2")
    return [(suite.arm(), APP), (suite.arm(), OTHER)]


def said_once(told: list[str], *words: str) -> None:
    assert len(told) == 1, told
    assert "images are built here instead" in told[0]
    for word in words:
        assert word in told[0]
