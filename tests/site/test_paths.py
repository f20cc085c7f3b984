"""Names from outside as file names."""

from __future__ import annotations

import re

import pytest
from example_history import ExampleHistory, example_history
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.history.nouns import Benchmark
from windtunnel.site.paths import class_paths, relative, slug, unique_slugs

_names = st.text(max_size=300) | st.text(alphabet="aAbB._-/", max_size=12)


@pytest.mark.parametrize("name", ["psgi.Starlet", "bench_memory", "a-b_c.D"])
def test_harmless_name_is_its_own_slug(name: str) -> None:
    assert slug(name) == name


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "index", "README", "CON", "nul.txt", ".hidden", "", "x" * 500]
)
def test_other_names_become_files_of_their_folder(name: str) -> None:
    made = slug(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", made)
    assert made.lower() not in {"index", "readme", "con"}
    assert len(made) < 120


@given(_names)
def test_slug_is_safe_and_stable(name: str) -> None:
    made = slug(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", made), made
    assert slug(name) == made


@given(st.lists(_names, unique=True, max_size=12))
def test_no_two_names_share_a_file_on_any_file_system(names: list[str]) -> None:
    slugs = unique_slugs(names)
    assert set(slugs) == set(names)
    assert len({one.lower() for one in slugs.values()}) == len(names)


def test_a_name_keeps_its_slug_when_others_come() -> None:
    assert (
        unique_slugs(["psgi.Starlet", "psgi.Feersum"])["psgi.Starlet"]
        == unique_slugs(["psgi.Starlet"])["psgi.Starlet"]
    )


def test_class_paths_tell_cases_apart() -> None:
    found = class_paths(example_history())
    assert found["psgi.Starlet"].lower() != found["psgi.starlet"].lower()
    assert found["flask.Gunicorn"] == "benchmarks/flask.Gunicorn.html"


def test_class_path_of_a_name_with_path_tricks_stays_below() -> None:
    benchmark = Benchmark(name="../../../x.y", kind="time", unit="seconds")
    (path,) = class_paths(ExampleHistory(benchmarks_=(benchmark,))).values()
    assert path.count("/") == 1
    assert ".." not in path


@pytest.mark.parametrize(
    ("source", "target", "link"),
    [
        ("index.html", "benchmarks/a.html", "benchmarks/a.html"),
        ("benchmarks/a.html", "index.html", "../index.html"),
        ("benchmarks/a.html", "benchmarks/b c.html", "b%20c.html"),
        ("benchmarks/a.html", ".", ".."),
    ],
)
def test_relative(source: str, target: str, link: str) -> None:
    assert relative(source, target) == link
