"""The nouns: what is declared, what is run, what was seen. Frozen, typed, without I/O.

All numbers are in base SI units (seconds, bytes, counts). A number that was not measured is `Missing`, never 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from windtunnel.units import Direction, Missing, Unit, Value

__all__ = [
    "METRICS",
    "Answer",
    "AxisValue",
    "Case",
    "Expect",
    "Host",
    "Launch",
    "LaunchPlan",
    "Limits",
    "LoadResult",
    "Metric",
    "Ready",
    "ResolvedLaunch",
    "Service",
    "Slice",
    "Target",
    "Variant",
    "Workload",
]

Generator = Literal["h2load", "ab", "wrk", "program"]


# ---------------- what is declared


@dataclass(frozen=True)
class Ready:
    """When a launch counts as up: `path` answers with `status` within `timeout` seconds."""

    path: str = "/"
    status: int = 200
    timeout: float = 20.0


@dataclass(frozen=True)
class Limits:
    """What a container may use: `memory` in bytes, `cpus` in cores, `pids` processes and threads."""

    memory: int = 1 << 30
    cpus: float = 1.0
    pids: int = 1024


@dataclass(frozen=True)
class AxisValue:
    """What one value of an axis changes: build arguments, environment, command, number of workers.

    `optional` says that its image may need something that is not to be had everywhere (a base image, a package
    from outside): where that is so the variant is skipped with the reason, and nothing counts as broken.
    """

    build_args: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    workers: int | None = None
    optional: bool = False


@dataclass(frozen=True)
class Service:
    """A companion in the target's network namespace: another target folder, or an image by name.

    Exactly one of `target` and `image` is set. `env` and `command` override the target's own; `axes` chooses the
    variant of a target that has axes; `port` (needed with `image` if anything is to wait for it) is where it listens.
    """

    name: str
    target: str | None = None
    image: str | None = None
    port: int | None = None
    axes: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    limits: Limits | None = None


@dataclass(frozen=True)
class Target:
    """A folder `targets/NAME/` with a Dockerfile, what it serves, and `target.toml`.

    `folder` is its POSIX path relative to the top of the tree it was read from ("perf/targets/NAME").
    """

    name: str
    folder: str
    kind: Literal["server", "client"] = "server"
    description: str = ""
    port: int = 8080
    dockerfile: str = "Dockerfile"
    context: Literal[".", "/"] = "."
    sources: tuple[str, ...] = ("**",)
    build_only: tuple[str, ...] = ()
    harness: Literal["commit", "head"] = "commit"
    build_args: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    worker: tuple[str, ...] | None = None
    workers: int | None = None
    axes: Mapping[str, Mapping[str, AxisValue]] = field(default_factory=dict)
    ready: Ready = field(default_factory=Ready)
    limits: Limits = field(default_factory=Limits)
    services: tuple[Service, ...] = ()


@dataclass(frozen=True)
class Variant:
    """A target at one point on all its axes."""

    target: str
    axes: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.target + "".join(f" {axis}={value}" for axis, value in self.axes)


@dataclass(frozen=True)
class Expect:
    """What every answer of a workload has to be.

    `length` is the body's length in bytes, `sha256` its hash, `headers` a set of exact header values. What is None
    is learned from the first checked answer of a launch and then held to for the rest of it, except that a learned
    body hash is not compared (a page may carry the time of day).
    """

    status: int = 200
    length: int | None = None
    sha256: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """The load: what is asked, by how many at once, over which kind of connection.

    `axes` chooses the target's variant; an axis that is left out must have one value only. `requests` fixes the
    size of a slice; None lets it be calibrated (about 80 ms of load, at least ten times the concurrency).

    With `generator` "program" the load is made by the target's own program, its `worker`: `op` is the operation that
    one request stands for (one call of a client: "get"), `payload` what it is done with ("scalar"). Path, method and
    all else of HTTP mean nothing then, and `expect` is not looked at: the program tells hits and errors.

    `rate` makes the load an open loop: so many requests per second arrive, whether or not the server keeps up, over
    at most `concurrency` connections.
    """

    axes: Mapping[str, str] = field(default_factory=dict)
    path: str = "/"
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    keepalive: bool = True
    h2: bool = False
    concurrency: int = 1
    requests: int | None = None
    generator: Generator = "h2load"
    expect: Expect = field(default_factory=Expect)
    op: str = ""
    payload: str = ""
    rate: float | None = None

    def declared(self) -> Mapping[str, object]:
        """All of it as plain values, without what came later and is not made use of.

        What the version of a benchmark is made from: a field that is added must not end the history of those that
        do without it.
        """
        values = asdict(self)
        return {key: value for key, value in values.items() if key not in _ADDED or value != _ADDED[key]}


_ADDED: Mapping[str, object] = {"op": "", "payload": "", "rate": None}


@dataclass(frozen=True)
class Case:
    """Variant x workload: one parameter combination of one benchmark class.

    `benchmark` is asv's name of the class ("psgi.Starlet"), `params` its parameter names and values as text.
    """

    benchmark: str
    params: tuple[tuple[str, str], ...]
    variant: Variant
    workload: Workload

    @property
    def id(self) -> str:
        """How the case is named on the command line and in reports: ``psgi.Starlet(5.36, keepalive)``."""
        values = ", ".join(value for _, value in self.params)
        return f"{self.benchmark}({values})" if values else self.benchmark


# ---------------- what is started


@dataclass(frozen=True)
class ResolvedLaunch:
    """All that decides how a container is started; with the image's digest it is the identity of an arm of a case.

    `image` is a reference the engine knows; `digest` is the content digest windtunnel gave it (or the engine's id
    for a foreign image). `services` are started before the target, in this order. `warnings` are what a reader of
    any result of this launch should know (images that do not share their layers); they are no part of the identity.
    `worker` is the program of the target's own that makes the load, if it has one: of a client (`port` is None) the
    container's only process, of a server one in a container of its own beside it.
    """

    name: str
    image: str
    digest: str
    port: int | None
    env: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] | None = None
    limits: Limits = field(default_factory=Limits)
    ready: Ready = field(default_factory=Ready)
    workers: int | None = None
    image_size: int | None = None
    services: tuple[ResolvedLaunch, ...] = ()
    warnings: tuple[str, ...] = ()
    worker: tuple[str, ...] | None = None

    @property
    def identity(self) -> str:
        """Hex SHA-256 over everything that can change a measurement (not over names or sizes)."""
        return hashlib.sha256(json.dumps(self._identity(), sort_keys=True).encode()).hexdigest()

    def _identity(self) -> list[object]:
        return [
            self.digest,
            self.port,
            [list(pair) for pair in sorted(self.env)],
            list(self.command) if self.command is not None else None,
            [self.limits.memory, self.limits.cpus, self.limits.pids],
            [service._identity() for service in self.services],
            *([list(self.worker)] if self.worker is not None else []),
        ]


@dataclass(frozen=True)
class LaunchPlan:
    """How one launch is loaded: warm-up, slices at the workload's concurrency, slices at concurrency 1.

    `seconds` is what a slice should last when its size is calibrated, `deadline` after how many seconds a slice is
    given up as hung.
    """

    warmup: int = 1
    slices: int = 10
    single_slices: int = 2
    seconds: float = 0.08
    deadline: float = 30.0


# ---------------- what was seen


@dataclass(frozen=True)
class LoadResult:
    """What a load generator said of one run: `parse()`'s result, the same for every generator.

    Attributes:
        requested: requests asked for.
        completed: answers that came back whole, whatever their status.
        seconds: wall time of the load, as the generator measured it.
        status: answers by status code ("200": 4000); "2xx", "2xx-3xx" or "non-2xx" where the generator only tells
            the class.
        failed: what went wrong, by kind ("connect", "timeout", "length", "read", "write", "status", "error"): only
            kinds that occurred. "status" is what the generator takes for a failure, whatever was expected.
        body_bytes: bytes of bodies received, or Missing.
        total_bytes: bytes received with headers, or Missing.
        latencies: seconds per request, one per request in the order of completion, or () where the generator
            gives none. `percentiles` then holds what it printed itself.
        percentiles: latency in seconds by percent (50: 0.001), as printed by a generator that gives no log.
        mean_latency: mean seconds per request, or Missing.
        kept: answers that left their connection open, or Missing where the generator does not count them.
        late: how far the generator of an open loop, by its own doing, was behind its schedule towards the end, as a
            share of the time that the schedule takes (or of a second, if that is longer).
        server: what the answers called themselves (`Server:` header), where the generator says it.
        warnings: what the generator itself warned of.
    """

    requested: int
    completed: int
    seconds: Value
    status: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    body_bytes: int | Missing = field(default_factory=lambda: Missing("not reported"))
    total_bytes: int | Missing = field(default_factory=lambda: Missing("not reported"))
    latencies: tuple[float, ...] = ()
    percentiles: Mapping[float, float] = field(default_factory=dict)
    mean_latency: Value = field(default_factory=lambda: Missing("not reported"))
    server: str = ""
    warnings: tuple[str, ...] = ()
    kept: int | Missing = field(default_factory=lambda: Missing("not counted"))
    late: float = 0.0


@dataclass(frozen=True)
class Slice:
    """One load run of a fixed number of requests against one launch, with what was read around it.

    Attributes:
        role: "load" at the workload's concurrency, "single" at concurrency 1, "warmup" (never counted).
        requests: asked for and, when valid, completed.
        wall: seconds of load as the generator measured them.
        cpu: CPU seconds the target's containers used meanwhile.
        latency: histogram of seconds per request: bucket index -> count (see `windtunnel.load.histogram`).
        generator_share: the generator's own CPU seconds / wall seconds of its process.
        invalid: why this slice proves nothing, or "".
        warnings: what a reader should know and nothing is judged by.
        percentiles: seconds by percent, as the generator printed them itself where it gives no latency per request.
            Those of several slices can't be put together.
        kept: answers that left their connection open, or Missing where the generator does not count them.
        rate: requests per second that arrived, in an open loop; None in a closed one.
    """

    role: Literal["load", "single", "warmup"]
    concurrency: int
    requests: int
    wall: Value
    cpu: Value
    body_bytes: int | Missing
    total_bytes: int | Missing
    status: Mapping[str, int]
    failed: Mapping[str, int]
    latency: Mapping[int, int]
    mean_latency: Value
    generator_share: Value
    server_share: Value
    started: float
    invalid: str = ""
    warnings: tuple[str, ...] = ()
    percentiles: Mapping[float, float] = field(default_factory=dict)
    kept: int | Missing = field(default_factory=lambda: Missing("not counted"))
    rate: float | None = None


@dataclass(frozen=True)
class Answer:
    """What the independent client (httpx) got when it asked once: the launch's answer check."""

    status: int
    length: int
    sha256: str
    http_version: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """One fresh start of a case's containers, with the slices loaded onto it.

    `outcome` is "ok", "invalid" (ran, but load or answers were wrong), "failed" (did not serve) or "lost"
    (infrastructure: the side-car or the engine went away); `reason` says why it is not "ok".
    `program` is what the target's own program called itself, where that made the load ("pymemcache 4.0.0").
    `spent` is wall time in seconds by phase: "start", "warmup", "slices", "stop" (shared phases of a batch of
    launches are divided among them).
    """

    case: str
    arm: str
    number: int
    identity: str
    image: str
    started: float
    outcome: Literal["ok", "invalid", "failed", "lost"] = "ok"
    reason: str = ""
    detail: str = ""
    answer: Answer | None = None
    slices: tuple[Slice, ...] = ()
    time_to_ready: Value = field(default_factory=lambda: Missing("not reached"))
    peak_memory: Value = field(default_factory=lambda: Missing("not read"))
    idle_cpu: Value = field(default_factory=lambda: Missing("not read"))
    image_size: Value = field(default_factory=lambda: Missing("not known"))
    spent: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    program: str = ""

    def failing(self, outcome: Literal["invalid", "failed", "lost"], reason: str, detail: str = "") -> Launch:
        """This launch, marked as one that proves nothing."""
        return replace(self, outcome=outcome, reason=reason, detail=detail)


