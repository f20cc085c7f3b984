"""What is around the servers fails: the engine, the side-car, the disk, the terminal, a build."""

from __future__ import annotations

import os
import socket
import subprocess
import uuid
from pathlib import Path

import pytest
from faulty import Suite, docker, mounted

from windtunnel.sample.runfile import read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def outcomes(suite: Suite) -> list[str]:
    run = suite.recorded()
    assert run is not None
    return [one.outcome for one in run.launches]


# ---------------- containers that somebody kills


def test_a_side_car_that_is_killed(long: Suite) -> None:
    with long.command("run", "Server.ok", "--launches", "2", "--batch", "1") as command:
        sidecar = command.until_loading()
        docker("kill", sidecar.id)
        done = command.wait()
        command.gone()
    done.expect(6, r"launch 1 lost: the load side-car ended \(exit code 137: it was killed\)")
    assert outcomes(long) == ["lost", "ok"]


def test_a_target_that_is_killed(long: Suite) -> None:
    with long.command("run", "Server.ok", "--launches", "2", "--batch", "1") as command:
        command.until_loading()
        docker("kill", *[one.id for one in command.running("part")])
        done = command.wait()
        command.gone()
    done.expect(4, r"faulty ended under load \(exit code 137: it was killed\)", "mode ok")
    assert outcomes(long) == ["invalid", "ok"]


# ---------------- no engine


def dead_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("address", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:PORT", "nonsense"])
@pytest.mark.parametrize("command", ["run", "clean"])
def test_no_engine(suite: Suite, address: str, command: str) -> None:
    address = address.replace("PORT", str(dead_port()))
    done = suite.run(command, DOCKER_HOST=address)
    done.expect(6, f"no container engine answers at {address}", "tools/docker-engine", "DOCKER_HOST")
    assert not suite.run_files


# ---------------- the disk


@pytest.mark.parametrize("size", ["4k", "24k"])
def test_a_full_disk_under_the_run_file(suite: Suite, tmp_path: Path, size: str) -> None:
    with mounted(tmp_path / "small", f"size={size}") as folder:
        path = folder / "run.jsonl"
        done = suite.run("run", "Server.ok", "--launches", "60", "--output", path)
        done.expect(6, f"cannot write {path}: No space left on device", "make room, or name another place")
        if size == "4k":
            assert not path.exists() or not read_run(path).launches
        else:
            run = read_run(path)
            assert 1 <= len(run.launches) < 60
            assert {one.outcome for one in run.launches} == {"ok"}


@pytest.mark.nightly
@pytest.mark.usefixtures("image")
def test_a_full_disk_under_everything_that_is_kept(suite: Suite) -> None:
    with mounted(suite.path / ".windtunnel", "size=24k"):
        suite.run("run", "Server.ok", "--launches", "60").expect(6, "No space left on device")
        run = suite.recorded()
        assert run is not None
        assert 1 <= len(run.launches) < 60


@pytest.mark.parametrize("where", ["output", "state"])
def test_a_read_only_folder_is_noticed_before_anything_is_built(suite: Suite, tmp_path: Path, where: str) -> None:
    folder = suite.path / ".windtunnel" if where == "state" else tmp_path / "fixed"
    arguments: list[str | Path] = ["--output", folder / "run.jsonl"] if where == "output" else []
    with mounted(folder, "ro"):
        done = suite.run("run", "SlowBuild", "--quick", *arguments)
    done.expect(6, f"cannot write {folder}/.*: Read-only file system", "another place with --output")
    assert "building" not in done.err


# ---------------- builds


def test_a_dockerfile_that_fails(suite: Suite) -> None:
    mark = uuid.uuid4().hex
    file = suite.path / "targets" / "broken" / "Dockerfile"
    file.write_text(file.read_text().replace("a first step", mark).replace("the compiler", f"{mark} the compiler"))
    done = suite.run("run", "Broken|Server.ok", "--quick")
    done.expect(7, "targets/broken/Dockerfile", f"{mark} the compiler is missing", "Requests per second")
    (log,) = [word for word in done.err.split() if word.endswith(".log")]
    assert f"{mark} the compiler is missing" in Path(log).read_text()
    run = suite.recorded()
    assert run is not None
    assert [(one.case, one.kind) for one in run.failures] == [("faults.Broken", "failed")]
    dangling = docker("images", "--quiet", "--filter", "dangling=true").split()
    assert not [image for image in dangling if mark in docker("history", "--no-trunc", image, check=False)]
    assert mark not in docker("ps", "--all", "--no-trunc", "--format", "{{.Command}}")


def test_nothing_but_a_dockerfile_that_fails(suite: Suite) -> None:
    done = suite.run("run", "Broken")
    done.expect(7, "the compiler is missing", "less .*log")
    run = suite.recorded()
    assert run is not None
    assert (run.complete, run.launches) == (True, ())


# ---------------- whoever reads


def closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_a_reader_that_has_had_enough(suite: Suite) -> None:
    pipe = closed_pipe()
    with suite.command("run", "Server.ok", "--quick", "--json", stdout=pipe) as command:
        os.close(pipe)
        command.wait().expect(0, "run file: ")
    assert outcomes(suite) == ["ok"]


def test_a_reader_of_a_failure_that_has_had_enough_does_not_make_it_a_success(suite: Suite) -> None:
    pipe = closed_pipe()
    with suite.command("run", "Server.exits", "--quick", stdout=pipe) as command:
        os.close(pipe)
        command.wait().expect(7)


def test_a_report_that_can_not_be_written(suite: Suite) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with suite.command("run", "Server.ok", "--quick", "--json", stdout=full) as command:
        os.close(full)
        done = command.wait()
    done.expect(6, "standard output: No space left on device; everything measured is in .*jsonl")
    assert outcomes(suite) == ["ok"]


@pytest.mark.parametrize("sink", ["closed", "/dev/full"])
def test_nobody_watches_any_more(suite: Suite, sink: str) -> None:
    """Standard error goes nowhere: the measuring does not end for that."""
    error = closed_pipe() if sink == "closed" else os.open(sink, os.O_WRONLY)
    with suite.command("run", "Server.ok", "--quick", stdout=subprocess.DEVNULL, stderr=error) as command:
        os.close(error)
        command.wait().expect(0)
    assert outcomes(suite) == ["ok"]


@pytest.mark.parametrize("command", ["plan", "--help"])
def test_other_commands_into_a_closed_pipe(suite: Suite, command: str) -> None:
    pipe = closed_pipe()
    with suite.command(command, stdout=pipe) as running:
        os.close(pipe)
        running.wait().expect(0)
