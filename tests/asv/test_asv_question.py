"""What asv keeps of a benchmark class as its code, and the site shows: the question that the class asks."""

from __future__ import annotations

import inspect

from asv_runner.benchmarks._base import get_source_code
from hypothesis import example, given
from hypothesis import strategies as st

from windtunnel import CacheBenchmark, HTTPBenchmark, Workload
from windtunnel.asv.benchmark import LoadBenchmark
from windtunnel.asv.prepare import METHODS
from windtunnel.history.texts import TEXT, docstring


def _class(doc: str | None, base: type[LoadBenchmark] = HTTPBenchmark, **members: object) -> type[LoadBenchmark]:
    return type("Hello", (base,), {"__doc__": doc, "workload": lambda _: Workload(), "target": "hello", **members})


def _shown(kind: type[LoadBenchmark], method: str = "time_request") -> str:
    """What the site has of it, by asv's own way to a benchmark's code."""
    benchmark = kind()
    return docstring(get_source_code([getattr(benchmark, method), benchmark.setup]), method)


def test_every_metric_has_the_question() -> None:
    kind = _class("Does a newer perl serve it faster?\n\n    At concurrency 40.\n    ")
    for method in METHODS:
        assert _shown(kind, method) == "Does a newer perl serve it faster?\n\nAt concurrency 40."
    assert _shown(_class("What does a call cost?", CacheBenchmark)) == "What does a call cost?"


def test_metrics_keep_what_asv_reads_of_them() -> None:
    kind, plain = _class("A question"), _class(None)
    for method in METHODS:
        ours, theirs = getattr(kind, method), getattr(plain, method)
        for name in ("unit", "pretty_name", "__name__", "__doc__"):
            assert getattr(ours, name, None) == getattr(theirs, name, None)
        assert not hasattr(theirs, "pretty_source")


def test_a_class_that_asks_nothing_is_shown_as_asv_does() -> None:
    assert _shown(_class(None)) == inspect.getdoc(LoadBenchmark.time_request)


def test_a_class_of_a_class_asks_its_own_question() -> None:
    parent = _class("The parent's")
    assert _shown(_class("The child's", parent)) == "The child's"
    assert _shown(_class(None, parent)) == "The parent's"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from(list("\n\"'\\ ")), min_size=1))
@example('ends with a "quote"')
@example('"""')
@example("\\")
def test_any_question_comes_back(doc: str) -> None:
    wanted = inspect.cleandoc(doc)
    assert _shown(_class(doc)).split() == (wanted or (inspect.getdoc(LoadBenchmark.time_request) or "")).split()
    assert len(wanted) < TEXT
