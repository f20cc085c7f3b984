"""`params` and `param_names` of a benchmark class, with asv's meaning."""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Combination", "combinations"]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies in memory is another place in every process, and an id has to be the same in all."""


@dataclass(frozen=True)
class Combination:
    """One value per parameter: as text with its name, and as the class wrote it."""

    named: tuple[tuple[str, str], ...]
    values: tuple[object, ...]


def combinations(params: object, names: object) -> Iterator[Combination]:
    """Every combination, the last parameter changing fastest; one empty combination where there are no parameters.

    Args:
        params: a list of lists of values, or a flat list: the values of one parameter.
        names: names by position; missing ones are param1, param2 ...

    Raises:
        ValueError: not lists, a parameter without values, or two values (or names) that read the same.
    """
    columns = _columns(params)
    labels = _names(names, len(columns))
    texts = [_texts(label, column) for label, column in zip(labels, columns, strict=True)]
    for index in itertools.product(*(range(len(column)) for column in columns)):
        named = tuple((label, text[at]) for label, text, at in zip(labels, texts, index, strict=True))
        yield Combination(named, tuple(column[at] for column, at in zip(columns, index, strict=True)))


def _columns(params: object) -> list[list[object]]:
    if not isinstance(params, list | tuple):
        raise ValueError("params: expected a list of values, or a list of such lists, one per parameter")  # noqa: TRY004
    if params and not isinstance(params[0], list | tuple):
        return [list(params)]
    for column in params:
        if not isinstance(column, list | tuple):
            raise ValueError("params: the first parameter is a list of values, so each of them has to be one")  # noqa: TRY004
    return [list(column) for column in params]


def _names(names: object, count: int) -> list[str]:
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError("param_names: expected a list of strings")
    labels = [str(name) for name in names][:count]
    labels += [f"param{number + 1}" for number in range(len(labels), count)]
    double = [name for name, times in Counter(labels).items() if times > 1]
    if double:
        raise ValueError(f'param_names: "{double[0]}" is there twice')
    return labels


def _texts(label: str, column: list[object]) -> list[str]:
    texts = [_text(value) for value in column]
    if not texts:
        raise ValueError(f'params: parameter "{label}" has no values')
    double = [text for text, times in Counter(texts).items() if times > 1]
    if double:
        raise ValueError(f'params: two values of "{label}" read "{double[0]}"; cases are told apart by that text')
    return texts


def _text(value: object) -> str:
    """How a value reads in a case's id: its name for a class or a function, else its string."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(value.__name__)
    return _ADDRESS.sub("", str(value))
