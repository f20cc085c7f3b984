"""Names of artifacts: there and back for every name of a suite, and nothing else is taken for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windtunnel.errors import ConfigError
from windtunnel.publish.artifacts import ArtifactName, artifact_name, parse_name, slug_of

_FORBIDDEN = re.compile(r'[":<>|*?\r\n\\/]')
"""What the forge takes in no artifact's name."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ArtifactName("run"), "windtunnel-run----"),
        (ArtifactName("run", suite="quick"), "windtunnel-run--quick--"),
        (ArtifactName("run", suite="quick", number=2), "windtunnel-run--quick--2"),
        (ArtifactName("run", slug="perf", number=256), "windtunnel-run.perf----256"),
        (ArtifactName("matrix"), "windtunnel-matrix--"),
        (
            ArtifactName("matrix", slug="perf-http", suite="my_quick-one.2"),
            "windtunnel-matrix.perf-http--my_quick-one.2",
        ),
        (ArtifactName("run", suite="a b/é"), "windtunnel-run--a_20b_2F_C3_A9--"),
        (ArtifactName("run", suite="-a--b-", number=1), "windtunnel-run--_2Da_2D_2Db_2D--1"),
        (ArtifactName("run", suite="x_20"), "windtunnel-run--x_5F20--"),
    ],
)
def test_names_are_as_the_actions_and_the_pages_have_them(name: ArtifactName, expected: str) -> None:
    assert artifact_name(name.kind, slug=name.slug, suite=name.suite, number=name.number) == expected
    assert parse_name(expected) == name


_suites = st.text(alphabet=st.sampled_from("aZ09A_.-/ :é\U0001f600\n\"'") | st.characters(codec="utf-8"), max_size=10)
_slugs = st.sampled_from(["", "perf", "perf-http", "2"])


@given(st.sampled_from(["run", "matrix"]), _slugs, _suites, st.none() | st.integers(1, 1000))
@example("run", "", "_A\u00e9", None)
@example("run", "", "_-a", 3)
@example("run", "", "\u00e9_AB", 3)
def test_a_name_says_again_what_it_was_made_of(kind: str, slug: str, suite: str, number: int | None) -> None:
    number = None if kind == "matrix" else number
    made = artifact_name("run" if kind == "run" else "matrix", slug=slug, suite=suite, number=number)
    assert not _FORBIDDEN.search(made)
    assert made.isascii()
    assert made.isprintable()
    found = parse_name(made)
    assert found == ArtifactName("run" if kind == "run" else "matrix", slug, suite, number)


_pieces = [
    "windtunnel-",
    "run",
    "matrix",
    ".",
    "--",
    "-",
    "_",
    "a",
    "1",
    "0",
    "_2D",
    "_41",
    "_FF",
    "_C3",
    "\n",
    "é",
    " ",
]


@given(st.lists(st.sampled_from(_pieces), max_size=9).map("".join))
@example("windtunnel-run--_41--")
@example("windtunnel-run--_FF--")
@example("windtunnel-run----01")
@example("windtunnel-run----0")
@example("windtunnel-run----1001")
@example("windtunnel-run---a--")
@example("windtunnel-run--a")
@example("windtunnel-matrix--a--")
@example("windtunnel-run----\n")
def test_what_is_taken_for_a_name_is_one_that_we_make(text: str) -> None:
    found = parse_name(text)
    if found is not None:
        assert artifact_name(found.kind, slug=found.slug, suite=found.suite, number=found.number) == text


@pytest.mark.parametrize(
    "name",
    [
        *("", "run", "windtunnel-run", "windtunnel-run--_41--", "windtunnel-run----01", "windtunnel-run----0"),
        *("windtunnel-run----1001", "windtunnel-run---a--", "windtunnel-matrix--a--", "windtunnel-run--a", "x" * 300),
        *("windtunnel-run----1\n", "windtunnel-run----\u0661", "windtunnel-run.--a--", "windtunnel-run.a---b--"),
    ],
)
def test_other_names_are_none(name: str) -> None:
    assert parse_name(name) is None


def test_a_suite_with_too_long_a_name_is_told_which() -> None:
    with pytest.raises(ConfigError, match=r"suites\.eeee.*120"):
        artifact_name("run", suite="e" * 121)
    assert len(artifact_name("matrix", slug=slug_of("d/" * 400), suite="e" * 120)) < 255


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"slug": "a--b"}, "slug_of"), ({"slug": "a/b"}, "slug_of"), ({"number": 0}, "0"), ({"number": 1001}, "1001")],
)
def test_what_is_no_name_of_ours_is_not_made(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        artifact_name("run", **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="matrix"):
        artifact_name("matrix", number=1)


# ---------------- folders


@pytest.mark.parametrize(
    ("directory", "slug"),
    [
        *((top, "") for top in (".", "", "./", "./.")),
        *((perf, "perf") for perf in ("perf", "./perf", "perf/", "perf/.", "perf/x/..")),
        ("perf/http", "perf-http"),
        ("load-tests", "load-tests"),
    ],
)
def test_a_folder_of_a_usual_name_is_called_by_it(directory: str, slug: str) -> None:
    assert slug_of(directory) == slug


@given(st.text(min_size=1, max_size=30) | st.text("a/.-_", min_size=1, max_size=8))
@example("../x")
@example("/")
@example("a" * 300)
@example("\udce9")
def test_every_folder_has_a_slug_that_fits_into_a_name(directory: str) -> None:
    slug = slug_of(directory)
    assert slug == slug_of(directory)
    assert len(slug) <= 60
    name = artifact_name("run", slug=slug, suite="s")
    assert parse_name(name) == ArtifactName("run", slug, "s")


def test_folders_that_would_lose_their_difference_keep_it() -> None:
    folders = ["a_b", "a b", "a.b", "a--b", "a/-b", "-a-b", "é", "è", "../a", "..a", "a" * 61, "a" * 62]
    assert len({slug_of(folder) for folder in folders}) == len(folders)
