"""An index follows what changes; it survives crashes, company and damage."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from history_store.folders import Folder, plain, row
from windtunnel.errors import ConfigError, StorageError
from windtunnel.history import Index, open_history
from windtunnel.history.database import SCHEMA

PAST = 1_700_000_000


def aged(folder: Folder) -> None:
    """As if nothing had been written lately: then sizes and times are enough."""
    for path in folder.path.rglob("*.json"):
        os.utime(path, (PAST, PAST))


def filled(folder: Folder, count: int) -> Folder:
    for number in range(count):
        folder.result(number, {"m.time_it": row([float(number)])})
    aged(folder)
    return folder


def opened(folder: Folder, tmp_path: Path, heard: list[str] | None = None) -> Index:
    return open_history(
        [folder.path], tmp_path / "index.sqlite", tell=(lambda _: None) if heard is None else heard.append
    )


def values(history: Index) -> list[float]:
    return [value for one in history.series("m.time_it") for value in one.values]


def test_only_what_has_changed_is_told_and_shown(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 3)
    history = opened(folder, tmp_path)
    assert len(history.update().added) == 5
    assert not history.update()
    new = folder.result(3, {"m.time_it": row([30.0])})
    changes = history.update()
    assert (changes.added, changes.changed, changes.removed) == ((new,), (), ())
    assert values(history) == [0.0, 1.0, 2.0, 30.0]
    changed = folder.result(0, {"m.time_it": row([7.5])})
    assert history.update().changed == (changed,)
    assert values(history) == [7.5, 1.0, 2.0, 30.0]
    new.unlink()
    assert history.update().removed == (new,)
    assert values(history) == [7.5, 1.0, 2.0]
    assert len(history.commits()) == 3


def test_a_file_that_is_known_is_not_opened_again(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 2)
    path = folder.result(0, {"m.time_it": row([5.0])})
    aged(folder)
    opened(folder, tmp_path).update()
    size = path.stat().st_size
    path.write_text("x" * size)
    os.utime(path, (PAST, PAST))
    history = opened(folder, tmp_path)
    assert not history.update()
    assert values(history) == [5.0, 1.0]


def test_a_file_with_a_new_time_and_its_old_content_is_not_taken_for_another(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 2)
    opened(folder, tmp_path).update()
    for path in folder.path.rglob("*.json"):
        os.utime(path, (PAST + 5, PAST + 5))
    assert not opened(folder, tmp_path).update()


def test_a_file_written_twice_within_a_moment_is_read_twice(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    path = folder.result(0, {"m.time_it": row([1.5])})
    status = path.stat()
    history = opened(folder, tmp_path)
    assert values(history) == [1.5]
    folder.result(0, {"m.time_it": row([2.5])})
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert history.update().changed == (path,)
    assert values(history) == [2.5]


def test_another_process_goes_on_where_this_one_stopped(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 3)
    first, second = opened(folder, tmp_path), opened(folder, tmp_path)
    first.update()
    assert not second.update()
    assert values(second) == [0.0, 1.0, 2.0]
    folder.result(3, {"m.time_it": row([3.0])})
    aged(folder)
    assert second.update()
    assert not first.update()
    assert values(second) == [0.0, 1.0, 2.0, 3.0]


_UPDATE = """
import sys
from pathlib import Path
from windtunnel.history import open_history
open_history([Path(sys.argv[1])], Path(sys.argv[2])).update()
"""


def started(folder: Folder, tmp_path: Path, program: str = _UPDATE) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, folder.path, tmp_path / "index.sqlite"])


def test_two_processes_at_once_make_one_index(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 60)
    both = [started(folder, tmp_path) for _ in range(3)]
    assert [one.wait(120) for one in both] == [0, 0, 0]
    history = opened(folder, tmp_path)
    assert not history.update()
    assert values(history) == [float(number) for number in range(60)]


_CRASH = """
import os, signal, sys
from pathlib import Path
from windtunnel.history import open_history, update
add = update._Writer._add
def crash(self, one, parsed):
    add(self, one, parsed)
    if one.name.startswith("box/0000001e"):
        self.connection.execute("PRAGMA cache_size = 1")
        self.connection.execute("INSERT INTO name (text) VALUES (hex(randomblob(4000000)))")
        os.kill(os.getpid(), signal.SIGKILL)
