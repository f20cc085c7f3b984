from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.declare.cases import case_variant
from windtunnel.declare.workload import Where, check_workload, variant_at
from windtunnel.errors import ConfigError, VariantMissing
from windtunnel.model import AxisValue, Expect, Target, Variant, Workload

WHERE = Where("psgi.Starlet", "benchmarks/psgi.py", 12, "5.36, close")

GOOD: list[Mapping[str, object]] = [
    {},
    {"axes": {"perl": "5.36"}, "path": "/a?b=c", "concurrency": 40, "requests": 40},
    {"method": "POST", "body": "a=b\n", "headers": {"Content-Type": "text/plain", "Host": "example.org"}},
    {"method": "PUT", "body": "", "generator": "ab"},
    {"method": "PROPFIND"},
    {"method": "DELETE", "body": "x"},
    {"h2": True},
    {"keepalive": False, "generator": "wrk"},
    {"generator": "program", "op": "get", "payload": "scalar"},
    {"generator": "program", "op": "echo", "path": "echo/1", "h2": True, "keepalive": False, "body": "x"},
    {"rate": 0.5},
    {"rate": 5000, "keepalive": False, "concurrency": 40},
    {"expect": Expect(404, 0, "0" * 64, {"Server": "x"})},
    {"method": "HEAD", "generator": "ab", "expect": Expect(200, 0)},
]


@pytest.mark.parametrize("fields", GOOD, ids=repr)
def test_a_sound_workload_passes(fields: Mapping[str, object]) -> None:
    check_workload(Workload(**fields), WHERE)  # type: ignore[arg-type]


WRONG: list[tuple[Mapping[str, object], str]] = [
    ({"path": "index.html"}, 'path: found "index.html" (a string), expected a path that starts with "/"'),
    ({"path": "/a b"}, "path: found"),
    ({"path": "/a\r\nX: y"}, "path: found"),
    ({"path": 1}, "path: found 1"),
    ({"path": "", "generator": "program", "op": "get"}, "path: found"),
    ({"generator": "program"}, "op: found"),
    ({"generator": "program", "op": 1}, "op: found 1"),
    ({"generator": "program", "op": "get", "payload": None}, "payload: found nothing"),
    ({"op": "get"}, 'op, payload: only a program of the target\'s own has them; expected generator = "program"'),
    ({"payload": "scalar"}, "op, payload: only a program"),
    ({"generator": "program", "op": "get", "rate": 10}, "rate: "),
    ({"rate": 0}, "rate: found 0"),
    ({"rate": True}, "rate: found true"),
    ({"rate": math.inf}, "rate: found"),
    ({"rate": math.nan}, "rate: found"),
    ({"method": "get"}, 'method: found "get" (a string), expected a method in upper case'),
    ({"method": "GE T"}, "method: found"),
    ({"method": "CONNECT"}, "method: found"),
    ({"method": None}, "method: found nothing"),
    ({"body": b"x", "method": "POST"}, "body: found b'x', expected a string or None"),
    ({"body": "x"}, 'body: GET sends none; expected method = "POST" or "PUT"'),
    ({"body": "x", "method": "DELETE", "generator": "ab"}, "body: ab sends one with POST and PUT only"),
    ({"keepalive": "close"}, 'keepalive: found "close" (a string), expected True or False'),
    ({"keepalive": 1}, "keepalive: found 1"),
    ({"h2": None}, "h2: found nothing"),
    ({"h2": True, "generator": "ab"}, 'h2: ab can\'t speak HTTP/2; expected generator = "h2load"'),
    ({"h2": True, "generator": "wrk"}, "h2: wrk can't speak HTTP/2"),
    ({"h2": True, "keepalive": False}, "h2: HTTP/2 knows no connection per request"),
    ({"headers": ["a"]}, "headers: found an array, expected a dict"),
    ({"headers": {"a b": "c"}}, 'headers: found "a b" (a string), expected the name of a header'),
    ({"headers": {"A": 1}}, "headers['A']: found 1"),
    ({"headers": {"A": "x\r\nB: y"}}, "headers['A']: found"),
    ({"headers": {"A": "x", "a": "y"}}, "a is there twice"),
    ({"headers": {"Connection": "close"}}, "say keepalive = True or False instead"),
    ({"headers": {"content-length": "1"}}, "it follows from the body"),
    ({"headers": {"Transfer-Encoding": "chunked"}}, "Transfer-Encoding can't be set"),
    ({"concurrency": 0}, "concurrency: found 0 (an integer), expected an integer, 1 or more"),
    ({"concurrency": True}, "concurrency: found true"),
    ({"concurrency": 4.0}, "concurrency: found 4.0"),
    ({"concurrency": 10, "requests": 9}, "requests: found 9 (an integer), expected None or an integer, at least"),
    ({"requests": "100"}, 'requests: found "100"'),
    ({"generator": "hey"}, 'generator: found "hey" (a string), expected one of h2load, ab, wrk, program'),
    ({"generator": None}, "generator: found nothing"),
    ({"axes": "perl"}, "axes: found"),
    ({"axes": {"perl": 5.36}}, "axes['perl']: found 5.36 (a number), expected a string"),
    ({"axes": {1: "a"}}, "axes: found 1"),
    ({"expect": 200}, "expect: found 200 (an integer), expected Expect("),
    ({"expect": Expect(status=100)}, "expect.status: found 100"),
    ({"expect": Expect(status="200")}, "expect.status: found"),  # type: ignore[arg-type]
    ({"expect": Expect(length=-1)}, "expect.length: found -1"),
    ({"expect": Expect(sha256="ABC")}, "expect.sha256: found"),
    ({"expect": Expect(headers={"A": None})}, "expect.headers['A']: found nothing"),  # type: ignore[dict-item]
    ({"expect": Expect(length=5), "method": "HEAD"}, "an answer to HEAD has no body"),
    ({"method": "HEAD"}, "HEAD"),
    ({"path": "/a#b"}, "#"),
    ({"generator": "wrk", "method": "POST"}, "wrk"),
]


