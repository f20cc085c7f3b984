"""What a generator printed itself: written with its slice, read again, held to bounds, and dropped by reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import material
from windtunnel.errors import ConfigError
from windtunnel.publish.intake import lean
from windtunnel.sample.runfile import RunWriter, read_run
from windtunnel.units import Missing

PRINTED = replace(material.LOAD, latency={}, percentiles={0: 0.0001, 50: 0.0012, 99.0: 0.02}, kept=160)
LAUNCH = replace(material.LAUNCH, slices=(PRINTED, material.SINGLE))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    writer = RunWriter(file)
    writer.header(material.HEADER)
    writer.launch(LAUNCH)
    writer.close()
    return file


def test_it_is_read_as_it_was_written(path: Path) -> None:
    assert read_run(path).launches == (LAUNCH,)


def test_a_slice_of_before_has_none(path: Path) -> None:
    """Run files that were written without the two fields can still be read."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for one in lines[1]["slices"]:
        del one["percentiles"], one["kept"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [one.percentiles for one in read_run(path).launches[0].slices] == [{}, {}]
    assert [one.kept for one in read_run(path).launches[0].slices] == [Missing("not counted")] * 2


@pytest.mark.parametrize("percent", ["101", "-1", "nan", "inf", "x", ""])
def test_there_is_no_such_percentile(path: Path, percent: str) -> None:
    path.write_text(path.read_text().replace('"99.0":', f'"{percent}":'))
    with pytest.raises(ConfigError, match="percentile"):
        read_run(path)


@pytest.mark.parametrize(("old", "new"), [("0.0012", "-0.0012"), ("0.0012", "1e10"), ('"kept":160', '"kept":-1')])
def test_its_numbers_are_plausible(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match="can't be"):
        read_run(path)


def test_a_report_of_a_comparison_does_not_keep_it() -> None:
    assert [one.percentiles for one in lean(LAUNCH).slices] == [{}, {}]
