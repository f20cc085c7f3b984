"""A wiki in Scheme: what does it cost to start it for every request, and what does a process that stays save?"""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Wiki(HTTPBenchmark):
    """WiLiKi on Gauche: how much faster than CGI is a gosh that stays, and which way to it is the fastest?

    It answers alone ("persistent"), behind Apache by SCGI or FastCGI, or behind squid. Who asked first found 264
    bytes too many in the answers of one of the fast ways, another number each time. So the page is pinned here, byte
    for byte: the time of its last change and the wiki's own address are fixed in the image, and nothing else in it
    varies. Headers are not: Apache tells the length of some answers and not of others, as it happens to read them
    (22 bytes more each; 264 are twelve of them). Plain CGI makes three or four requests a second, so its slices have
    twenty requests and take about six seconds, and a launch has two of them.
    """

    target = "wiliki"
    params = (["bullseye", "trixie"], ["cgi", "persistent", "scgi", "fastcgi", "squid"])
    param_names = ("debian", "way")

    def workload(self, debian: str, way: str) -> Workload:
        return Workload(
            axes={"debian": debian, "way": way},
            path="/wiliki?WindTunnel",
            keepalive=False,
            concurrency=5,
            requests=20 if way == "cgi" else None,
            expect=Expect(
                status=200,
                length=2836,
                sha256="9021a6096d1a3e29ceb74c125418752f137587cec588757f6c532e9a9c02a971",
                headers={"Content-Type": "text/html; charset=utf-8"},
            ),
        )
