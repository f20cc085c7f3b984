"""A command that is ended: by Ctrl-C, by a signal, by `kill -9`. At most the launch in flight is lost, and nothing of
it is left on the engine.
"""

from __future__ import annotations

import os
import re
import signal
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from faulty import Command, Suite, docker, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

NIGHTLY = pytest.mark.nightly
ENDING = [signal.SIGINT, *(pytest.param(one, marks=NIGHTLY) for one in (signal.SIGTERM, signal.SIGHUP))]
BUILDING = [signal.SIGINT, pytest.param(signal.SIGTERM, marks=NIGHTLY), signal.SIGKILL]
LONG = ("run", "Server.ok", "--launches", "30", "--batch", "2")


def watchdogs(command: Command) -> list[int]:
    """The command's watchdog: a Python process among its children."""
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
    return [int(one) for one in children if b"watchdog" in Path(f"/proc/{one}/cmdline").read_bytes()]


def kill_with_watchdog(command: Command) -> None:
    """The worst end: nobody is left to clean up."""
    found = watchdogs(command)
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    command.signal(signal.SIGKILL)
    assert command.wait().code == -9


def assert_intact(suite: Suite, least: int) -> None:
    """The run file can be read, and what is in it are launches that came to their end."""
    run = suite.recorded()
    assert run is not None
    assert len(run.launches) >= least
    assert [one.outcome for one in run.launches] == ["ok"] * len(run.launches)
    assert not run.complete


# ---------------- while loading


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_ended_under_load(long: Suite, number: signal.Signals) -> None:
    with long.command(*LONG) as command:
        command.until(long.launches, "a launch is recorded")
        command.until_loading()
        command.signal(number)
        done = command.wait()
    done.expect(130, "windtunnel: (interrupted|ended by SIG)", f"measured so far is in .*{long.run_file.name}")
    assert not command.containers()
    assert_intact(long, 1)


def test_more_signals_do_not_stop_the_clean_up(long: Suite) -> None:
    with long.command(*LONG) as command:
        command.until_loading()
        for _ in range(200):
            with suppress(ProcessLookupError):
                command.signal(signal.SIGINT)
            if command.process.poll() is not None:
                break
            time.sleep(0.01)
        done = command.wait()
    done.expect(130, "already stopping")
    assert not command.containers()


def test_killed_under_load_the_watchdog_cleans_up(long: Suite) -> None:
    with long.command(*LONG) as command:
        command.until(long.launches, "a launch is recorded")
        command.until_loading()
        command.signal(signal.SIGKILL)
        assert command.wait().code == -9
        command.gone(30)
    assert_intact(long, 1)


# ---------------- before


def test_interrupted_while_starting(suite: Suite) -> None:
    with suite.command("run", "Server.deaf", "--launches", "2") as command:
        command.until(lambda: command.running("part"), "a target starts")
        command.signal(signal.SIGINT)
        command.wait().expect(130, "windtunnel: interrupted")
    assert not command.containers()
    assert_intact(suite, 0)


def builds(mark: str) -> list[str]:
    """Containers of build steps with that mark."""
    lines = docker("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Command}}").splitlines()
    return [line.split()[0] for line in lines if mark in line]


@pytest.mark.parametrize("number", BUILDING, ids=lambda number: number.name)
def test_ended_while_building(suite: Suite, number: signal.Signals) -> None:
    mark = uuid.uuid4().hex
    file = suite.path / "targets" / "slowbuild" / "Dockerfile"
    file.write_text(file.read_text().replace("$MARK", mark))
    with suite.command("run", "SlowBuild") as command:
        command.until(lambda: builds(mark), "the slow step runs")
        command.signal(number)
        done = command.wait()
        assert done.code == (-9 if number is signal.SIGKILL else 130), done
    assert "Traceback" not in done.err
    until(lambda: not builds(mark), "the engine gives the build up", 30)
    assert not suite.run_files


# ---------------- one command and the next


def test_what_a_dead_command_left_is_removed_by_the_next(long: Suite) -> None:
    said = r"removed \d+ containers? that an earlier command had left behind"
    for _ in range(3):  # any windtunnel on this engine is "the next": another one may be faster than ours
        with long.command(*LONG) as command:
            command.until_loading()
            kill_with_watchdog(command)
            assert command.containers()
            done = long.run("run", "Server.ok", "--quick").expect(0)
            command.gone()
        if re.search(said, done.err):
            return
    pytest.fail(f"nothing was said of it:\n{done.err}")


def test_the_second_command_waits_and_leaves_the_first_one_alone(long: Suite) -> None:
    with long.command(*LONG) as first:
        first.until_loading()
        with long.command("run", "Server.ok", "--quick") as second:
            second.until(lambda: "waiting" in second.err, "the second one waits")
            assert f"process {first.pid}, in {long.path}" in second.err
            assert first.running("sidecar")
            assert not second.containers()
            first.signal(signal.SIGINT)
            first.wait().expect(130)
            second.wait().expect(0, "Requests per second")
    assert "removed" not in second.err
    assert not second.containers()


def test_a_waiting_command_can_be_interrupted(long: Suite) -> None:
    with long.command(*LONG) as first:
        first.until_loading()
        with long.command("run", "Server.ok", "--quick") as second:
            second.until(lambda: "waiting" in second.err, "the second one waits")
            second.signal(signal.SIGINT)
            second.wait().expect(130)
        assert first.process.poll() is None
        first.signal(signal.SIGINT)
        first.wait().expect(130)
    assert len(long.run_files) == 1


def test_a_container_run_by_hand_from_one_of_our_images_is_not_touched(suite: Suite, image: str) -> None:
    mine = docker("run", "--detach", "--network=none", image, "sleep", "600").strip()
    try:
        assert mine[:12] in docker("ps", "--quiet", "--filter", "label=windtunnel"), "it inherits the image's label"
        assert "removed" not in suite.run("run", "Server.ok", "--quick").expect(0).err
        assert mine[:12] in docker("ps", "--quiet")
    finally:
        docker("rm", "--force", mine)
