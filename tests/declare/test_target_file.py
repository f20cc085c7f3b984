from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.declare.target import parse_target
from windtunnel.errors import ConfigError, Exit
from windtunnel.model import AxisValue, Limits, Ready, Service, Target

FILE = "perf/targets/starlet/target.toml"
FOLDER = "perf/targets/starlet"


def parse(text: str, files: tuple[str, ...] = ("Dockerfile",)) -> Target:
    present = {f"{FOLDER}/{name}" for name in files}
    return parse_target(text, name="starlet", folder=FOLDER, file=FILE, exists=present.__contains__)


def refused(text: str, files: tuple[str, ...] = ("Dockerfile",)) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse(text, files)
    assert caught.value.exit is Exit.USAGE
    return caught.value


FULL = """\
kind = "server"
description = "Starlet, a preforking PSGI server"
port = 5321
dockerfile = "docker/Dockerfile"
context = "/"
sources = ["lib/**", "!lib/**/*.md"]
build_only = ["README.md"]
harness = "commit"
build_args = { SUITE = "bookworm" }
env = { LANG = "C.UTF-8" }
command = ["plackup", "app.psgi"]
worker = ["perl", "worker.pl"]
workers = 50
[axes.perl]
"5.36" = { build_args = { SUITE = "bookworm" } }
"5.40" = { build_args = { SUITE = "trixie" }, env = { A = "b" }, command = ["x"], workers = 2 }
[axes.empty_change]
none = {}
[ready]
path = "/health?x=1"
status = 204
timeout = "500ms"
[limits]
memory = "512m"
cpus = 1.5
pids = 64
[[services]]
name = "cache"
target = "memcached"
axes = { version = "1.6" }
env = { A = "1" }
command = ["memcached", "-m", "64"]
limits = { memory = "1g" }
[[services]]
name = "backend"
image = "example.org/backend@sha256:00"
port = 9000
"""


def test_every_field() -> None:
    assert parse(FULL, ("docker/Dockerfile",)) == Target(
        name="starlet",
        folder=FOLDER,
        kind="server",
        description="Starlet, a preforking PSGI server",
        port=5321,
        dockerfile="docker/Dockerfile",
        context="/",
        sources=("lib/**", "!lib/**/*.md"),
        build_only=("README.md",),
        harness="commit",
        build_args={"SUITE": "bookworm"},
        env={"LANG": "C.UTF-8"},
        command=("plackup", "app.psgi"),
        worker=("perl", "worker.pl"),
        workers=50,
        axes={
            "perl": {
                "5.36": AxisValue(build_args={"SUITE": "bookworm"}),
                "5.40": AxisValue(build_args={"SUITE": "trixie"}, env={"A": "b"}, command=("x",), workers=2),
            },
            "empty_change": {"none": AxisValue()},
        },
        ready=Ready("/health?x=1", 204, 0.5),
        limits=Limits(512 << 20, 1.5, 64),
        services=(
            Service(
                "cache",
                target="memcached",
                axes={"version": "1.6"},
                env={"A": "1"},
                command=("memcached", "-m", "64"),
                limits=Limits(memory=1 << 30),
            ),
            Service("backend", image="example.org/backend@sha256:00", port=9000),
        ),
    )


def test_defaults() -> None:
    assert parse("") == Target(name="starlet", folder=FOLDER)


@pytest.mark.parametrize(
    ("text", "harness"),
    [
        ("", "commit"),
        ('context = "/"\nsources = ["**"]', "head"),
        ('context = "/"\nsources = ["**"]\nharness = "commit"', "commit"),
        ('harness = "head"', "head"),
    ],
)
def test_the_harness_follows_the_context(text: str, harness: str) -> None:
    assert parse(text).harness == harness


@pytest.mark.parametrize(
    ("written", "seconds"),
    [('"20s"', 20), ('"500ms"', 0.5), ('"250 us"', 250e-6), ('"2m"', 120), ('"1.5min"', 90), ("3", 3), ("0.5", 0.5)],
)
def test_durations(written: str, seconds: float) -> None:
    assert parse(f"ready = {{ timeout = {written} }}").ready.timeout == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ('"1g"', 1 << 30),
        ('"1G"', 1 << 30),
        ('"512m"', 512 << 20),
        ('"512MiB"', 512 << 20),
        ('"0.5g"', 512 << 20),
        ('"8192k"', 8 << 20),
        ("268435456", 256 << 20),
        ('"268435456"', 256 << 20),
    ],
)
def test_sizes(written: str, size: int) -> None:
    assert parse(f"limits = {{ memory = {written} }}").limits.memory == size


