"""The Vega bundle is made once for all sites of a user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from windtunnel.site.charts import bundle


class _Converter:
    """Stands in for the real one, which takes seconds, and counts."""

    def __init__(self) -> None:
        self.made = 0
        self.__version__ = "1"

    def javascript_bundle(self, snippet: None) -> str:
        self.made += 1
        return "one\r\ntwo\n"


@pytest.fixture
def converter(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Converter]:
    made = _Converter()
    monkeypatch.setattr(bundle, "converter", lambda: made)
    bundle.vega_bundle.cache_clear()
    yield made
    bundle.vega_bundle.cache_clear()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that it is kept in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "windtunnel"


def _bundle() -> bytes:
    """As the next process gets it."""
    bundle.vega_bundle.cache_clear()
    return bundle.vega_bundle()


def test_it_is_made_once(converter: _Converter, kept: Path) -> None:
    assert [_bundle(), _bundle()] == [b"one\r\ntwo\n"] * 2
    assert converter.made == 1
    (path,) = kept.iterdir()
    assert path.read_bytes() == b"one\r\ntwo\n"


def test_what_was_changed_or_cut_off_is_made_anew(converter: _Converter, kept: Path) -> None:
    _bundle()
    (path,) = kept.iterdir()
    for broken in (b"", b"one\r\n", b"something else"):
        path.write_bytes(broken)
        assert _bundle() == b"one\r\ntwo\n"
        assert path.read_bytes() == b"one\r\ntwo\n"
    assert converter.made == 4


def test_another_converter_has_its_own(converter: _Converter, kept: Path) -> None:
    _bundle()
    converter.__version__ = "99"
    assert _bundle() == b"one\r\ntwo\n"
    assert converter.made == 2
    assert len(list(kept.iterdir())) == 2


def test_a_folder_that_can_not_be_written_only_costs_time(converter: _Converter, kept: Path) -> None:
    kept.parent.write_text("a file")
    assert [_bundle(), _bundle()] == [b"one\r\ntwo\n"] * 2
    assert converter.made == 2
