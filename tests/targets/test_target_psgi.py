"""PSGI servers: do the targets hold what their benchmarks ask for, and is it seen when they do not?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ownsuite import ROOT, Measured, copied, measured, spoilt

from containers import ask, docker, running
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.declare.target import parse_target
from windtunnel.model import Case, Target

TARGETS = ROOT / "targets"
KEEPING = ("Starlet", "Starman", "uWSGI-http11")
CLOSING = ("Starlet", "Starman", "Twiggy", "uWSGI")
APP = "targets/psgi/app.psgi"
STARMAN = r"^psgi\.Servers\(Starman, close\)$"

# two requests on one connection: how many are answered?
TWICE = r"""
use IO::Socket::INET;
alarm 20;
my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]") or die "closed";
my $seen = "";
for my $number (1, 2) {
    print {$socket} join "\r\n", "GET / HTTP/1.1", "Host: localhost", $ARGV[1] || (), "", "";
    while ((() = $seen =~ /x{128}/g) < $number) {
        sysread($socket, $seen, 65536, length $seen) or print($number - 1) && exit;
    }
}
print 2;
"""


def _target(name: str) -> Target:
    folder = TARGETS / name
    text = (folder / "target.toml").read_text("utf-8")
    return parse_target(text, name=name, folder=f"targets/{name}", file="target.toml", exists=lambda _: True)


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    return discover(load_suite(ROOT / "asv.conf.json"), [r"^psgi\."]).cases


def _axes(cases: tuple[Case, ...], benchmark: str) -> set[tuple[str, ...]]:
    found = [case for case in cases if case.benchmark == benchmark]
    return {(*(value for _, value in case.variant.axes), str(case.workload.keepalive)) for case in found}


# ---------------- what is declared


def test_the_perl_with_threads_and_the_one_without_run_the_application_of_the_first_target() -> None:
    one, other = ((TARGETS / name / "app.psgi").read_text("utf-8") for name in ("starlet", "perl-threads"))
    assert one == other


def test_every_server_is_asked_for_on_every_perl_over_both_kinds_of_connection(cases: tuple[Case, ...]) -> None:
    axes = _target("psgi").axes
    assert set(axes["server"]) == {*KEEPING, *CLOSING}
    kinds = [(server, "True") for server in KEEPING] + [(server, "False") for server in CLOSING]
    assert _axes(cases, "psgi.ServerPerls") == {(perl, *kind) for perl in axes["perl"] for kind in kinds}
    assert {one[1:] for one in _axes(cases, "psgi.ServerPerls")} == {one[1:] for one in _axes(cases, "psgi.Servers")}


def test_no_connection_waits_for_a_worker(cases: tuple[Case, ...]) -> None:
    needed = max(case.workload.concurrency for case in cases)
    for name, server in _target("psgi").axes["server"].items():
        assert server.command is not None
        told = [word for word in server.command if word == str(server.workers)]
        assert name == "Twiggy" or (told and server.workers and server.workers >= needed), name
    assert _target("psgi").axes["server"]["Twiggy"].workers is None
    threads = _target("perl-threads")
    assert f'"--max-workers", "{threads.workers}"' in (TARGETS / "perl-threads" / "Dockerfile").read_text("utf-8")
    assert threads.workers and threads.workers >= needed


# ---------------- what is measured


@pytest.fixture(scope="module")
def starman(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measured(ROOT, tmp_path_factory.mktemp("starman"), STARMAN)


@pytest.mark.engine
def test_a_server_is_measured(starman: Measured) -> None:
    assert starman.outcomes == {"psgi.Servers(Starman, close)": "ok"}, starman.reasons
    assert starman.exit == 0
    (launch,) = starman.launches
    assert launch.answer is not None and launch.answer.length == 128


@pytest.mark.engine
def test_a_byte_less_is_no_faster_server(tmp_path: Path) -> None:
    folder = spoilt(copied(tmp_path / "suite", "psgi"), APP, "'x' x 128", "'x' x 127")
    found = measured(folder, tmp_path / "scratch", STARMAN)

    assert found.outcomes == {"psgi.Servers(Starman, close)": "invalid"}
    assert found.exit == 4
    assert "a body of 127 bytes instead of 128" in found.reasons


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "outcome", "code", "reason"),
    [
        ("'x' x 128", "'y' x 128", "invalid", 4, "a body with SHA-256"),
        ("[200,", "[500,", "failed", 7, "did not answer 200"),
        (
            "use Plack::Builder;",
            "use Plack::Builder;\ndie 'no application today';",
            "failed",
            7,
            "no application today",
        ),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, old: str, new: str, outcome: str, code: int, reason: str) -> None:
    folder = spoilt(copied(tmp_path / "suite", "psgi"), APP, old, new)
    found = measured(folder, tmp_path / "scratch", STARMAN)

    assert found.outcomes == {"psgi.Servers(Starman, close)": outcome}, found.reasons
    assert found.exit == code
    assert reason in found.reasons


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_every_server_on_every_perl_answers_as_asked_and_keeps_connections_where_asked(
    tmp_path: Path, cases: tuple[Case, ...]
) -> None:
    found = measured(ROOT, tmp_path, r"^psgi\.ServerPerls\(")

    wanted = {case.id: case for case in cases if case.benchmark == "psgi.ServerPerls"}
    closing = {f"psgi.ServerPerls({perl}, Twiggy, keepalive)": "skipped" for perl in _target("psgi").axes["perl"]}
    assert found.outcomes == {**dict.fromkeys(wanted, "ok"), **closing}, found.reasons
    assert found.exit == 0
    servers = _target("psgi").axes["server"]
    started = {
        (wanted[launch.case].variant.axes, wanted[launch.case].workload.keepalive): launch.image
        for launch in found.launches
    }
    for (axes, keepalive), image in started.items():
        perl, server = dict(axes)["perl"], dict(axes)["server"]
        with running(image, *(servers[server].command or ())) as container:
            ask(container, 5321)
            close = "" if keepalive else "Connection: close"
            answered = docker("exec", "-i", container, "perl", "-", "5321", close, stdin=TWICE)
            assert answered == ("2" if keepalive else "1"), (axes, keepalive)
            assert docker("exec", container, "perl", "-e", 'printf "%vd", $^V').startswith(f"{perl}."), axes


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("target", "case"), [("starlet", "psgi.Starlet(5.36, close)"), ("perl-threads", "psgi.Threads(without, close)")]
)
def test_a_byte_less_is_noticed_of_starlet_too(tmp_path: Path, target: str, case: str) -> None:
    folder = spoilt(copied(tmp_path / "suite", target), f"targets/{target}/app.psgi", "'x' x 128", "'x' x 127")
    found = measured(folder, tmp_path / "scratch", f"^{re.escape(case)}$")

    assert found.outcomes == {case: "invalid"}, found.reasons
    assert found.exit == 4
    assert "a body of 127 bytes instead of 128" in found.reasons


# ---------------- a perl of one's own


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_one_perl_has_threads_the_other_has_not_and_all_else_is_alike(tmp_path: Path) -> None:
    found = measured(ROOT, tmp_path, r"^psgi\.Threads\(")

    names = [f"psgi.Threads({threads}, {kind})" for threads in ("without", "with") for kind in ("close", "keepalive")]
    assert found.outcomes == dict.fromkeys(names, "ok"), found.reasons
    images = {launch.case.partition("(")[2].partition(",")[0]: launch.image for launch in found.launches}
    without, with_ = (_facts(images[name]) for name in ("without", "with"))
    assert (without.pop("usethreads"), with_.pop("usethreads")) == ("", "define")
    assert without == with_
    assert without["parser"] == "1"


def _facts(image: str) -> dict[str, str]:
    """What a perl says of itself: how it was built, and whether Plack will parse requests in C."""
    script = (
        "use Config; print join qq(\\n), map { qq($_=) . ($Config{$_} // '') } "
        "qw(version cc gccversion optimize usethreads useshrplib); "
        "print qq(\\nparser=), eval { require HTTP::Parser::XS }"
    )
    told = docker("run", "--rm", "--network=none", image, "/opt/perl/bin/perl", "-e", script)
    return dict(line.split("=", 1) for line in told.splitlines())


# ---------------- a perl from an image of its own


@pytest.mark.engine
def test_where_no_registry_has_the_image_the_variant_is_skipped_with_that_reason(tmp_path: Path) -> None:
    path = "targets/perl-image/target.toml"
    folder = spoilt(copied(tmp_path / "suite", "perl-image"), path, '"perl:5.16"', '"localhost:9/perl:5.16"')
    found = measured(folder, tmp_path / "scratch", r"^psgi\.OldPerls\(5\.16, close\)$")

    assert found.outcomes == {"psgi.OldPerls(5.16, close)": "skipped"}, found.reasons
    assert found.exit == 5
    assert "localhost:9/perl:5.16" in found.reasons


@pytest.mark.engine
@pytest.mark.nightly
def test_where_cpan_gives_nothing_the_variant_is_skipped_with_that_reason(tmp_path: Path) -> None:
    path = "targets/perl-image/target.toml"
    folder = spoilt(copied(tmp_path / "suite", "perl-image"), path, '"perl:5.16"', '"debian:trixie-slim"')
    found = measured(folder, tmp_path / "scratch", r"^psgi\.OldPerls\(5\.16, close\)$")  # no cpanm in it

    assert found.outcomes == {"psgi.OldPerls(5.16, close)": "skipped"}, found.reasons
    assert "CPAN gave no Starlet within 20 s" in found.reasons


@pytest.mark.engine
@pytest.mark.nightly
def test_the_images_themselves_are_measured_or_skipped_but_never_broken(tmp_path: Path) -> None:
    found = measured(ROOT, tmp_path, r"^psgi\.OldPerls\(.*close\)$")

    assert len(found.outcomes) == 3
    assert set(found.outcomes.values()) <= {"ok", "skipped"}, found.reasons
    for name, outcome in found.outcomes.items():
        perl = name.partition("(")[2].partition(",")[0]
        assert outcome == "ok" or f"perl:{perl}" in found.reasons or "CPAN gave no Starlet" in found.reasons