WRONG = [
    # every top-level field with a value of the wrong type or outside its range
    ("kind = 1", 1, "kind", 'found 1 (an integer), expected "server" or "client"'),
    ('kind = "Server"', 1, "kind", 'found "Server" (a string)'),
    ("description = []", 1, "description", "found an empty array, expected a string"),
    ('port = "80"', 1, "port", 'found "80" (a string), expected an integer from 1 to 65535'),
    ("port = 80.0", 1, "port", "found 80.0 (a number)"),
    ("port = true", 1, "port", "found true (a boolean)"),
    ("port = 0", 1, "port", "found 0"),
    ("port = 65536", 1, "port", "found 65536"),
    ("port = 1979-05-27", 1, "port", "found 1979-05-27 (a date or time)"),
    ("dockerfile = 1", 1, "dockerfile", "found 1"),
    ('dockerfile = "../Dockerfile"', 1, "dockerfile", "inside this folder"),
    ('dockerfile = "a/../../b"', 1, "dockerfile", "inside this folder"),
    ('dockerfile = "/Dockerfile"', 1, "dockerfile", "inside this folder"),
    ('dockerfile = ""', 1, "dockerfile", "inside this folder"),
    ('dockerfile = "Other"', 1, "dockerfile", f"{FOLDER}/Other does not exist"),
    ('context = ".."', 1, "context", 'expected "." or "/"'),
    ('port = 1\ncontext = "/"', 2, "sources", 'missing; context "/" needs'),
    ('sources = "**"', 1, "sources", 'found "**" (a string), expected an array of patterns'),
    ("sources = []", 1, "sources", "found an empty array"),
    ('sources = [\n"a",\n1]', 3, "sources[1]", "found 1"),
    ('sources = ["!a"]', 1, "sources", "every pattern excludes"),
    ('sources = ["a", "!"]', 1, "sources[1]", "expected a pattern"),
    ('sources = ["../b/**"]', 1, "sources[0]", "inside the context"),
    ("build_only = [[]]", 1, "build_only[0]", "expected a pattern"),
    ('harness = "base"', 1, "harness", 'expected "commit" or "head"'),
    ("build_args = 1", 1, "build_args", "expected a table of strings"),
    ("build_args = { A = 1 }", 1, "build_args.A", 'write "1"'),
    ("build_args.A = true", 1, "build_args.A", 'write "true"'),
    ('env = { "A B" = "c" }', 1, 'env."A B"', "expected a name"),
    ('env = { A = "b\\u0000" }', 1, "env.A", "expected a string"),
    ("[env]\nA = []", 2, "env.A", "found an empty array"),
    ('command = "serve"', 1, "command", "one per argument"),
    ("command = []", 1, "command", "found an empty array"),
    ('command = ["a", 8080]', 1, "command[1]", "found 8080"),
    ('worker = "perl"', 1, "worker", "one per argument"),
    ("workers = 0", 1, "workers", "an integer, 1 or more"),
    ('description = "x"\nkind = "client"', 1, "worker", "missing; a client needs"),
    # axes
    ("axes = 1", 1, "axes", "expected a table of axes"),
    ("\n[axes]", 2, "axes", "no axis in it"),
    ('axes.perl = ["5.36"]', 1, "axes.perl", "found an array, expected a table of values"),
    ("\n[axes.perl]", 2, "axes.perl", "an axis without values"),
    ('[axes."a b"]\nx = {}', 1, 'axes."a b"', "not a name for an axis"),
    ('[axes.perl]\n"5.36" = "bookworm"', 2, 'axes.perl."5.36"', 'found "bookworm" (a string), expected a table'),
    ("[axes.perl]\n5.36 = {}", 2, "axes.perl.5.36", 'write "5.36" in quotes'),
    ('[axes.perl]\n"5.36" = { evn = { A = "b" } }', 2, 'axes.perl."5.36".evn', 'did you mean "env"?'),
    ('[axes.perl]\n"5.36" = { env = { A = 1 } }', 2, 'axes.perl."5.36".env.A', 'write "1"'),
    ('[axes.perl."5.36"]\nworkers = "4"', 2, 'axes.perl."5.36".workers', "an integer"),
    ('[axes.perl."5.36"]\nbuild_args = []', 2, 'axes.perl."5.36".build_args', "a table of strings"),
    ('[axes.perl."5.36"]\ncommand = "x"', 2, 'axes.perl."5.36".command', "one per argument"),
    ('[axes.a]\n"x, y" = {}', 2, 'axes.a."x, y"', "ambiguous"),
    ('[axes.a]\n"b=c" = {}', 2, 'axes.a."b=c"', "ambiguous"),
    ('[axes.a]\n"f(x)" = {}', 2, 'axes.a."f(x)"', "ambiguous"),
    ('[axes.a]\n" x" = {}', 2, 'axes.a." x"', "ambiguous"),
    ('[axes.a]\n"" = {}', 2, 'axes.a.""', "ambiguous"),
    ("[axes.a]\non = {}\nOn = {}", 3, "axes.a.On", 'too like the value "on"'),
    # ready, limits
    ('ready = "/"', 1, "ready", "expected a table"),
    ('[ready]\npath = "health"', 2, "ready.path", 'a path that starts with "/"'),
    ('[ready]\npath = "/a b"', 2, "ready.path", 'a path that starts with "/"'),
    ("[ready]\nstatus = 99", 2, "ready.status", "from 100 to 599"),
    ('[ready]\nstatus = "200"', 2, "ready.status", "from 100 to 599"),
    ('[ready]\ntimeout = "20"', 2, "ready.timeout", "a duration above 0"),
    ('[ready]\ntimeout = "0s"', 2, "ready.timeout", "a duration above 0"),
    ("[ready]\ntimeout = -1", 2, "ready.timeout", "a duration above 0"),
    ("[ready]\ntimeout = inf", 2, "ready.timeout", "a duration above 0"),
    ("[ready]\ntimeout = true", 2, "ready.timeout", "a duration above 0"),
    ('[ready]\npath = "/"\ntime_out = "20s"', 3, "ready.time_out", 'did you mean "timeout"?'),
    ("limits = []", 1, "limits", "expected a table"),
    ('[limits]\nmemory = "1 gallon"', 2, "limits.memory", 'such as "512m"'),
    ("[limits]\nmemory = 512", 2, "limits.memory", "at least 6m"),
    ("[limits]\nmemory = 1e9", 2, "limits.memory", 'such as "512m"'),
    ('[limits]\nmemory = "99999999999t"', 2, "limits.memory", 'such as "512m"'),
    ("[limits]\ncpus = 0", 2, "limits.cpus", "a number of cores"),
    ("[limits]\ncpus = nan", 2, "limits.cpus", "a number of cores"),
    ('[limits]\ncpus = "2"', 2, "limits.cpus", "a number of cores"),
    ("[limits]\npids = 0", 2, "limits.pids", "an integer, 1 or more"),
    ("[limits]\nmem = 1", 2, "limits.mem", 'did you mean "memory"?'),
    # services
    ('[services]\nname = "a"', 1, "services", "two brackets"),
    ("services = [1]", 1, "services", "two brackets"),
    ('[[services]]\ntarget = "x"', 1, "services[0].name", "missing; expected a name"),
    ('[[services]]\nname = "a b"\ntarget = "x"', 2, "services[0].name", "expected a name"),
    ('[[services]]\nname = "a"', 1, "services[0]", "neither a target nor an image"),
    ('[[services]]\nname = "a"\ntarget = "x"\nimage = "y"', 1, "services[0]", "both a target and an image"),
    ('[[services]]\nname = "a"\ntarget = "../x"', 3, "services[0].target", "the name of a target"),
    ('[[services]]\nname = "a"\nimage = "b c"', 3, "services[0].image", "an image, such as"),
    ('[[services]]\nname = "a"\nimage = "b"\nport = 70000', 4, "services[0].port", "from 1 to 65535"),
    ('[[services]]\nname = "a"\nimage = "b"\naxes = { v = "1" }', 4, "services[0].axes", "an image has no axes"),
    ('[[services]]\nname = "a"\ntarget = "b"\naxes = { v = 1.6 }', 4, "services[0].axes.v", 'write "1.6"'),
    ('[[services]]\nname = "a"\ntarget = "b"\nenv = 1', 4, "services[0].env", "a table of strings"),
    ('[[services]]\nname = "a"\ntarget = "b"\ncommand = "x"', 4, "services[0].command", "one per argument"),
    ('[[services]]\nname = "a"\ntarget = "b"\n[services.limits]\ncpus = ""', 5, "services[0].limits.cpus", "cores"),
    ('[[services]]\nname = "a"\ntarget = "b"\nimge = "c"', 4, "services[0].imge", 'did you mean "image"?'),
    (
        '[[services]]\nname = "a"\ntarget = "b"\n[[services]]\nname = "a"\ntarget = "c"',
        5,
        "services[1].name",
        '"a" is the name of the service on line 2 too',
    ),
    ('services = [{ name = "a", image = "b" }, { name = "a", image = "b" }]', 1, "services[1].name", "line 1 too"),
    # unknown keys, syntax
    ("prot = 80", 1, "prot", 'did you mean "port"?'),
    ('\n"Dockerfile" = "x"', 2, "Dockerfile", 'did you mean "dockerfile"?'),
    ("[limits]\nswap = 1", 2, "limits.swap", "known here: cpus, memory, pids"),
    ("[zzz]\na = 1", 1, "zzz", "known here: axes, build_args"),
    ("port = 1\nport = 2", 2, None, "not valid TOML"),
]


