"""`windtunnel merge`, from files to a file."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import material
from windtunnel.cli.merge import merge_command
from windtunnel.errors import ConfigError
from windtunnel.sample.merge import write_run
from windtunnel.sample.runfile import Arm, ComparePlan, Run, RunWriter, read_run

ARMS = (Arm("base", "main", "a" * 40), Arm("head", "HEAD", "b" * 40))


def shard(path: Path, part: str, *names: str, cpu: str = "A processor") -> Path:
    cases = tuple(replace(material.CASE, benchmark=name, params=()) for name in names)
    header = replace(
        material.HEADER,
        id=f"run-{'-'.join(names)}",
        arms=ARMS,
        cases=cases,
        host=replace(material.HOST, cpu_model=cpu),
        compare=ComparePlan(0.02, 40, shard=part),
    )
    launches = [replace(material.LAUNCH, case=name, arm=arm) for name in names for arm in ("base", "head")]
    with closing(RunWriter(path)) as writer:
        write_run(writer, Run(header, tuple(launches), end={"exit": 0, "seconds": 75.0}))
    return path


def merge(*arguments: str | Path) -> None:
    merge_command.main([str(one) for one in arguments], standalone_mode=False)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two of three shards; the second of them comes from another kind of machine."""
    return [
        shard(tmp_path / "one.jsonl", "1/3", "b.A", "b.B"),
        shard(tmp_path / "three.jsonl", "3/3", "b.C", cpu="Another processor"),
    ]


def test_shards_become_one_run_file(files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = shard(tmp_path / "two.jsonl", "2/3", "b.D")
    merge(files[0], two, files[1], "--output", tmp_path / "new" / "whole.jsonl", "--require-all")
    whole = read_run(tmp_path / "new" / "whole.jsonl")
    assert [case.id for case in whole.header.cases] == ["b.A", "b.B", "b.D", "b.C"]
    assert whole.end == {"exit": 0, "seconds": 225.0, "build_seconds": 0.0}
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines() == [
        f"1/3: 2 cases, 4 launches, 75.00 s, A processor ({files[0]})",
        f"2/3: 1 case, 2 launches, 75.00 s, A processor ({two})",
        f"3/3: 1 case, 2 launches, 75.00 s, Another processor ({files[1]})",
        f"merged: {tmp_path / 'new' / 'whole.jsonl'}",
    ]


def test_a_missing_shard_is_a_warning_and_the_whole_has_no_end(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merge(*files, "--output", tmp_path / "whole.jsonl")
    assert "warning: shard 2/3 is missing" in capsys.readouterr().err
    assert not read_run(tmp_path / "whole.jsonl").complete


def test_a_missing_shard_can_be_made_an_error(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="shard 2/3 is missing; name all run files"):
        merge(*files, "--output", tmp_path / "whole.jsonl", "--require-all")
    assert not (tmp_path / "whole.jsonl").exists()


def test_a_matrix_tells_which_cases_there_should_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shards whose cases were named have no numbers to go by."""
    one, two = shard(tmp_path / "1.jsonl", "", "b.A"), shard(tmp_path / "2.jsonl", "", "b.B")
    matrix = tmp_path / "matrix.json"
    cases = [{"case": name} for name in ("b.A", "b.B")]
    matrix.write_text(json.dumps({"format": "windtunnel-matrix", "version": 1, "include": [], "cases": cases}))
    merge(one, "--output", tmp_path / "part.jsonl", "--matrix", matrix)
    assert "warning: b.B is in no run file" in capsys.readouterr().err
    assert not read_run(tmp_path / "part.jsonl").complete
    with pytest.raises(ConfigError, match=r"b\.B is in no run file"):
        merge(one, "--output", tmp_path / "none.jsonl", "--matrix", matrix, "--require-all")
    merge(one, two, "--output", tmp_path / "whole.jsonl", "--matrix", matrix, "--require-all")
    assert read_run(tmp_path / "whole.jsonl").complete


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format":"windtunnel-matrix","cases":[1]}', "[" * 100_000])
def test_another_file_is_no_matrix(content: str, files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "matrix.json").write_text(content)
    with pytest.raises(ConfigError, match=r"^\S+/matrix\.json: is not "):
        merge(*files, "--output", tmp_path / "whole.jsonl", "--matrix", tmp_path / "matrix.json")


def test_a_file_that_is_there_is_not_overwritten(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="never overwritten"):
        merge(*files, "--output", files[0])


def test_a_file_given_twice_by_another_name_is_refused(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(files[0])
    with pytest.raises(ConfigError, match=r"^\S+/link\.jsonl: is given twice \(also as \S+/one\.jsonl\)"):
        merge(*files, tmp_path / "link.jsonl", "--output", tmp_path / "whole.jsonl")


def test_a_broken_file_is_named(files: list[Path], tmp_path: Path) -> None:
    files[1].write_text("nonsense\n\n")
    with pytest.raises(ConfigError, match=r"^\S+/three\.jsonl:1: "):
        merge(*files, "--output", tmp_path / "whole.jsonl")


def test_exit_codes(files: list[Path], tmp_path: Path) -> None:
    def code(*arguments: str | Path) -> int:
        command = [sys.executable, "-m", "windtunnel", "merge", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert code(*files, "--output", tmp_path / "whole.jsonl") == 0
    assert code(*files, "--output", tmp_path / "whole.jsonl") == 2
    assert code("--output", tmp_path / "other.jsonl") == 2
    assert code(*files, "--output", files[0] / "below.jsonl") == 6
