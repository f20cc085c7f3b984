"""One small script under Apache, run in every way that Apache can run a perl."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class HelloWorld(HTTPBenchmark):
    """A CGI.pm script of eleven bytes: how much faster than plain CGI is a perl that stays, and is it right?

    Who asked first had half of the answers of the faster way come back empty, and took them for speed. So each answer
    has to be of the right length here, and to say which way it came. Plain CGI makes some fifty requests a second:
    its slices take two seconds each, and a launch has fewer of them.

    "cgi-bare" and "mod_fcgid-bare" are the same page without CGI.pm. With threads ("event") mod_cgid forks.
    """

    target = "apache-cgi"
    params = (
        ["5.32", "5.36", "5.40"],
        ["cgi", "cgi-bare", "mod_perl", "mod_fcgid", "mod_fcgid-bare"],
        ["prefork", "event"],
    )
    param_names = ("perl", "way", "mpm")

    def workload(self, perl: str, way: str, mpm: str) -> Workload:
        return _hello(perl, way, mpm)


class Perlite(HTTPBenchmark):
    """mod_perlite against plain CGI, as it was first asked: is a perl within Apache faster, for a script as it is?

    The module is in no Debian suite, and is left out where nobody has put one in place.
    """

    target = "apache-cgi"
    params = (["cgi", "mod_perlite"],)
    param_names = ("way",)

    def workload(self, way: str) -> Workload:
        return _hello("5.36", way, "prefork")


def _hello(perl: str, way: str, mpm: str) -> Workload:
    return Workload(
        axes={"perl": perl, "way": way, "mpm": mpm},
        path="/hello",
        keepalive=False,
        concurrency=10,
        expect=Expect(status=200, length=11, headers={"Served-By": way}),
    )
