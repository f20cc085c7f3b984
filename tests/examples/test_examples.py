"""Suites as other projects would write them: two commits of each are really measured, each from its own sources."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from grown import EXAMPLES, arm, check, grown, printed

from containers import docker

# ---------------- a Perl distribution

HASHED = "    return Digest::SHA::sha1_hex(join '', @$pieces);\n"
COUNTED = """\
    my $sum = 0x811c9dc5;
    $sum = (($sum ^ $_) * 0x01000193) & 0xffffffff for unpack 'C*', join '', @$pieces;
    return sprintf '%08x', $sum;
"""


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_perl_distribution(tmp_path: Path) -> None:
    project = grown("perl-distribution", tmp_path / "project")
    project.replace("lib/Plack/Middleware/Fingerprint.pm", HASHED, COUNTED)
    project.commit("Do without Digest::SHA")

    done = project.compare(tmp_path, r"5\.40")

    check(done, project, "psgi.Fingerprint(5.40)")
    length = "print length Plack::Middleware::Fingerprint::fingerprint(['x'])"
    assert printed(done, "perl", "-MPlack::Middleware::Fingerprint", "-e", length) == ["40", "8"]
    tests = (EXAMPLES / "perl-distribution/t/fingerprint.t").read_text()
    image = arm(done.run, "base").image
    assert "\n1..6" in docker("run", "--rm", "-i", "--network=none", image, "perl", "-", stdin=tests)


# ---------------- a client in C, with a submodule

ADLER = (EXAMPLES / "kv-client/vendor/memtext/memtext.c").read_text().partition("/* Adler-32.")[2]
CRC = """\
/* CRC-32, which sees more. */
uint32_t memtext_digest(const char *data, size_t size)
{
    uint32_t sum = 0xffffffff;

    while (size-- > 0) {
        sum ^= (unsigned char)*data++;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xedb88320 & -(sum & 1));
    }
    return ~sum;
}
"""


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_client_in_c_and_its_submodule(tmp_path: Path) -> None:
    """The second commit moves the submodule on, and changes nothing else."""
    submodule = "vendor/memtext"
    project = grown("kv-client", tmp_path / "project", suite="perf", submodule=submodule)
    project.replace(f"{submodule}/memtext.c", f"/* Adler-32.{ADLER}", CRC)
    project.commit("CRC-32", inside=submodule)
    project.commit("Newer memtext")
    assert project.git("diff", "--name-only", "HEAD~1", "HEAD") == submodule

    done = project.compare(tmp_path, r"get, page")

    check(done, project, "kv.Pantry(get, page)")
    assert {launch.program for launch in done.run.launches} == {"pantry 1.2.0"}
    digest = "from pantry import _wire; print(_wire.store(b'k', b'123456789').split()[2].decode())"
    assert printed(done, "python3", "-c", digest) == [str(0x091E01DE), str(0xCBF43926)]  # of Adler-32, of CRC-32


# ---------------- an ASGI server: the page compares it, see test_walk_through.py


def test_lantern_passes_its_own_tests() -> None:
    project = EXAMPLES / "asgi-server"
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        command, cwd=project, env={"PYTHONPATH": "src"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_asv_measures_two_commits_of_it(tmp_path: Path) -> None:
    project = grown("asgi-server", tmp_path / "project", suite="perf")
    project.replace("src/lantern/http1.py", "connection: close", "connection: Close")
    head = project.commit("Write Close")
    base = project.git("rev-parse", "HEAD~1")

    done = subprocess.run(
        [sys.executable, "-m", "asv", "run", "--quick", "--bench", "time_request|track_cpu", "ALL"],
        cwd=project.suite, env={**project.environment, "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=1700, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    for commit in (base, head):
        (path,) = (project.suite / ".asv" / "results").glob(f"*/{commit[:8]}-container.json")
        saved = json.loads(path.read_text())
        for name in ("time_request", "track_cpu_per_request"):
            values = dict(zip(saved["result_columns"], saved["results"][f"http.Lantern.{name}"], strict=False))
            assert len(values["result"]) == 2
            assert all(value > 0 for value in values["result"])
