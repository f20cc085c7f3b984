"""Small HTTP daemons in Perl: do they serve the page they are measured with, and is another page noticed?"""

from __future__ import annotations

from pathlib import Path

import pytest
from ownsuite import ROOT, copied, measured, spoilt

from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite

SIMPLE = "daemons.Daemons(HTTP-Server-Simple)"
SIMPLE_ALONE = r"^daemons\.Daemons\(HTTP-Server-Simple\)$"
SCRIPTS = ("http-server-simple.pl", "mojo.pl", "http-engine.pl")


def test_all_daemons_serve_the_page_that_is_expected() -> None:
    cases = discover(load_suite(ROOT / "asv.conf.json"), [r"^daemons\."]).cases
    (expected,) = {(case.workload.expect.length, case.workload.expect.sha256) for case in cases}
    assert expected[0] == 38
    assert {(case.workload.concurrency, case.workload.keepalive) for case in cases} == {(2, False)}
    for script in SCRIPTS:
        text = (ROOT / "targets" / "daemons" / script).read_text("utf-8")
        assert "'Congratulations, your Mojo is working!'" in text, script


@pytest.mark.engine
def test_a_daemon_is_measured(tmp_path: Path) -> None:
    found = measured(ROOT, tmp_path, SIMPLE_ALONE)
    assert found.outcomes == {SIMPLE: "ok"}, found.reasons
    assert found.exit == 0


@pytest.mark.engine
def test_another_page_of_the_same_length_is_no_page(tmp_path: Path) -> None:
    script = "targets/daemons/http-server-simple.pl"
    folder = spoilt(copied(tmp_path / "suite", "daemons"), script, "is working!", "is playing!")
    found = measured(folder, tmp_path / "scratch", SIMPLE_ALONE)

    assert found.outcomes == {SIMPLE: "invalid"}
    assert found.exit == 4
    assert "a body with SHA-256" in found.reasons


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "outcome", "code", "reason"),
    [
        ("is working!'", "is working!!'", "invalid", 4, "a body of 39 bytes instead of 38"),
        ("$tx->res->code(200)", "$tx->res->code(404)", "failed", 7, "did not answer 200"),
        ("$daemon->run;", "die 'no daemon today';", "failed", 7, "no daemon today"),
    ],
)
def test_what_is_broken_in_mojos_is_named(
    tmp_path: Path, old: str, new: str, outcome: str, code: int, reason: str
) -> None:
    folder = spoilt(copied(tmp_path / "suite", "daemons"), "targets/daemons/mojo.pl", old, new)
    found = measured(folder, tmp_path / "scratch", r"^daemons\.Daemons\(Mojo\)$")

    assert found.outcomes == {"daemons.Daemons(Mojo)": outcome}, found.reasons
    assert found.exit == code
    assert reason in found.reasons


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_both_answer_on_every_perl(tmp_path: Path) -> None:
    found = measured(ROOT, tmp_path, r"^daemons\.DaemonPerls\(")

    assert len(found.outcomes) == 6
    assert set(found.outcomes.values()) == {"ok"}, found.reasons
    assert found.exit == 0


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_http_engine_is_measured_where_cpan_answers_and_skipped_where_it_does_not(tmp_path: Path) -> None:
    found = measured(ROOT, tmp_path, r"^daemons\.Engine\(HTTP-Engine\)$")

    (outcome,) = found.outcomes.values()
    assert outcome == "ok" or (outcome == "skipped" and "CPAN gave no HTTP::Engine within 20 s" in found.reasons)