@pytest.mark.parametrize(("fields", "words"), WRONG, ids=[repr(case[0])[:70] for case in WRONG])
def test_a_wrong_workload_is_named_with_class_file_and_line(fields: Mapping[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_workload(Workload(**fields), WHERE)  # type: ignore[arg-type]
    error = caught.value
    assert (error.file, error.line, error.key) == ("benchmarks/psgi.py", 12, "psgi.Starlet(5.36, close)")
    assert str(error).startswith("benchmarks/psgi.py:12: psgi.Starlet(5.36, close): ")
    assert words in str(error)
    assert "\n" not in str(error)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        check_workload(Workload(path="x", method="get", concurrency=0), WHERE)
    lines = str(caught.value).splitlines()
    assert [word for line in lines for word in ("path:", "method:", "concurrency:") if word in line] == [
        "path:",
        "method:",
        "concurrency:",
    ]


ANYTHING: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers(-2, 600) | st.text(max_size=4) | st.just({}) | st.just([1])
)


@given(st.dictionaries(st.sampled_from(sorted(Workload.__dataclass_fields__)), ANYTHING))
def test_any_values_pass_or_raise_a_config_error(fields: dict[str, object]) -> None:
    try:
        check_workload(Workload(**fields), WHERE)  # type: ignore[arg-type]
    except ConfigError as error:
        assert error.line == 12


# ---------------- variants

VALUES = {"5.36": AxisValue(), "5.40": AxisValue()}
TARGET = Target("starlet", "targets/starlet", axes={"perl": VALUES, "log": {"on": AxisValue()}})


def test_axes_come_in_the_targets_order_and_single_values_are_filled_in() -> None:
    expected = Variant("starlet", (("perl", "5.40"), ("log", "on")))
    assert case_variant(TARGET, Workload(axes={"perl": "5.40"}), WHERE) == expected
    assert case_variant(TARGET, Workload(axes={"log": "on", "perl": "5.40"}), WHERE) == expected


def test_a_target_without_axes_has_one_variant() -> None:
    assert case_variant(Target("x", "targets/x"), Workload(), WHERE) == Variant("x")


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({}, "has several values of perl (5.36, 5.40); choose one of them"),
        ({"perl": "5.38"}, "axis perl of target starlet has no value 5.38; it has 5.36, 5.40"),
        ({"perl": "5.36", "pearl": "5.36"}, 'has no axis pearl; did you mean "perl"?'),
    ],
)
def test_a_wrong_axis_is_the_classs_fault(axes: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        case_variant(TARGET, Workload(axes=axes), WHERE)
    assert (caught.value.file, caught.value.line) == ("benchmarks/psgi.py", 12)
    assert words in str(caught.value)
    with pytest.raises(ConfigError, match=r"targets/starlet/target\.toml: axes: "):
        case_variant(TARGET, Workload(axes=axes))


WANTED = Variant("starlet", (("perl", "5.40"), ("log", "on")))


def test_another_commit_has_the_same_variant_in_its_own_order() -> None:
    older = Target("starlet", "x", axes={"log": {"on": AxisValue()}, "mpm": {"a": AxisValue()}, "perl": VALUES})
    assert variant_at(older, WANTED) == Variant("starlet", (("log", "on"), ("mpm", "a"), ("perl", "5.40")))


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"perl": VALUES}, "has no log=on"),
        ({"perl": {"5.36": AxisValue()}, "log": {"on": AxisValue()}}, "has no perl=5.40"),
        ({**TARGET.axes, "mpm": VALUES}, "has an axis mpm that nothing chooses on"),
    ],
)
def test_what_another_commit_lacks_is_missing_and_no_mistake(
    axes: Mapping[str, Mapping[str, AxisValue]], words: str
) -> None:
    with pytest.raises(VariantMissing, match=words):
        variant_at(Target("starlet", "targets/starlet", axes=axes), WANTED)
