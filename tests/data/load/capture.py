"""Captures what the generators say, anew: `python3 tests/data/load/capture.py IMAGE`, with windtunnel installed.

IMAGE is the load image (src/windtunnel/load/image) with nghttp2-server added, for nghttpd. Each capture is one
container without a network, in which server and generator run; see README.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from windtunnel.load import generator
from windtunnel.model import Workload

HERE = Path(__file__).parent
LOG = "/tmp/log"


@dataclass(frozen=True)
class Scene:
    """One capture: which server, which load. `swap` replaces words of the command line, `add` goes before the URL."""

    name: str
    server: str | None
    workload: Workload
    requests: int = 100
    concurrency: int = 4
    log: str | None = LOG
    deadline: float = 10.0
    swap: tuple[tuple[str, str], ...] = ()
    add: tuple[str, ...] = ()

    def argv(self) -> tuple[str, ...]:
        """The command line."""
        tool = generator(self.workload.generator)
        words = tool.argv(
            self.workload, port=8080, requests=self.requests, concurrency=self.concurrency, log=self.log
        )
        words = tuple(dict(self.swap).get(word, word) for word in words)
        return (*words[:-1], *self.add, words[-1])


KEEP, CLOSE = Workload(), Workload(keepalive=False)
H2 = Workload(h2=True)
AB, AB_CLOSE = Workload(generator="ab"), Workload(generator="ab", keepalive=False)
WRK, WRK_CLOSE = Workload(generator="wrk"), Workload(generator="wrk", keepalive=False)
PATIENT = (("30", "1"),)

H2LOAD_SCENES = (
    Scene("h2load-keepalive", "ok", KEEP),
    Scene("h2load-close", "ok", CLOSE),
    Scene("h2load-single", "ok", KEEP, concurrency=1),
    Scene("h2load-nolog", "errors", KEEP, log=None),
    Scene("h2load-chunked", "chunked", KEEP),
    Scene("h2load-post", "ok", Workload(method="POST", body="a=1&b=2")),
    Scene("h2load-empty-post", "ok", Workload(method="POST")),
    Scene("h2load-redirect", "redirect", KEEP),
    Scene("h2load-errors", "errors", KEEP),
    Scene("h2load-failing", "failing", KEEP),
    Scene("h2load-missing-close", "missing", CLOSE),
    Scene("h2load-lengths", "lengths", KEEP),
    Scene("h2load-stray", "stray", KEEP),
    Scene("h2load-short", "short", KEEP),
    Scene("h2load-reset", "reset", CLOSE),
    Scene("h2load-mute", "mute", KEEP),
    Scene("h2load-garbage", "garbage", KEEP),
    Scene("h2load-bare", "bare", KEEP),
    Scene("h2load-closes", "closes", KEEP),
    Scene("h2load-some", "some", KEEP),
    Scene("h2load-quits", "quits", KEEP),
    Scene("h2load-dies", "dies", KEEP),
    Scene("h2load-silent", "silent", KEEP, deadline=1.5),
    Scene("h2load-stall", "stall", KEEP, deadline=1.5),
    Scene("h2load-stall-patience", "stall", KEEP, add=("-N", "1")),
    Scene("h2load-refused", None, KEEP),
    Scene("h2load-usage", "ok", KEEP, swap=(("-m", "-Z"),)),
    Scene("h2load-h2", "nghttpd", H2),
    Scene("h2load-h2-head", "nghttpd", Workload(h2=True, method="HEAD")),
    Scene("h2load-h2-missing", "nghttpd", Workload(h2=True, path="/missing")),
    Scene("h2load-h2-reset", "h2reset", H2),
    Scene("h2load-h2-goaway", "h2goaway", H2),
    Scene("h2load-h2-to-http1", "ok", H2),
)
AB_SCENES = (
    Scene("ab-keepalive", "ok", AB),
    Scene("ab-close", "ok", AB_CLOSE),
    Scene("ab-single", "ok", AB_CLOSE, concurrency=1),
    Scene("ab-table", "ok", AB_CLOSE, log=None),
    Scene("ab-post", "ok", Workload(generator="ab", method="POST", body="a=1&b=2")),
    Scene("ab-errors", "errors", AB),
    Scene("ab-failing", "failing", AB_CLOSE),
    Scene("ab-lengths", "lengths", AB),
    Scene("ab-stray", "stray", AB_CLOSE),
    Scene("ab-short", "short", AB_CLOSE),
    Scene("ab-mute", "mute", AB_CLOSE),
    Scene("ab-bare", "bare", AB_CLOSE),
    Scene("ab-closes", "closes", AB),
    Scene("ab-garbage", "garbage", AB_CLOSE),
    Scene("ab-reset", "reset", AB_CLOSE),
    Scene("ab-dies", "dies", AB),
    Scene("ab-stall", "stall", AB, swap=PATIENT),
    Scene("ab-silent", "silent", AB, deadline=1.5),
    Scene("ab-refused", None, AB),
    Scene("ab-refused-r", None, AB, add=("-r",)),
    Scene("ab-dies-r", "dies", AB, add=("-r",)),
)
WRK_SCENES = (
    Scene("wrk-keepalive", "ok", WRK),
    Scene("wrk-close", "ok", WRK_CLOSE),
    Scene("wrk-errors", "errors", WRK),
    Scene("wrk-failing", "failing", WRK),
    Scene("wrk-short", "short", WRK),
    Scene("wrk-quits", "quits", WRK),
    Scene("wrk-dies", "dies", WRK),
    Scene("wrk-garbage", "garbage", WRK),
    Scene("wrk-stall", "stall", WRK),
    Scene("wrk-silent", "silent", WRK),
    Scene("wrk-late", "late", WRK, swap=(("10s", "1s"), ("1s", "3s"))),
    Scene("wrk-refused", None, WRK),
)


def take(scene: Scene, image: str) -> str:
    """One capture as text."""
    argv = scene.argv()
    asked = {
        "server": scene.server,
        "argv": argv,
        "log": scene.log,
        "deadline": scene.deadline,
        "body": scene.workload.body,
    }
    container = ["docker", "run", "--rm", "-i", "--network", "none", "-v", f"{HERE}:/capture:ro", image]
    done = subprocess.run(
        [*container, "python3", "/capture/inside.py"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(done.stdout)
    head = {
        "server": scene.server,
        "argv": argv,
        "requested": scene.requests,
        "concurrency": scene.concurrency,
        **{key: seen[key] for key in ("exit_code", "timed_out", "wall")},
    }
    lines = [f"{key}: {json.dumps(value)}\n" for key, value in head.items()]
    # One newline more than there was: an output may end within a line.
    parts = [f"=== {name}\n{seen[name]}\n" for name in ("stdout", "stderr", "log") if seen[name] is not None]
    return "".join(lines + parts)


def main() -> None:
    """All captures, or those named after IMAGE."""
    image, wanted = sys.argv[1], set(sys.argv[2:])
    for scene in (*H2LOAD_SCENES, *AB_SCENES, *WRK_SCENES):
        if not wanted or scene.name in wanted:
            (HERE / f"{scene.name}.txt").write_text(take(scene, image))


if __name__ == "__main__":
    main()
