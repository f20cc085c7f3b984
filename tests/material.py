"""Launches, slices and headers: plain ones to change one thing of, and hypothesis strategies for any of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from windtunnel.model import (
    Answer,
    Case,
    Expect,
    Host,
    Launch,
    LaunchPlan,
    Slice,
    Variant,
    Workload,
)
from windtunnel.sample.runfile import Arm, Failure, Header
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

LOAD = Slice(
    role="load",
    concurrency=16,
    requests=160,
    wall=0.04,
    cpu=0.03,
    body_bytes=160 * 128,
    total_bytes=160 * 300,
    status={"200": 160},
    failed={},
    latency={1300: 100, 1400: 60},
    mean_latency=0.004,
    generator_share=0.3,
    server_share=0.75,
    started=1_800_000_000.25,
)
SINGLE = replace(LOAD, role="single", concurrency=1, requests=40, status={"200": 40}, latency={1200: 40})
WARMUP = replace(LOAD, role="warmup")
LAUNCH = Launch(
    case="psgi.Starlet(5.36, close)",
    arm="head",
    number=1,
    identity="ab" * 32,
    image="windtunnel/starlet:1",
    started=1_800_000_000.0,
    answer=Answer(200, 128, "cd" * 32, "HTTP/1.1", {"server": "Starlet"}),
    slices=(WARMUP, LOAD, SINGLE),
    time_to_ready=0.4,
    peak_memory=8e7,
    idle_cpu=0.0,
    image_size=3.2e8,
    spent={"start": 0.5, "warmup": 0.1, "slices": 0.4, "stop": 0.2},
)
HOST = Host(
    cpu_model="A processor",
    cores=2,
    online=(0, 1),
    siblings=((0,), (1,)),
    memory=1 << 33,
    kernel="6.1.0",
    governor="performance",
    cgroup="v2",
    load=0.5,
    engine="Engine",
    engine_version="28.0",
    generators={"h2load": "1.64.0"},
)
CASE = Case(
    benchmark="psgi.Starlet",
    params=(("perl", "5.36"), ("connection", "close")),
    variant=Variant("starlet", (("perl", "5.36"),)),
    workload=Workload(axes={"perl": "5.36"}, keepalive=False, concurrency=16, expect=Expect(length=128)),
)
HEADER = Header(
    id="20261130-120000-abcdef",
    created="2026-11-30T12:00:00Z",
    windtunnel="0.1",
    command=("windtunnel", "run"),
    project="starlet",
    seed="seed",
    plan=LaunchPlan(),
    launches=8,
    arms=(Arm("head", "worktree", "worktree"),),
    cases=(CASE,),
    host=HOST,
)

# ---------------- anything

texts = st.text(max_size=12)
missings = st.builds(Missing, texts)
# as a run file may have them, see `windtunnel.sample.plausible`
amounts = st.just(0.0) | st.floats(1e-12, 1e9, allow_nan=False) | st.floats(1e-3, 1e3, allow_nan=False)
values = amounts | missings
whole = st.integers(0, 10**15)
few = st.integers(0, 10**6)
bytes_or_missing = st.integers(0, 2**60) | missings
# "missing" is the word that the file itself uses for what was not measured: names of others may be it too.
names = texts | st.just("missing")
texts_by_name = st.dictionaries(names, texts, max_size=3)
counts_by_name = st.dictionaries(names, whole, max_size=3)


slices = st.builds(
    Slice,
    role=st.sampled_from(["load", "single", "warmup"]),
    concurrency=st.integers(1, 1000),
    requests=whole,
    wall=values,
    cpu=values,
    body_bytes=bytes_or_missing,
    total_bytes=bytes_or_missing,
    status=counts_by_name,
    failed=counts_by_name,
    latency=st.dictionaries(st.integers(0, 4000), whole, max_size=4),
    mean_latency=values,
    generator_share=values,
    server_share=values,
    started=amounts,
    invalid=texts,
    warnings=st.lists(texts, max_size=2).map(tuple),
)
answers = st.builds(Answer, status=whole, length=whole, sha256=texts, http_version=texts, headers=texts_by_name)
launches = st.builds(
    Launch,
    case=texts,
    arm=texts,
    number=whole,
    identity=texts,
    image=texts,
    started=amounts,
    outcome=st.sampled_from(["ok", "invalid", "failed", "lost"]),
    reason=texts,
    detail=texts,
    answer=st.none() | answers,
    slices=st.lists(slices, max_size=3).map(tuple),
    time_to_ready=values,
    peak_memory=values,
    idle_cpu=values,
    image_size=values,
    spent=st.dictionaries(names, amounts, max_size=3),
    warnings=st.lists(texts, max_size=2).map(tuple),
)
failures = st.builds(
    Failure, case=texts, arm=texts, kind=st.sampled_from(["failed", "skipped"]), reason=texts, detail=texts
)
sizes = st.builds(Sizes, load=whole, single=whole, load_seconds=amounts, single_seconds=amounts)
workloads = st.builds(
    Workload,
    axes=texts_by_name,
    path=texts,
    method=texts,
    headers=texts_by_name,
    body=st.none() | texts,
    keepalive=st.booleans(),
    h2=st.booleans(),
    concurrency=st.integers(1, 1000),
    requests=st.none() | whole,
    generator=st.sampled_from(["h2load", "ab", "wrk", "program"]),
    expect=st.builds(Expect, status=whole, length=st.none() | whole, sha256=st.none() | texts, headers=texts_by_name),
)
pairs = st.lists(st.tuples(names, texts), max_size=2).map(tuple)
cases = st.builds(
    Case, benchmark=texts, params=pairs, variant=st.builds(Variant, target=texts, axes=pairs), workload=workloads
)
headers = st.builds(
    Header,
    id=texts,
    created=texts,
    windtunnel=texts,
    command=st.lists(texts, max_size=3).map(tuple),
    project=texts,
    seed=texts,
    plan=st.builds(LaunchPlan, warmup=few, slices=few, single_slices=few, seconds=amounts, deadline=amounts),
    launches=few,
    arms=st.lists(st.builds(Arm, name=texts, revision=texts, commit=texts), max_size=2).map(tuple),
    cases=st.lists(cases, max_size=2).map(tuple),
    host=st.none() | st.just(HOST),
)
