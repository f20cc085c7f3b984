"""Apache and a CGI.pm script: every way serves it, and a wrong answer is never taken for a fast one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ownsuite import ROOT, Measured, copied, measured, spoilt

from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.declare.target import parse_target
from windtunnel.model import Launch

TARGET = "apache-cgi"
FOLDER = ROOT / "targets" / TARGET
BENCHMARK = "cgi.HelloWorld"

# true for the first request of a container, which is the check of the answer: what is broken shows under load only
AT_FIRST = "mkdir('/tmp/checked')"
BARE, PERSISTENT, FAST = (f"{BENCHMARK}(5.36, {way}, prefork)" for way in ("cgi-bare", "mod_perl", "mod_fcgid"))
PERLITE = "cgi.Perlite(mod_perlite)"


def only(case: str) -> str:
    """The regular expression that selects one case."""
    return f"^{re.escape(case)}$"


def test_every_value_of_every_axis_is_asked_for() -> None:
    exists = [path.relative_to(ROOT).as_posix() for path in FOLDER.iterdir()].__contains__
    text = (FOLDER / "target.toml").read_text("utf-8")
    target = parse_target(text, name=TARGET, folder=f"targets/{TARGET}", file="target.toml", exists=exists)
    found = discover(load_suite(ROOT / "asv.conf.json"), (r"^cgi\.",)).cases

    for axis, values in target.axes.items():
        assert {case.workload.axes[axis] for case in found} == set(values)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """One script loses every other body, one turns into errors of the same length, one is as it should be."""
    suite = copied(tmp_path_factory.mktemp("broken") / "suite", TARGET)
    scripts = f"targets/{TARGET}/scripts"
    spoilt(suite, f"{scripts}/hello.cgi", "'Hello world'", f"{AT_FIRST} || rand() < .5 ? 'Hello world' : ''")
    status = f'print "Status: 500 Broken\\n" if !{AT_FIRST};'
    spoilt(suite, f"{scripts}/hello-bare.cgi", 'print "Served-by', f'{status}\nprint "Served-by')
    return measured(suite, tmp_path_factory.mktemp("scratch"), *map(only, (BARE, PERSISTENT, FAST)))


def launch_of(run: Measured, case: str) -> Launch:
    """The only launch of a case."""
    (launch,) = (launch for launch in run.launches if launch.case == case)
    return launch


@pytest.mark.engine
def test_a_script_that_is_in_order_is_measured(broken: Measured) -> None:
    launch = launch_of(broken, FAST)

    assert (launch.outcome, launch.reason) == ("ok", "")
    assert all(part.body_bytes == 11 * part.requests for part in launch.slices)


@pytest.mark.engine
def test_bodies_of_the_wrong_length_are_no_speed(broken: Measured) -> None:
    launch = launch_of(broken, PERSISTENT)

    assert launch.outcome == "invalid"
    missing = re.search(r"([\d,]+) bytes less than [\d,]+ x 11$", launch.reason)
    assert missing, launch.reason
    assert int(missing[1].replace(",", "")) % 11 == 0
    assert broken.exit == 4


@pytest.mark.engine
def test_errors_of_the_right_length_are_no_speed_either(broken: Measured) -> None:
    launch = launch_of(broken, BARE)

    assert launch.outcome == "invalid"
    assert re.fullmatch(r"status (\d+) x 500 instead of 200", launch.reason), launch.reason


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_every_way_is_measured_on_every_perl(tmp_path: Path) -> None:
    run = measured(ROOT, tmp_path, f"^{BENCHMARK}\\(")

    assert set(run.outcomes.values()) == {"ok"}, run.reasons
    assert len(run.outcomes) == 30
    assert run.exit == 0


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_module_that_is_not_to_be_had_is_skipped_with_the_reason(tmp_path: Path) -> None:
    suite = copied(tmp_path / "suite", TARGET)
    run = measured(suite, tmp_path / "scratch", only(PERLITE))

    assert run.outcomes == {PERLITE: "skipped"}
    assert "mod_perlite is in no Debian suite" in run.reasons
    assert run.exit == 5  # nothing was measured, and nothing is broken
