"""Containers for tests: the engine's own client, and a request from inside a container that has no network."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Every Debian image has perl-base. The answer is read to its end: "status length".
_ASK = r"""
use IO::Socket::INET;
my ($port, $path) = @ARGV;
alarm 20;
my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Timeout => 5)
    or do { print "closed"; exit };
print {$socket} "GET $path HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nConnection: close\r\n\r\n";
my $answer = do { local $/; <$socket> } // "";
my ($head, $body) = split /\r\n\r\n/, $answer, 2;
my ($status) = ($head // "") =~ m{^HTTP/1\.[01] (\d+)} or do { print "closed"; exit };
if ($head =~ /^transfer-encoding:\s*chunked/im) {
    my ($rest, $whole) = ($body, "");
    while ($rest =~ s/^([0-9a-fA-F]+)\r\n//) {
        my $size = hex $1 or last;
        $whole .= substr $rest, 0, $size, "";
        $rest =~ s/^\r\n//;
    }
    $body = $whole;
}
print "$status ", length $body;
"""


@dataclass(frozen=True)
class Answer:
    """What a request was answered with: status, and the body's length in bytes."""

    status: int
    length: int


def docker(*arguments: str, stdin: str | None = None) -> str:
    """Run the engine's client; its output, without blanks at the ends. AssertionError with what it said otherwise."""
    client = shutil.which("docker")
    assert client is not None, "tests of the engine need its client, docker"
    done = subprocess.run((client, *arguments), input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


@contextmanager
def running(image: str, *command: str) -> Iterator[str]:
    """A container of `image`, started as windtunnel starts one: no network, an init; removed at the end."""
    container = docker("run", "--detach", "--init", "--network=none", "--label=windtunnel.test", image, *command)
    try:
        yield container
    finally:
        docker("rm", "--force", container)


def ask(container: str, port: int, path: str = "/", *, tries: int = 200) -> Answer:
    """The answer to one request from inside the container, as soon as its port is open."""
    for _ in range(tries):
        seen = docker("exec", "-i", container, "perl", "-", str(port), path, stdin=_ASK)
        if seen != "closed":
            status, length = seen.split()
            return Answer(int(status), int(length))
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}: {docker('logs', container)}")
