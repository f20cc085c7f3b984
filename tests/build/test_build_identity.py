"""The digest of an image and its tag: the same for the same, different for anything that differs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.build.identity import digest, tag
from windtunnel.ports import SourceFile

TEXT = st.text("ab\n=\0", max_size=4)
FILE = st.builds(
    SourceFile,
    path=st.text("ab/\udcff", min_size=1, max_size=3),
    mode=st.sampled_from([0o644, 0o755]),
    content=st.binary(max_size=3),
    symlink=st.booleans(),
)
FILES = st.lists(FILE, max_size=3, unique_by=lambda file: file.path)
LAYERS = st.lists(st.lists(TEXT, max_size=2), max_size=2)
INPUT = st.tuples(TEXT, st.dictionaries(TEXT, TEXT, max_size=2), FILES, LAYERS)


def canonical(given_input: tuple) -> tuple:
    text, arguments, files, layers = given_input
    ordered = sorted(files, key=lambda file: file.path.encode("utf-8", "surrogateescape"))
    return text, sorted(arguments.items()), ordered, layers


@given(INPUT, INPUT)
def test_two_inputs_have_one_digest_only_if_they_are_the_same(one, other):
    assert (digest(*one) == digest(*other)) == (canonical(one) == canonical(other))


@given(INPUT, st.randoms())
def test_the_order_of_files_and_arguments_does_not_matter(given_input, random):
    text, arguments, files, layers = given_input
    shuffled = list(files)
    random.shuffle(shuffled)
    backwards = dict(reversed(list(arguments.items())))
    assert digest(text, arguments, files, layers) == digest(text, backwards, shuffled, layers)


BASE = ("FROM a", {"A": "1"}, (SourceFile("a", 0o644, b"x"), SourceFile("b", 0o644, b"y")), (("l1", "l2"), ("l3",)))


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, "FROM a\n"),
        (1, {"A": "2"}),
        (1, {"A1": ""}),
        (1, {}),
        (2, (SourceFile("a", 0o755, b"x"), SourceFile("b", 0o644, b"y"))),
        (2, (SourceFile("a", 0o644, b"x", symlink=True), SourceFile("b", 0o644, b"y"))),
        (2, (SourceFile("a", 0o644, b"y"), SourceFile("b", 0o644, b"x"))),
        (2, (SourceFile("a", 0o644, b"x"),)),
        (3, (("l1",), ("l2", "l3"))),
        (3, (("l3",), ("l1", "l2"))),
        (3, ()),
    ],
)
def test_each_part_counts(index, value):
    changed = list(BASE)
    changed[index] = value
    assert digest(*changed) != digest(*BASE)


def test_where_one_part_ends_and_the_next_begins_counts():
    file = SourceFile("ab", 0o644, b"c")
    assert digest("", {}, [file], []) != digest("", {}, [replace(file, path="a", content=b"bc")], [])
    assert digest("", {"a": "bc"}, [], []) != digest("", {"ab": "c"}, [], [])
    assert digest("", {}, [], [["a", "b"]]) != digest("", {}, [], [["a"], ["b"]]) != digest("", {}, [], [["ab"]])


def test_the_digest_stays_what_it_is():
    """Images of earlier versions are found by it: a change here rebuilds everything everywhere."""
    assert digest(*BASE) == "38a874921649e703699dfd7d444947a9cef698869a150cb77995b90f4965a20a"


REFERENCE = re.compile(r"windtunnel/[a-z0-9]+(?:-[a-z0-9]+)*:[0-9a-f]{24}")


@given(st.text(max_size=12))
def test_every_tag_is_a_reference(name):
    assert REFERENCE.fullmatch(tag(name, "ab" * 32))


def test_tags_are_readable():
    assert tag("Starlet_2.x", "0123456789abcdef" * 4) == "windtunnel/starlet-2-x:0123456789abcdef01234567"
