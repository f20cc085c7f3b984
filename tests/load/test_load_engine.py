"""The load image as it is built, with the generators in it: our command lines, run, parsed and judged."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from captured import FOLDER, Capture, read
from test_load_captures import GOOD, judged

import windtunnel.load

sys.path.insert(0, str(FOLDER))
from capture import AB_SCENES, H2LOAD_SCENES, WRK_SCENES, Scene, take

pytestmark = [pytest.mark.engine, pytest.mark.slow]
IMAGE = Path(windtunnel.load.__file__).parent / "image"
SCENES = {scene.name: scene for scene in (*H2LOAD_SCENES, *AB_SCENES, *WRK_SCENES)}
CHOSEN = [name for name, scene in SCENES.items() if scene.server != "nghttpd" and scene.deadline >= 10]
ALWAYS = ("keepalive", "close", "errors", "short", "dies", "refused")
"""What each generator is asked by `make test`. Its output for the others was captured: see the tests of parsers."""


def docker(*words: str, given: str = "") -> str:
    done = subprocess.run(["docker", *words], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The load image, built by the engine at hand; removed afterwards."""
    tag = f"windtunnel-test/load:{uuid.uuid4().hex[:12]}"
    docker("build", "-q", "-t", tag, str(IMAGE))
    yield tag
    docker("image", "rm", tag)


def run(scene: Scene, image: str) -> Capture:
    return read(take(scene, image))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name.partition("-")[2] in ALWAYS else pytest.mark.nightly) for name in CHOSEN],
)
def test_the_judge_tells_good_from_bad(image: str, name: str) -> None:
    case = run(SCENES[name], image)
    reason, _ = judged(case, case.parse())
    assert (reason == "") == (name in GOOD), (reason, case.output.stdout, case.output.stderr)


@pytest.mark.parametrize("name", ["h2load-close", "ab-keepalive"])
def test_the_number_of_requests_is_honoured(image: str, name: str) -> None:
    scene = replace(SCENES[name], requests=1234, concurrency=17)
    case = run(scene, image)
    result = case.parse()
    assert result.completed == 1234
    assert judged(case, result)[0] == ""
    assert len(result.latencies) == (1234 if name.startswith("h2load") else 0)


@pytest.mark.parametrize("name", ["h2load-keepalive", "ab-close"])
def test_a_process_killed_at_its_deadline(image: str, name: str) -> None:
    case = run(replace(SCENES[name], server="stall", deadline=1.0), image)
    result = case.parse()
    assert case.output.timed_out
    assert result.failed.get("timeout", 0) >= 100 - 59
    assert "killed at its deadline" in judged(case, result)[0]


def test_the_worker_starts_from_compiled_code_and_answers(image: str) -> None:
    answer = docker("run", "--rm", "-i", "--network", "none", image, given='{"op": "probe"}\n')
    assert '"ok": true' in answer
    assert all(tool in answer for tool in ("h2load", "ab", "wrk"))
    check = "import httpx, h2, pathlib; print(len(list(pathlib.Path('__pycache__').glob('worker.*.pyc'))))"
    assert docker("run", "--rm", "--network", "none", image, "python3", "-c", check).strip() == "1"