@dataclass(frozen=True)
class Host:
    """The machine under load, as the side-car sees it: it is part of every result."""

    cpu_model: str
    cores: int
    online: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...]
    memory: int
    kernel: str
    governor: str
    cgroup: str
    load: float
    engine: str
    engine_version: str
    storage_driver: str = ""
    generators: Mapping[str, str] = field(default_factory=dict)


# ---------------- metrics


@dataclass(frozen=True)
class Metric:
    """Name, unit, direction. `judged` metrics make verdicts, the others are shown."""

    name: str
    unit: Unit
    direction: Direction
    judged: bool
    description: str


def _metric(name: str, unit: Unit, description: str, *, higher: bool = False, judged: bool = False) -> Metric:
    direction = Direction.HIGHER_IS_BETTER if higher else Direction.LOWER_IS_BETTER
    return Metric(name, unit, direction, judged, description)


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        _metric("cpu_per_request", Unit.SECOND, "CPU time of the target per request (cost)", judged=True),
        _metric(
            "time_per_request",
            Unit.SECOND,
            "wall time of a slice / its requests, at the workload's concurrency (capacity)",
            judged=True,
        ),
        _metric("response_time", Unit.SECOND, "mean latency at concurrency 1 (waiting)", judged=True),
        _metric("throughput", Unit.PER_SECOND, "requests per second", higher=True),
        _metric("latency_mean", Unit.SECOND, "mean latency under load"),
        _metric("latency_p50", Unit.SECOND, "median latency under load"),
        _metric("latency_p90", Unit.SECOND, "90th percentile of latency under load"),
        _metric("latency_p99", Unit.SECOND, "99th percentile of latency under load"),
        _metric("transfer_rate", Unit.BYTE_PER_SECOND, "bytes received per second, with headers", higher=True),
        _metric("body_rate", Unit.BYTE_PER_SECOND, "bytes of bodies received per second", higher=True),
        _metric("peak_memory", Unit.BYTE, "peak memory of the target's container"),
        _metric("time_to_ready", Unit.SECOND, "from container start to the first good answer"),
        _metric("idle_cpu", Unit.RATIO, "CPU share of the target while nothing is asked of it"),
        _metric("image_size", Unit.BYTE, "size of the target's image"),
    )
}
