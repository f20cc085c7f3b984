"""The head of a run file: whose commits it is of. What was launched is not looked at."""

from __future__ import annotations

import datetime
import io
import lzma
import re
from dataclasses import dataclass

from windtunnel.errors import ConfigError
from windtunnel.history.texts import BadFile, text
from windtunnel.sample.decode import LINE_BYTES, NotJSON, json_object
from windtunnel.sample.runfile import FORMAT, VERSION

__all__ = ["RunHead", "read_head"]

_MEMORY = 256 << 20
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class RunHead:
    """What a run file says of itself: hashes of its head and base ("" where they are no commits), the head's date in
    milliseconds since the epoch (None where it tells none) and the suite."""

    commit: str
    base: str
    date: float | None
    suite: str


def read_head(content: bytes, packed: bool) -> RunHead:
    """The first line of a run file, `packed` with xz or not. Raises BadFile."""
    line = _first_line(content, packed)
    try:
        record = json_object(line)
    except (NotJSON, ValueError, ConfigError) as error:
        raise BadFile(f"its first line {str(error)[:100]}") from error
    if record.get("format") != FORMAT:
        raise BadFile("is no run file of windtunnel")
    version = record.get("version")
    if version != VERSION or isinstance(version, bool):
        raise BadFile(f"is of version {str(version)[:20]} of run files, known is {VERSION}")
    arms = _arms(record)
    head = arms.get("head") or (next(iter(arms.values())) if arms else {})
    compare = record.get("compare")
    suite = text(compare.get("suite"), "suite") if isinstance(compare, dict) else ""
    return RunHead(_hash(head), _hash(arms.get("base", {})), _date(head.get("date")), suite)


def _first_line(content: bytes, packed: bool) -> bytes:
    try:
        source: io.BufferedIOBase = io.BytesIO(content)
        if packed:
            unpacked = lzma.LZMADecompressor(memlimit=_MEMORY).decompress(content, max_length=LINE_BYTES + 2)
            source = io.BytesIO(unpacked)
        line = source.readline(LINE_BYTES + 2)
    except lzma.LZMAError as error:
        raise BadFile(f"cannot be unpacked: {error}") from error
    if len(line) > LINE_BYTES:
        raise BadFile(f"its first line is longer than {LINE_BYTES >> 20} MiB")
    return line


def _arms(record: dict[str, object]) -> dict[str, dict[str, object]]:
    arms = record.get("arms")
    if not isinstance(arms, list):
        raise BadFile("has no arms")
    return {str(one.get("name")): one for one in arms if isinstance(one, dict)}


def _hash(arm: dict[str, object]) -> str:
    commit = arm.get("commit")
    return commit if isinstance(commit, str) and _HASH.fullmatch(commit) else ""


def _date(written: object) -> float | None:
    try:
        date = datetime.datetime.fromisoformat(written if isinstance(written, str) else "")
        if date.tzinfo is None:
            date = date.replace(tzinfo=datetime.UTC)
        return date.timestamp() * 1000
    except (ValueError, OverflowError):
        return None
