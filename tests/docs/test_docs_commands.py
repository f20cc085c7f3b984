"""What the pages say of commands, options, exit codes and metrics."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise

import click
from pages import PAGES, ROOT, read, rows, section, shown

from windtunnel import HTTPBenchmark
from windtunnel.errors import Exit, worst
from windtunnel.model import METRICS

# ---------------- the command line


def test_the_page_of_the_command_line_is_what_the_command_line_says() -> None:
    # In a process of its own: click keeps the options of a command that a test has called without its group.
    command = [sys.executable, ROOT / "tools/cli_page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commands() -> Mapping[str, click.Command]:
    from windtunnel.cli.main import cli

    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_every_command_that_is_listed_is_there_and_says_what_it_does() -> None:
    from windtunnel.cli.main import COMMANDS

    assert set(commands()) == set(COMMANDS)
    assert all(command.name == name and command.help for name, command in commands().items())


def test_every_command_that_a_page_mentions_is_there() -> None:
    known = set(commands())
    for page in PAGES:
        used = set(re.findall(r"(?:`|^\s*)windtunnel ([a-z]+)", page.read_text("utf-8"), re.MULTILINE))
        used -= {"is", "can", "needs", "and", "tracks", "talks", "puts"}
        assert used <= known, shown(page)


def test_every_option_that_a_page_mentions_is_there() -> None:
    known = commands()
    pattern = re.compile(r"windtunnel ([a-z]+)((?: [^`\n|]*)?)")
    for page in PAGES:
        for name, rest in pattern.findall(page.read_text("utf-8")):
            if name in known:
                options = {text for one in known[name].params for text in one.opts} | {"--help", "-h"}
                assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= options, (shown(page), name, rest)


def test_every_make_target_that_a_page_mentions_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        used = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE))
        assert {one or other for one, other in used} <= known, shown(page)


# ---------------- exit codes


def test_every_exit_code_is_described_by_number_and_name() -> None:
    described = re.findall(r"^\| (\d+) \| `([A-Z_]+)` \| (.+) \|$", read("exit-codes.md"), re.MULTILINE)
    assert {(int(number), name) for number, name, _ in described} == {(int(code), code.name) for code in Exit}


def test_the_order_of_exit_codes_is_the_one_that_is_used() -> None:
    said = re.search(r"all of them: ([\d, ]+)\.", read("exit-codes.md"))
    assert said is not None
    order = [Exit(int(number)) for number in said[1].split(",")]
    assert set(order) == set(Exit)
    assert all(worst([graver, lighter]) is graver for graver, lighter in pairwise(order))


# ---------------- metrics


def test_every_metric_is_described_with_its_unit_and_direction() -> None:
    described = rows(section(read("benchmarks.md"), "## Metrics"))
    assert set(METRICS) <= set(described)
    for name, metric in METRICS.items():
        assert described[name][:2] == [metric.unit.value, metric.direction.value], name


def test_the_judged_metrics_come_first() -> None:
    described = [name for name in rows(section(read("benchmarks.md"), "## Metrics")) if name in METRICS]
    judged = [name for name, metric in METRICS.items() if metric.judged]
    assert described[: len(judged)] == judged


def test_asv_benchmarks_are_described_with_their_units() -> None:
    described = rows(section(read("benchmarks.md"), "## How asv sees it"))
    methods = {name: method for name, method in vars(HTTPBenchmark).items() if name.startswith(("time_", "track_"))}
    assert set(methods) <= set(described)
    for name, method in methods.items():
        assert described[name][0] == getattr(method, "unit", "seconds"), name
        assert described[name][1].strip("`") in METRICS
