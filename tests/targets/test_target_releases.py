"""Servers as they were released: each image holds the release it is named for, and what is not here is skipped."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from ownsuite import ROOT, copied, measured, spoilt

from commands import assert_refused, run
from containers import docker
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.declare.target import parse_target
from windtunnel.model import Case

TOOL = ROOT / "tools/wheels.py"
CLASSES = {"gunicorn": "Gunicorn", "uvicorn": "Uvicorn", "waitress": "Waitress"}
CASE = "releases.Gunicorn(23.0.0, gthread)"
GONE = "0.0.99"
"""A version that no index has."""


def wheels(*arguments: str, **environment: str) -> CompletedProcess[str]:
    return run(sys.executable, TOOL, *arguments, timeout=600, **environment)


def cases(package: str) -> tuple[Case, ...]:
    return discover(load_suite(ROOT / "asv.conf.json"), [rf"^releases\.{CLASSES[package]}\("]).cases


def versions(package: str) -> list[str]:
    text = (ROOT / f"targets/{package}/target.toml").read_text("utf-8")
    found = parse_target(text, name=package, folder=f"targets/{package}", file="target.toml", exists=lambda _: True)
    assert all(value.optional for value in found.axes["version"].values())
    return list(found.axes["version"])


def exactly(case: str) -> str:
    return f"^{re.escape(case)}$"


def installed(image: str, package: str) -> str:
    ask = f"import importlib.metadata as known; print(known.version('{package}'))"
    return docker("run", "--rm", image, "python3", "-c", ask)


@pytest.fixture(scope="module")
def release() -> None:
    """The wheel of the one release that is measured in `make test`."""
    done = wheels("gunicorn==23.0.0")
    assert done.returncode == 0, done.stderr


# ---------------- what is asked


@pytest.mark.parametrize("package", CLASSES)
def test_every_release_of_the_target_is_asked_for(package: str) -> None:
    asked = [case.workload.axes["version"] for case in cases(package)]

    assert list(dict.fromkeys(asked)) == versions(package)
    assert len(versions(package)) >= 8


@pytest.mark.parametrize("package", CLASSES)
def test_releases_go_from_old_to_new(package: str) -> None:
    numbers = [tuple(int(part) for part in version.split(".")) for version in versions(package)]

    assert numbers == sorted(set(numbers))


# ---------------- they serve


@pytest.mark.engine
def test_a_release_is_what_serves(release: None, tmp_path: Path) -> None:
    seen = measured(ROOT, tmp_path, exactly(CASE))

    assert (seen.exit, seen.outcomes) == (0, {CASE: "ok"}), seen.reasons
    assert installed(seen.launches[0].image, "gunicorn") == "23.0.0"


@pytest.mark.engine
def test_a_release_with_a_broken_application_is_seen(release: None, tmp_path: Path) -> None:
    suite = spoilt(copied(tmp_path / "suite", "gunicorn"), "targets/gunicorn/app.py", "* 128", "* 129")

    seen = measured(suite, tmp_path, exactly(CASE))

    assert (seen.exit, seen.outcomes) == (4, {CASE: "invalid"})
    assert "a body of 129 bytes instead of 128" in seen.reasons


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("package", CLASSES)
def test_every_release_serves(package: str, tmp_path: Path) -> None:
    got = wheels(package)
    assert got.returncode == 0, got.stderr
    asked = {case.id: case.workload.axes["version"] for case in cases(package)}

    seen = measured(ROOT, tmp_path, rf"^releases\.{CLASSES[package]}\(")

    served = {case: outcome for case, outcome in seen.outcomes.items() if outcome != "skipped"}
    assert served == dict.fromkeys(asked, "ok"), seen.reasons
    for image, version in {(launch.image, asked[launch.case]) for launch in seen.launches}:
        assert installed(image, package) == version


# ---------------- a release that is not here


@pytest.mark.engine
def test_a_release_without_a_wheel_is_skipped_with_the_name_of_what_is_missing(tmp_path: Path) -> None:
    suite = copied(tmp_path / "suite", "gunicorn")
    spoilt(suite, "targets/gunicorn/target.toml", "23.0.0", GONE)
    spoilt(suite, "benchmarks/releases.py", "23.0.0", GONE)

    seen = measured(suite, tmp_path, exactly(f"releases.Gunicorn({GONE}, gthread)"))

    assert (seen.exit, set(seen.outcomes.values())) == (5, {"skipped"})
    assert f"targets/gunicorn/Dockerfile:4: the image localhost/wheels/gunicorn:{GONE} is not here" in seen.reasons


# ---------------- tools/wheels.py


def test_help_tells_where_the_versions_come_from() -> None:
    done = wheels("--help")

    assert done.returncode == 0
    assert "FROM localhost/wheels/PACKAGE" in done.stdout


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("flask", "no target wants flask; wanted are gunicorn, uvicorn, waitress"),
        ("Gunicorn", '"Gunicorn" is not PACKAGE or PACKAGE==VERSION'),
        ("gunicorn==", '"gunicorn==" is not PACKAGE'),
        ("gunicorn>=23", '"gunicorn>=23" is not PACKAGE'),
    ],
)
def test_a_wrong_argument_is_a_usage_error(argument: str, words: str) -> None:
    done = wheels(argument)

    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.engine
def test_a_release_that_the_index_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()

    done = wheels(f"gunicorn=={GONE}", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path / "index"))

    assert_refused(done, f"gunicorn {GONE}", "no wheel for Python 3.11")


def test_without_an_engine_the_way_out_is_told(tmp_path: Path) -> None:
    done = wheels(f"gunicorn=={GONE}", PATH=str(tmp_path))

    assert_refused(done, "no docker client on PATH", "tools/docker-engine")


@pytest.mark.engine
def test_the_same_wheel_makes_the_same_layer(tmp_path: Path) -> None:
    """Whoever has a release has the same image, so the same identity."""
    wheel = tmp_path / "made_up-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not a zip file, and no matter")
    layers = []
    for _ in range(2):
        made = run(sys.executable, "-c", MAKE, TOOL.parent, wheel)
        assert made.returncode == 0, made.stderr
        layers.append(docker("image", "inspect", "--format={{json .RootFS.Layers}}", "localhost/wheels/made-up:1.0"))
        docker("rmi", "localhost/wheels/made-up:1.0")
        wheel.touch()

    assert layers[0] == layers[1]


MAKE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import wheels
wheels._import(wheels.Release("made-up", "1.0"), wheels._archive([Path(sys.argv[2])]))
"""
