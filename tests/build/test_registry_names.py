"""Names in a registry, what is trusted, and what an engine's words mean. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.adapters.registry import cause_of
from windtunnel.build import identity
from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.build.registry import Registry, Wanted, mistrust, remote_reference
from windtunnel.errors import EngineError, RegistryError
from windtunnel.ports import EngineInfo, ImageInfo

DIGEST = "0123456789abcdef" * 4
TAG = identity.tag("app", DIGEST)
REFERENCE = re.compile(r"[a-z0-9.-]+(?::\d+)?(?:/[a-z0-9._-]+)+:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}")


def test_all_images_are_tags_of_one_repository():
    assert remote_reference("ghcr.io/owner/name", TAG) == f"ghcr.io/owner/name:app-{DIGEST[:24]}"
    assert remote_reference("127.0.0.1:5000/x", TAG) == f"127.0.0.1:5000/x:app-{DIGEST[:24]}"


def test_a_registry_without_a_path_gets_one():
    assert remote_reference("localhost:5000", TAG) == f"localhost:5000/windtunnel:app-{DIGEST[:24]}"


@given(st.text(), st.sampled_from(["ghcr.io/a/b", "127.0.0.1:5000", "registry.example.org/a"]))
def test_every_target_has_a_name_there(target: str, registry: str):
    reference = remote_reference(registry, identity.tag(target, DIGEST))
    assert REFERENCE.fullmatch(reference)
    assert reference.endswith(DIGEST[:24])


IMAGE = ImageInfo(
    "sha256:1", ("a", "b", "c"), 1, "", {"windtunnel": "image", DIGEST_LABEL: DIGEST, "more": "1"}, "linux/amd64"
)
WANTED = Wanted(TAG, DIGEST, ("a", "b"), ("more",))


def labelled(**labels: str) -> ImageInfo:
    return replace(IMAGE, labels={key: value for key, value in {**IMAGE.labels, **labels}.items() if value})


@pytest.mark.parametrize(
    ("info", "word"),
    [
        (replace(IMAGE, labels={}), "not an image of windtunnel's"),
        (labelled(windtunnel="run-1"), "not an image of windtunnel's"),
        (labelled(**{DIGEST_LABEL: DIGEST[:24] + "0" * 40}), "something else"),
        (labelled(**{DIGEST_LABEL: ""}), "missing"),
        (labelled(more=""), "label more"),
        (replace(IMAGE, layers=("a", "x", "c")), "another base"),
        (replace(IMAGE, layers=("a",)), "another base"),
        (replace(IMAGE, layers=()), "another base"),
        (replace(IMAGE, platform="linux/arm64"), "linux/arm64"),
    ],
)
def test_what_is_not_trusted(info: ImageInfo, word: str):
    assert word in mistrust(info, WANTED, "linux/amd64")


def test_what_is_trusted():
    assert mistrust(IMAGE, WANTED, "linux/amd64") == ""
    assert mistrust(replace(IMAGE, platform=""), WANTED, "linux/amd64") == ""
    assert mistrust(IMAGE, replace(WANTED, base=(), labels=()), "") == ""


SAID = {
    "missing": [
        "manifest for 127.0.0.1:5000/x:app-1 not found: manifest unknown: manifest unknown",
        "manifest unknown: manifest unknown",
        'failed to resolve reference "ghcr.io/x/y:z": ghcr.io/x/y:z: not found',
    ],
    "absent": [
        "name unknown: repository name not known to registry",
        "repository 127.0.0.1:5000/x not found: name unknown",
    ],
    "denied": [
        "pull access denied for x/y, repository does not exist or may require 'docker login': denied: requested",
        "unauthorized: authentication required",
        "no basic auth credentials",
        "denied: requested access to the resource is denied",
        "Get http://127.0.0.1:5000/v2/: received unexpected HTTP status: 403 Forbidden",
        "unsupported: The operation is unsupported.",
    ],
    "unreachable": [
        'Get "http://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused',
        'Get "https://no.such/v2/": dial tcp: lookup no.such: no such host',
        "net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)",
        "received unexpected HTTP status: 503 Service Unavailable",
        'error parsing HTTP 429 response body: unexpected end of JSON input: ""',
        "toomanyrequests: You have reached your pull rate limit",
        'Get "https://x/v2/": http: server gave HTTP response to HTTPS client',
        'Get "https://x/v2/": x509: certificate signed by unknown authority',
    ],
    "broken": [
        "filesystem layer verification failed for digest sha256:1",
        "unexpected EOF",
        "unknown blob",
        "error pulling image configuration: image config verification failed for digest sha256:abc",
        "something nobody has ever seen",
    ],
}


@pytest.mark.parametrize(("cause", "text"), [(cause, text) for cause, texts in SAID.items() for text in texts])
def test_what_an_engine_says_has_a_cause(cause: str, text: str):
    assert cause_of(text) == cause


class Shop:
    """An engine whose registry answers as the test says: only for the order of things."""

    def __init__(self, *causes: str) -> None:
        self.causes = list(causes)
        self.pulls = 0

    def pull(self, reference: str, on_line: object, patience: float = 0) -> ImageInfo:
        self.pulls += 1
        raise RegistryError(f"cannot pull {reference}: so it is", cause=self.causes.pop(0))

    def info(self) -> EngineInfo:
        raise EngineError("not asked")


def pulls(registry: Registry, times: int) -> None:
    for _ in range(times):
        assert registry.pull(WANTED, lambda _: None) is None


@pytest.mark.parametrize("cause", ["unreachable", "denied", "absent"])
def test_a_registry_that_can_not_be_used_is_asked_once_and_told_once(cause: str):
    told: list[str] = []
    shop = Shop(cause)
    pulls(Registry(shop, "ghcr.io/owner/name", told.append), 5)
    assert shop.pulls == len(told) == 1
    assert "built here instead" in told[0]


def test_an_image_that_is_not_there_yet_is_no_news():
    told: list[str] = []
    pulls(Registry(Shop("missing", "missing"), "ghcr.io/owner/name", told.append), 2)
    assert told == []


def test_one_broken_image_does_not_speak_for_others():
    told: list[str] = []
    pulls(Registry(Shop("broken", "missing", "broken"), "ghcr.io/owner/name", told.append), 3)
    assert len(told) == 2
    assert "windtunnel push" in told[0]


@pytest.mark.parametrize(
    ("name", "host"),
    [("ghcr.io/a/b", "ghcr.io"), ("localhost:5000/x", "localhost:5000"), ("owner/name", "docker.io")],
)
def test_where_to_log_in_is_told(name: str, host: str):
    told: list[str] = []
    pulls(Registry(Shop("denied"), name, told.append), 1)
    assert f"`docker login {host}`" in told[0]
