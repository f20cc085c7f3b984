"""Python's servers and nginx: what is asked of them, and that a wrong answer is never a fast one."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from ownsuite import ROOT, Measured, copied, measured, spoilt

from containers import docker, running
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.declare.target import parse_target
from windtunnel.model import Case, Target

CASE = "python_servers.PythonServers(gunicorn-gthread, 3.11, keepalive)"
NGINX = "python_servers.Nginx(keepalive)"

# Asked from inside the container: are two requests answered on one connection?
TWICE = """
import http.client, time
for _ in range(100):
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=5)
    try:
        connection.request("GET", "/")
        break
    except OSError:
        time.sleep(0.1)
first = connection.getresponse()
first.read()
kept = connection.sock
if kept:
    connection.request("GET", "/")
    connection.getresponse().read()
print("kept" if kept and connection.sock is kept else "closed")
"""


def target() -> Target:
    text = (ROOT / "targets/python-servers/target.toml").read_text("utf-8")
    return parse_target(
        text, name="python-servers", folder="targets/python-servers", file="target.toml", exists=lambda _: True
    )


def cases() -> tuple[Case, ...]:
    return discover(load_suite(ROOT / "asv.conf.json"), [r"^python_servers\.PythonServers\("]).cases


SERVERS = tuple(target().axes["server"])
CLOSED_ONLY, KEPT_ONLY = "uwsgi", "uwsgi-http11"
"""uWSGI has a socket for each kind of connection; it does the same on both."""


def exactly(case: str) -> str:
    return f"^{re.escape(case)}$"


def only_outcome(seen: Measured) -> str:
    (outcome,) = seen.outcomes.values()
    return outcome


# ---------------- what is asked


def test_every_server_is_asked_for_on_every_python() -> None:
    axes = target().axes
    closed = {tuple(case.workload.axes.values()) for case in cases() if not case.workload.keepalive}

    # uvicorn 0.13 with httptools leaves open what the client wants closed
    every = set(product(set(axes["server"]) - {KEPT_ONLY}, axes["python"]))
    assert closed == every - {("uvicorn-httptools", "3.9")}


def test_connections_are_kept_where_the_server_keeps_them() -> None:
    kept = {case.workload.axes["server"] for case in cases() if case.workload.keepalive}

    assert set(SERVERS) - kept == {"gunicorn-sync", CLOSED_ONLY}


def test_every_answer_is_held_to_its_length_and_its_content() -> None:
    wanted = {
        (case.workload.expect.status, case.workload.expect.length, case.workload.expect.sha256) for case in cases()
    }

    ((status, length, digest),) = wanted
    assert (status, length) == (200, 128)
    assert digest is not None


# ---------------- they serve it


@pytest.mark.engine
@pytest.mark.parametrize("case", [CASE, NGINX], ids=["gunicorn", "nginx"])
def test_it_gives_what_its_benchmark_asks_for(case: str, tmp_path: Path) -> None:
    seen = measured(ROOT, tmp_path, exactly(case))

    assert (seen.exit, seen.outcomes) == (0, {case: "ok"}), seen.reasons
    (answer,) = [launch.answer for launch in seen.launches]
    assert answer is not None
    assert (answer.status, answer.length) == (200, 128)


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_serves_on_every_python(server: str, tmp_path: Path) -> None:
    asked = {case.id: case.workload for case in cases() if case.workload.axes["server"] == server}

    seen = measured(ROOT, tmp_path, rf"PythonServers\({server}, ")

    assert {case: outcome for case, outcome in seen.outcomes.items() if case not in not_to_be_had(seen)} == (
        dict.fromkeys(set(asked) - not_to_be_had(seen), "ok")
    ), seen.reasons
    images = {asked[launch.case].axes["python"]: launch.image for launch in seen.launches}
    assert set(images) >= {"3.11", "3.13"} | ({"3.9"} if server != "hypercorn" else set())
    kept = any(workload.keepalive for workload in asked.values())
    for python, image in images.items():
        assert docker("run", "--rm", image, "python3", "--version").startswith(f"Python {python}.")
        with running(image, *(target().axes["server"][server].command or ())) as container:
            assert docker("exec", "-i", container, "python3", "-", stdin=TWICE) == ("kept" if kept else "closed")


def not_to_be_had(seen: Measured) -> set[str]:
    """The cases that are skipped, which only what is optional or makes no sense may be."""
    return {case for case, outcome in seen.outcomes.items() if outcome == "skipped"}


@pytest.mark.engine
@pytest.mark.nightly
def test_nginx_serves_over_connections_of_both_kinds(tmp_path: Path) -> None:
    seen = measured(ROOT, tmp_path, r"^python_servers\.Nginx\(")

    assert (seen.exit, set(seen.outcomes.values()), len(seen.outcomes)) == (0, {"ok"}, 2), seen.reasons


# ---------------- they are broken on purpose


@pytest.mark.engine
def test_a_body_that_is_too_short_is_no_speed(tmp_path: Path) -> None:
    suite = spoilt(copied(tmp_path / "suite", "python-servers"), "targets/python-servers/app.py", "* 128", "* 127")

    seen = measured(suite, tmp_path, exactly(CASE))

    assert (seen.exit, only_outcome(seen)) == (4, "invalid")
    assert "a body of 127 bytes instead of 128" in seen.reasons


@pytest.mark.engine
def test_another_file_of_the_same_length_is_not_what_nginx_was_asked_for(tmp_path: Path) -> None:
    suite = spoilt(copied(tmp_path / "suite", "nginx"), "targets/nginx/index.txt", "xxxxxxxx", "yyyyyyyy")

    seen = measured(suite, tmp_path, exactly(NGINX))

    assert (seen.exit, only_outcome(seen)) == (4, "invalid")
    assert "a body with SHA-256" in seen.reasons


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "exit_code", "outcome", "words"),
    [
        ('b"x"', 'b"y"', 4, "invalid", "a body with SHA-256"),
        ('"200 OK"', '"500 Oh"', 7, "failed", "500"),
        ("CONTENT = ", "CONTENT = missing + ", 7, "failed", "missing"),
    ],
    ids=["body", "status", "start"],
)
def test_a_broken_application_is_seen(
    old: str, new: str, exit_code: int, outcome: str, words: str, tmp_path: Path
) -> None:
    suite = spoilt(copied(tmp_path / "suite", "python-servers"), "targets/python-servers/app.py", old, new)

    seen = measured(suite, tmp_path, exactly(CASE))

    assert (seen.exit, only_outcome(seen)) == (exit_code, outcome)
    assert words in seen.reasons