@pytest.mark.parametrize(("text", "line", "key", "words"), WRONG, ids=[repr(case[0]) for case in WRONG])
def test_an_error_names_file_line_and_key(text: str, line: int, key: str | None, words: str) -> None:
    error = refused(text)
    assert (error.file, error.line, error.key) == (FILE, line, key)
    assert words in str(error)
    assert str(error).startswith(f"{FILE}:{line}: {key + ': ' if key else ''}")
    assert "\n" not in str(error), "one mistake is one line"


def test_a_missing_dockerfile_names_the_path_it_looked_for() -> None:
    error = refused("port = 1", files=())
    assert f"{FOLDER}/Dockerfile does not exist" in str(error)
    assert error.key == "dockerfile"


def test_all_mistakes_are_reported_at_once_in_the_order_of_their_lines() -> None:
    error = refused('[limits]\ncpus = "2"\n[ready]\nstatus = 1\npaht = "/"\n[[services]]\nname = "a"\n')
    places = re.findall(rf"^{re.escape(FILE)}:(\d+): (\S+): ", str(error), re.MULTILINE)
    assert places == [("2", "limits.cpus"), ("4", "ready.status"), ("5", "ready.paht"), ("6", "services[0]")]
    assert (error.line, error.key) == (2, "limits.cpus")


