"""WiLiKi on Gauche: every way to it gives the same page, and stray bytes in an answer are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ownsuite import ROOT, Measured, copied, measured, spoilt

from containers import ask, docker, running
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.declare.target import parse_target
from windtunnel.model import Launch

TARGET = "wiliki"
FOLDER = ROOT / "targets" / TARGET
BENCHMARK = "wiliki.Wiki"
PAGE = 2836
STRAY = 264
ALONE, BEHIND_APACHE = f"{BENCHMARK}(trixie, persistent)", f"{BENCHMARK}(trixie, scgi)"


def test_every_value_of_every_axis_is_asked_for() -> None:
    exists = [path.relative_to(ROOT).as_posix() for path in FOLDER.iterdir()].__contains__
    text = (FOLDER / "target.toml").read_text("utf-8")
    target = parse_target(text, name=TARGET, folder=f"targets/{TARGET}", file="target.toml", exists=exists)
    found = discover(load_suite(ROOT / "asv.conf.json"), (BENCHMARK,)).cases

    for axis, values in target.axes.items():
        assert {case.workload.axes[axis] for case in found} == set(values)


@pytest.fixture(scope="module")
def stray(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Every process adds bytes to each third answer that it gives by HTTP: now and then, as a visitor sees it."""
    suite = copied(tmp_path_factory.mktemp("stray") / "suite", TARGET)
    serve = f"targets/{TARGET}/serve.scm"
    spoilt(suite, serve, "(define *processes* 8)", "(define *processes* 8)\n(define *served* 0)")
    more = f'(begin (inc! *served*) (if (zero? (modulo *served* 3)) (make-string {STRAY} #\\.) ""))'
    spoilt(suite, serve, "(http-answer (page variables))", f"(http-answer (string-append (page variables) {more}))")
    cases = (f"^{re.escape(case)}$" for case in (ALONE, BEHIND_APACHE))
    return measured(suite, tmp_path_factory.mktemp("scratch"), *cases)


def launch_of(run: Measured, case: str) -> Launch:
    """The only launch of a case."""
    (launch,) = (launch for launch in run.launches if launch.case == case)
    return launch


@pytest.mark.engine
@pytest.mark.slow
def test_the_page_is_measured(stray: Measured) -> None:
    launch = launch_of(stray, BEHIND_APACHE)

    assert (launch.outcome, launch.reason) == ("ok", "")
    assert all(part.body_bytes == PAGE * part.requests for part in launch.slices)


@pytest.mark.engine
@pytest.mark.slow
def test_stray_bytes_now_and_then_are_found(stray: Measured) -> None:
    launch = launch_of(stray, ALONE)

    assert launch.outcome == "invalid"
    more = re.search(r"([\d,]+) bytes more than [\d,]+ x 2,836$", launch.reason)
    assert more, launch.reason
    assert int(more[1].replace(",", "")) % STRAY == 0
    assert stray.exit == 4


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_every_way_is_measured_on_every_suite(tmp_path: Path) -> None:
    run = measured(ROOT, tmp_path, f"^{BENCHMARK}\\(")

    assert set(run.outcomes.values()) == {"ok"}, run.reasons
    assert len(run.outcomes) == 10
    assert run.exit == 0
    # the very same page, whichever way it took and whichever Gauche made it
    assert len({launch.answer.sha256 for launch in run.launches if launch.answer}) == 1


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("way", ["cgi", "persistent", "scgi", "fastcgi", "squid"])
def test_it_ends_at_the_first_signal(way: str) -> None:
    image = f"windtunnel-test-wiliki:{way}"
    docker("build", "--quiet", "--tag", image, "--build-arg", "SUITE=trixie", str(FOLDER))
    with running(image, "env", f"WAY={way}", "/srv/wiliki/start") as container:
        ask(container, 8080, "/wiliki?WindTunnel")
        docker("kill", "--signal=TERM", container)

        # 137 would be the engine's own doing, after its patience with those who do not listen
        assert docker("wait", container) in {"0", "143"}
    docker("rmi", image)
