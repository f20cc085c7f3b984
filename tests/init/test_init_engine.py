"""Images of what `windtunnel init` writes: they build, and they serve."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import pytest
from sample_projects import OWN_DOCKERFILE, PROJECTS, Make, commit, context_of, pyproject, suite_in, target_of

from containers import Answer, ask, docker, running
from windtunnel.adapters.docker import DockerEngine
from windtunnel.build.context import DOCKERFILE, Context
from windtunnel.cli.detect import detect
from windtunnel.cli.init import initialise
from windtunnel.cli.project import knowledge
from windtunnel.cli.stacks import choose
from windtunnel.ports import BuildRequest

# to build an image takes a while; what is particular to these is in another image as well
COVERED = ("python factory", "python framework user", "python scripts", "python setup.cfg", "perl middleware")
ALWAYS = ("python application",)
"""`make test-all` builds the others too."""


@pytest.fixture
def built() -> Iterator[Callable[[Context], str]]:
    """Builds images, as windtunnel does, and removes their tags at the end."""
    engine = DockerEngine()
    tags: list[str] = []

    def build(context: Context) -> str:
        tags.append(f"windtunnel-test-init:{len(tags)}")
        engine.build(
            BuildRequest(tags[-1], context.tar(), DOCKERFILE, {}, {"windtunnel.test": "init"}), lambda line: None
        )
        return tags[-1]

    yield build
    for tag in tags:
        engine.remove_image(tag)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind in ALWAYS else pytest.mark.nightly)
        for kind in PROJECTS
        if kind not in ("docker", *COVERED)
    ],
)
def test_the_image_builds_and_serves(make: Make, built: Callable[[Context], str], kind: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top, "perf")
    context = context_of(suite, commit(top))
    target = target_of(suite)

    with running(built(context)) as container:
        answer = ask(container, target.port, target.ready.path)

        assert answer.status == target.ready.status
        assert answer.length > 0


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
def test_its_own_dockerfile_builds_and_serves_as_it_is(make: Make, built: Callable[[Context], str]) -> None:
    plain = OWN_DOCKERFILE.replace("# syntax=docker/dockerfile:1\n", "")  # a frontend would have to be pulled
    suite = suite_in(make({**PROJECTS["docker"], "Dockerfile": plain}))

    with running(built(context_of(suite, commit(suite.root)))) as container:
        assert ask(container, 9000).status == 200


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
def test_what_is_installed_is_the_commits_own(make: Make, built: Callable[[Context], str]) -> None:
    """Debian has a Flask of its own, and the dependencies of this project pull it in."""
    top = make({"pyproject.toml": pyproject("flask", "werkzeug"), "flask/__init__.py": "class Flask: mine = 1\n"})
    suite = suite_in(top)
    more = {
        "targets/flask/Dockerfile": (top / "targets/flask/Dockerfile")
        .read_text()
        .replace("python3-werk", "python3-flask python3-werk")
    }
    image = built(context_of(suite, commit(top, more)))

    with running(image, "sleep", "60") as container:
        assert docker("exec", container, "python3", "-c", "import flask; print(flask.Flask.mine)") == "1"


@pytest.fixture(scope="module")
def frameworks() -> Iterator[str]:
    """One image with every server and framework that is known."""
    known = knowledge("python")
    packages = " ".join(one["package"] for kind in ("servers", "frameworks") for one in known[kind].values())
    image = "windtunnel-test-frameworks"
    install = f"RUN apt-get update && apt-get install -y --no-install-recommends {packages}"
    docker(
        "build",
        "--quiet",
        "--tag",
        image,
        "-",
        stdin=f"FROM debian:trixie-slim\n{install}\nRUN mkdir /app\nWORKDIR /app\n",
    )
    yield image
    docker("rmi", image)


def serving(make: Make, name: str) -> tuple[str, tuple[str, ...]]:
    """The application and the command for a project that is `name`."""
    top = make({"pyproject.toml": pyproject(name), f"{name}/__init__.py": ""})
    stack = choose(detect(top))
    initialise(top, example=False, force=False)
    return (top / "targets" / name / "app.py").read_text(), stack.command


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", [*knowledge("python")["servers"], *knowledge("python")["frameworks"]])
def test_every_server_and_framework_answers(make: Make, frameworks: str, name: str) -> None:
    application, command = serving(make, name)

    with running(
        frameworks, "sh", "-c", f"cat > app.py <<'END'\n{application}\nEND\nexec {' '.join(command)}"
    ) as container:
        answer = ask(container, 8080)

    assert answer.status == 200
    assert answer == Answer(200, 128) or name in knowledge("python")["frameworks"]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly  # it is Debian that changes here; what a change names is in the images that are built
def test_every_package_that_is_named_is_in_debian() -> None:
    packages = sorted({name for language in ("python", "perl") for name in _packages(knowledge(language))})
    simulate = "apt-get update -qq && apt-get install --simulate --no-install-recommends -qq"

    docker("run", "--rm", "debian:trixie-slim", "sh", "-c", f"{simulate} {' '.join(packages)} > /dev/null")


def _packages(known: Mapping[str, object]) -> Iterator[str]:
    """Every Debian package in a table of `knowledge`."""
    for key, value in known.items():
        if key in ("package",) or (isinstance(value, str) and key not in ("interface", "app") and "=" not in value):
            yield str(value)
        elif key == "same":
            assert isinstance(value, list)
            yield from (_same(name) for name in value)
        elif isinstance(value, dict):
            yield from _packages(value)


def _same(name: str) -> str:
    if name == name.lower() and "::" not in name and name not in ("namespace::clean",):
        return f"python3-{name}"
    return f"lib{re.sub('::|_', '-', name).lower()}-perl"