def test_long_values_are_shortened_in_messages() -> None:
    assert len(str(refused(f'kind = "{"x" * 5000}"'))) < 300


TABLE_NAMES = ["ready", "limits", "axes.perl", 'axes.perl."5.36"', "services", "env", "build_args", "axes", "x"]
KEY_NAMES = [
    *Target.__dataclass_fields__,
    *("target", "image", "path", "status", "timeout", "memory", "cpus", "pids", "5.36", '"5.36"', "extra"),
]
VALUES = [
    *(
        "1",
        "-1",
        "0.5",
        "nan",
        "true",
        "1979-05-27",
        '""',
        '"x"',
        '"/"',
        '"."',
        '"client"',
        '"head"',
        '"1g"',
        '"20s"',
    ),
    *("[]", '["a"]', "[1]", '"!x"', '["!x"]', "{}", "{ a = 1 }", '{ A = "b" }', '{ path = "/" }'),
    *('[{ name = "a" }]', '[{ name = "a", image = "b", env = { A = 1 } }]', '{ "5.36" = { env = { A = "b" } } }'),
]
LINES = st.one_of(
    st.sampled_from(TABLE_NAMES).map(lambda name: f"[{name}]"),
    st.sampled_from(TABLE_NAMES).map(lambda name: f"[[{name}]]"),
    st.tuples(st.sampled_from(KEY_NAMES), st.sampled_from(VALUES)).map(lambda pair: f"{pair[0]} = {pair[1]}"),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(LINES, max_size=8).map("\n".join) | st.text(max_size=40))
def test_no_text_raises_anything_but_a_config_error(text: str) -> None:
    try:
        parse(text)
    except ConfigError as error:
        assert error.file == FILE
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1


PLAIN = {
    "port": 80,
    "kind": "client",
    "description": "text",
    "context": "/",
    "sources": ["**"],
    "workers": 2,
    "harness": "head",
    "worker": ["x"],
}
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), inner, max_size=2)
    ),
    max_leaves=3,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(PLAIN)), JUNK)
def test_a_field_takes_a_good_value_or_is_named_in_the_error(field: str, junk: object) -> None:
    text = "\n".join(f"{key} = {toml(junk if key == field else value)}" for key, value in PLAIN.items())
    try:
        target = parse(text)
    except ConfigError as error:
        assert (error.key or "").startswith(field) or field == "context"
    else:
        found = getattr(target, field)
        assert (list(found) if isinstance(found, tuple) else found) == tomllib.loads(text)[field]


def toml(value: object) -> str:
    match value:
        case None:
            return '""'
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + "".join(c if c.isalnum() else f"\\U{ord(c):08X}" for c in value) + '"'
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    return repr(value)
