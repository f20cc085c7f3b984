"""Run files that are broken: told with file, line and key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runfiles import refused_at, three

from windtunnel.errors import ConfigError
from windtunnel.sample.runfile import FORMAT, VERSION, read_run


@pytest.mark.parametrize("broken", [b"{nonsense", b"\xff\xfe", b"[1, 2]", b"3", b'"launch"', b"[" * 100_000])
@pytest.mark.parametrize("blank", [b"", b"\n\n"])
def test_a_broken_line_before_the_last_is_named(broken: bytes, blank: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    path.write_bytes(lines[0] + blank + lines[1] + broken + b"\n" + lines[2])
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3 + len(blank))


_WRONG: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("case", lambda launch: launch.update(case=3)),
    ("number", lambda launch: launch.update(number="first")),
    ("outcome", lambda launch: launch.update(outcome="fine")),
    ("started", lambda launch: launch.update(started=None)),
    ("identity", lambda launch: launch.pop("identity")),
    ("peak_memory", lambda launch: launch.update(peak_memory="much")),
    ("peak_memory", lambda launch: launch.update(peak_memory=None)),
    ("slices", lambda launch: launch.update(slices="none")),
    ("slices.1.wall", lambda launch: launch["slices"][1].update(wall="quick")),
    ("slices.1.wall", lambda launch: launch["slices"][1].update(wall={"missing": "why", "or": "not"})),
    ("slices.2.requests", lambda launch: launch["slices"][2].update(requests=1.5)),
    ("slices.0.role", lambda launch: launch["slices"][0].update(role="rest")),
    ("slices.0.status.200", lambda launch: launch["slices"][0].update(status={"200": "many"})),
    ("answer.length", lambda launch: launch["answer"].update(length=[])),
    ("spent.start", lambda launch: launch.update(spent={"start": "long"})),
]


@pytest.mark.parametrize(("key", "spoil"), _WRONG)
def test_a_wrong_type_is_told_with_line_and_key(
    key: str, spoil: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    refused_at(tmp_path / "run.jsonl", key, spoil)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(number: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    assert b'"wall":0.04' in lines[1]
    lines[1] = lines[1].replace(b'"wall":0.04', b'"wall":' + number.encode(), 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "spoilt"),
    [
        (0, b'{"type":"header","format":"%s","version":%d}' % (FORMAT.encode(), VERSION)),
        (1, b'{"type":"launch"}'),
        (2, b'{"type":"failure","case":"a"}'),
        (2, b'{"type":"sizes","case":"a","sizes":{"load":1}}'),
        (2, b'{"type":"sizes","case":"a","sizes":[1]}'),
        (2, b'{"type":"sizes","case":"a"}'),
    ],
)
def test_a_record_that_lacks_something_is_told_with_its_line(line: int, spoilt: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    lines[line] = spoilt + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert caught.value.line == line + 1


@pytest.mark.parametrize("version", [VERSION + 1, 99, "1", True, None])
def test_a_file_of_another_version_is_refused_with_both_versions(version: object, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    header = {**json.loads(lines[0]), "version": version, "plan": "of another kind"}
    path.write_bytes(b"".join([json.dumps(header).encode(), b"\n", *lines[1:]]))
    with pytest.raises(ConfigError, match=f"{json.dumps(version)}.*{VERSION}") as caught:
        read_run(path)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"{}\n", b'{"format":"else"}\n', b"hello", b"hello\n", b"\x1f\x8b\x08\0\n", b"[]\n"]
)
def test_another_kind_of_file_is_not_one(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert caught.value.file == str(path)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_run(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match="Is a directory"):
        read_run(tmp_path)
