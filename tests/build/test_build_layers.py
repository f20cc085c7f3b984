"""Shared layers: drift is found, a changed Dockerfile or changed sources are not taken for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.build.layers import Stack, shared_prefix
from windtunnel.ports import HistoryEntry

BASE = Stack((HistoryEntry("#(nop) ADD file:1 in /", False, 100), HistoryEntry("#(nop) CMD", True)), ("base",))
COPY = ("/bin/sh -c #(nop) COPY file:1 in /app", "COPY app.py /app # buildkit")


def image(*steps: tuple[str, str | None], size: int = 10) -> Stack:
    """On top of BASE: (instruction, its layer; None where it makes none)."""
    history = tuple(HistoryEntry(text, layer is None, size if layer else 0) for text, layer in steps)
    return Stack((*BASE.history, *history), (*BASE.layers, *(layer for _, layer in steps if layer)))


@pytest.mark.parametrize("copy", COPY)
def test_sources_may_differ_packages_may_not(copy):
    one = image(("ARG X", None), ("apt", "packages"), (copy, "a"), ("RUN compile", "c"))
    other = image(("ARG X", None), ("apt", "packages"), (copy, "b"), ("RUN compile", "d"))
    drifted = image(("ARG X", None), ("apt", "newer packages"), (copy, "a"), ("RUN compile", "c"))
    assert shared_prefix(one, other, BASE)
    assert not shared_prefix(one, drifted, BASE)
    assert not shared_prefix(drifted, other, BASE)


def test_a_changed_instruction_is_a_change_and_no_drift():
    one = image(("apt install x", "p"), (COPY[0], "a"))
    other = image(("apt install x y", "q"), (COPY[0], "a"))
    assert shared_prefix(one, other, BASE)


def test_what_comes_before_the_changed_instruction_has_to_be_shared():
    one = image(("apt update", "old lists"), ("apt install x", "p"))
    other = image(("apt update", "new lists"), ("apt install x y", "q"))
    assert not shared_prefix(one, other, BASE)


def test_another_base_is_no_shared_base():
    assert not shared_prefix(image(), Stack(BASE.history, ("other",)), BASE)
    assert not shared_prefix(image(), Stack(BASE.history, ()), BASE)


def test_the_bases_own_add_does_not_count_as_sources():
    one, drifted = image(("apt", "p"), (COPY[0], "a")), image(("apt", "q"), (COPY[0], "a"))
    assert not shared_prefix(one, drifted, BASE)
    assert shared_prefix(one, drifted, Stack())  # from scratch it would


def test_sources_that_come_in_without_a_copy():
    one = image(("RUN /bin/sh -c make # buildkit", "a"), (COPY[1], "b"))
    other = image(("RUN /bin/sh -c make # buildkit", "c"), (COPY[1], "d"))
    assert not shared_prefix(one, other, BASE)
    assert shared_prefix(one, other, BASE, independent=0)


def test_nothing_but_instructions_without_layers():
    assert shared_prefix(image(("ENV a", None), (COPY[0], "x")), image(("ENV a", None), (COPY[0], "y")), BASE)


def uncertain(steps: list[tuple[str, int]], layers: list[str]) -> Stack:
    history = tuple(HistoryEntry(text, False, size) for text, size in steps)
    return Stack((*BASE.history, *history), (*BASE.layers, *layers))


def test_an_instruction_that_changed_nothing_may_or_may_not_have_a_layer():
    """The classic builder makes none for ``RUN true``, BuildKit does; neither says so."""
    steps = [("RUN true", 0), ("apt", 10), ("COPY x", 1)]
    without = [uncertain(steps, ["apt", copy]) for copy in "ab"]
    having = [uncertain(steps, ["true", "apt", copy]) for copy in "ab"]
    assert shared_prefix(*without, BASE)
    assert shared_prefix(*having, BASE)
    assert not shared_prefix(without[0], uncertain(steps, ["drift", "b"]), BASE)
    assert not shared_prefix(having[0], uncertain(steps, ["true", "drift", "b"]), BASE)


STEPS = st.lists(st.tuples(st.sampled_from(["RUN a", "RUN b", COPY[0], COPY[1]]), st.sampled_from("xyz")), max_size=5)


@given(STEPS)
def test_an_image_shares_with_itself(steps):
    assert shared_prefix(image(*steps), image(*steps), BASE)


@given(STEPS, STEPS)
def test_sharing_goes_both_ways(one, other):
    assert shared_prefix(image(*one), image(*other), BASE) == shared_prefix(image(*other), image(*one), BASE)


@given(STEPS, st.data())
def test_a_drifted_layer_before_the_sources_is_always_found(steps, data):
    before = next((n for n, (text, _) in enumerate(steps) if "COPY" in text), len(steps))
    if before == 0:
        return
    index = data.draw(st.integers(0, before - 1))
    drifted = [*steps[:index], (steps[index][0], "drifted"), *steps[index + 1 :]]
    assert not shared_prefix(image(*steps), image(*drifted), BASE)


@pytest.mark.parametrize(
    ("classic", "other"),
    [
        ("/bin/sh -c apt-get install x", "RUN /bin/sh -c apt-get install x # buildkit"),
        ("|1 SUITE=a /bin/sh -c apt-get install x", "RUN |1 SUITE=a /bin/sh -c apt-get install x # buildkit"),
        ("/bin/sh -c #(nop) WORKDIR /app", "WORKDIR /app"),
        ("/bin/sh -c #(nop)  ENV A=1", "ENV A=1"),
    ],
)
def test_the_same_instruction_is_known_whichever_builder_wrote_it(classic, other):
    """Main may be built by one of them, a contributor's machine has the other: drift is drift all the same."""
    one, same = image((classic, "a"), (COPY[0], "b")), image((other, "a"), (COPY[1], "c"))
    drifted = image((other, "newer"), (COPY[1], "c"))
    assert shared_prefix(one, same, BASE)
    assert not shared_prefix(one, drifted, BASE)