update._Writer._add = crash
open_history([Path(sys.argv[1])], Path(sys.argv[2])).update()
"""


def test_a_crash_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 10)
    opened(folder, tmp_path).update()
    filled(folder, 40)
    assert started(folder, tmp_path, _CRASH).wait(120) == -signal.SIGKILL
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM file WHERE kind = 'result'").fetchone() == (10,)
    history = opened(folder, tmp_path)
    assert len(history.update().added) == 30
    assert values(history) == [float(number) for number in range(40)]


@pytest.mark.parametrize("start", [0, 100, 5000])
def test_a_damaged_index_is_put_aside_and_made_anew(tmp_path: Path, start: int) -> None:
    folder = filled(plain(tmp_path / "results"), 40)
    opened(folder, tmp_path).update()
    index = tmp_path / "index.sqlite"
    content = index.read_bytes()
    index.write_bytes(content[:start] + b"\xa5" * (len(content) - start))
    heard: list[str] = []
    history = opened(folder, tmp_path, heard)
    assert values(history) == [float(number) for number in range(40)]
    assert [line for line in heard if "index.sqlite.damaged" in line]
    assert (tmp_path / "index.sqlite.damaged").stat().st_size == len(content)
    heard.clear()
    assert not opened(folder, tmp_path, heard).update()
    assert heard == []


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 3)
    opened(folder, tmp_path).update()
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        connection.execute("ALTER TABLE file RENAME TO paper")
    heard: list[str] = []
    assert values(opened(folder, tmp_path, heard)) == [0.0, 1.0, 2.0]
    assert any(f"of version {SCHEMA + 1}, not {SCHEMA}" in line for line in heard)


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        connection.execute("CREATE TABLE dear (one)")
    before = (tmp_path / "index.sqlite").read_bytes()
    with pytest.raises(ConfigError, match="of something else"):
        opened(plain(tmp_path / "results"), tmp_path)
    assert (tmp_path / "index.sqlite").read_bytes() == before


def test_an_index_that_cannot_be_made_says_where_it_should_have_been(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        open_history([tmp_path], tmp_path / "file" / "index.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="another place"):
        open_history([tmp_path], tmp_path / "folder")


def test_what_was_asked_before_an_update_is_not_remembered_after_it(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 2)
    history = opened(folder, tmp_path)
    assert history.series("m.time_it") is history.series("m.time_it")
    folder.result(2, {"m.time_it": row([9.0])})
    history.update()
    assert values(history)[-1] == 9.0


@pytest.mark.parametrize("table,column", [("file", "document"), ("grid", "text"), ("level", "document")])
def test_what_is_not_as_it_was_written_is_made_anew_as_well(tmp_path: Path, table: str, column: str) -> None:
    folder = plain(tmp_path / "results")
    for number in range(12):
        folder.result(number, {"m.time_it": row([1.0 if number < 6 else 3.0])})
    aged(folder)
    before = opened(folder, tmp_path).change_points("m.time_it")
    assert [one.position for one in before] == [6]
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        connection.execute(f"UPDATE {table} SET {column} = substr({column}, 2)")
    heard: list[str] = []
    history = opened(folder, tmp_path, heard)
    assert history.change_points("m.time_it") == before
    assert values(history) == [1.0] * 6 + [3.0] * 6
    assert any("index.sqlite.damaged" in line for line in heard)
    assert not opened(folder, tmp_path).update()


def test_several_processes_that_find_it_damaged_make_one_anew(tmp_path: Path) -> None:
    folder = filled(plain(tmp_path / "results"), 30)
    opened(folder, tmp_path).update()
    index = tmp_path / "index.sqlite"
    index.write_bytes(b"no database" * 1000)
    assert [one.wait(120) for one in [started(folder, tmp_path) for _ in range(4)]] == [0, 0, 0, 0]
    assert (tmp_path / "index.sqlite.damaged").read_bytes() == b"no database" * 1000
    history = opened(folder, tmp_path)
    assert not history.update()
    assert values(history) == [float(number) for number in range(30)]
