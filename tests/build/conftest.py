"""Real git repositories and real images, made small and removed again."""

from __future__ import annotations

import re
import subprocess
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from imagesuite import Suite

from windtunnel.build.registry import Registry
from windtunnel.errors import EngineError, WindtunnelError
from windtunnel.model import Variant


@dataclass(frozen=True)
class Repo:
    """A git repository to write to."""

    path: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.path, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def put(self, name: str | bytes, content: str | bytes, *, executable: bool = False) -> None:
        full = self.path / (name if isinstance(name, str) else name.decode("utf-8", "surrogateescape"))
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(content if isinstance(content, bytes) else content.encode())
        full.chmod(0o755 if executable else 0o644)

    def commit(self, message: str = "a commit") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def git_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody's own git configuration; submodules may be fetched from the disk."""
    file = tmp_path_factory.mktemp("gitconfig") / "config"
    file.write_text(
        "[user]\n name = Ada\n email = ada@example.org\n[init]\n defaultBranch = main\n"
        '[protocol "file"]\n allow = always\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return file


@pytest.fixture
def make_repo(tmp_path: Path, git_settings: Path):
    """Call it with a name: a new repository in a folder of that name."""

    def make(name: str = "project") -> Repo:
        path = tmp_path / name
        path.mkdir(parents=True)
        repo = Repo(path)
        repo.git("init", "--quiet")
        return repo

    return make


@pytest.fixture
def repo(make_repo) -> Repo:
    return make_repo()


@pytest.fixture
def suite(repo: Repo) -> Suite:
    """A repository with targets whose images are like no others."""
    return Suite(repo)


@dataclass
class Seen:
    """A BuildProgress that writes down what it is told."""

    events: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    errors: list[WindtunnelError] = field(default_factory=list)
    inside: threading.Lock = field(default_factory=threading.Lock)

    def _note(self, kind: str, tag: str) -> None:
        assert self.inside.acquire(blocking=False), "two calls at once"
        self.events.append((kind, tag))
        self.inside.release()

    def started(self, tag: str, variant: Variant, arm: str) -> None:
        self._note("started", tag)

    def line(self, tag: str, text: str) -> None:
        self._note("line", tag)
        self.lines.append(text)

    def finished(self, tag: str, seconds: float) -> None:
        self._note("finished", tag)

    def reused(self, tag: str, variant: Variant, arm: str) -> None:
        self._note("reused", tag)

    def pulled(self, tag: str, variant: Variant, arm: str) -> None:
        self._note("pulled", tag)

    def failed(self, tag: str, error: WindtunnelError) -> None:
        self._note("failed", tag)
        self.errors.append(error)

    def count(self, kind: str) -> int:
        return sum(1 for event, _ in self.events if event == kind)

    def tags(self, kind: str) -> list[str]:
        return [tag for event, tag in self.events if event == kind]


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture(scope="session")
def engine() -> object:
    """The real engine."""
    from windtunnel.adapters.docker import DockerEngine

    return DockerEngine()


@pytest.fixture
def make_builder(engine, seen: Seen, tmp_path: Path):
    """Call it for a builder on the real engine; what it and others of the test have built is removed at the end.

    All of them share one folder for logs and locks, and `seen` as their progress unless told otherwise.
    """
    from windtunnel.build.images import ImageBuilder

    everyone = [seen]
    before = known_images()

    def make(
        real: object = None, progress: Seen | None = None, jobs: int = 2, registry: Registry | None = None
    ) -> ImageBuilder:
        everyone.append(progress or seen)
        logs = tmp_path / "logs"
        return ImageBuilder(real or engine, progress=progress or seen, logs=logs, jobs=jobs, registry=registry)

    yield make
    for tag in {tag for one in everyone for tag in (*one.tags("finished"), *one.tags("pulled"))}:
        engine.remove_image(tag)
    # stages of a Dockerfile that are no part of the final image stay as the engine's cache
    steps = [step for one in everyone for line in one.lines for step in re.findall(r"---> ([0-9a-f]{12})$", line)]
    for step in reversed(steps):
        info = engine.image(step)
        if info is not None and info.id not in before:
            with suppress(EngineError):  # another test process builds on it
                engine.remove_image(step)


def known_images() -> set[str]:
    """The id of every image that the engine has, intermediate ones too."""
    import docker

    api = docker.APIClient(version="auto")
    for _ in range(5):
        with suppress(docker.errors.APIError):  # an image that goes away meanwhile makes it fail
            return {image["Id"] for image in api.images(all=True)}
    pytest.fail("the engine does not list its images")


def run(engine, image: str, *command: str) -> str:
    """What a command prints in a container of `image`."""
    from windtunnel.ports import ContainerSpec

    name = f"windtunnel-test-{uuid.uuid4().hex[:12]}"
    identifier, _ = engine.create(ContainerSpec(image, name, {"windtunnel-test": "build"}, command=command))
    try:
        engine.start(identifier)
        deadline = time.monotonic() + 30
        while engine.state(identifier).running and time.monotonic() < deadline:
            time.sleep(0.05)
        return engine.logs(identifier)
    finally:
        engine.remove(identifier)


@pytest.fixture
def run_in(engine):
    return lambda image, *command: run(engine, image, *command)
