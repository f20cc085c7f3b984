"""A bisection on a real git repository: which comparisons it asks for, what it makes of them, what it leaves."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pasts import CASE, Machine, Repository, unheard

from windtunnel.adapters.history import Ancestry
from windtunnel.cli.bisect import Bisect
from windtunnel.cli.comparing import Request
from windtunnel.compare.bisection import Care
from windtunnel.errors import BuildFailed, ConfigError, EngineError, Exit, Interrupted, WindtunnelError
from windtunnel.report.bisect import Bisection, bisect_to_json, render_bisect
from windtunnel.sample.runfile import Failure, read_run

SELECT = (f"^{re.escape(CASE)}$",)


@dataclass
class Line:
    """Twelve commits in a line, and where their run files go."""

    repository: Repository
    names: list[str]
    folder: Path

    def bisect(
        self, machine: Machine, said: list[str] | None = None, *, metric: str = "", budget: float = 600.0
    ) -> Bisect:
        commits = Ancestry(self.repository.path, self.names[0], self.names[-1])
        request = Request(start=self.repository.path, select=SELECT, budget=budget)
        return Bisect(request, self.folder, machine, commits, CASE, metric, unheard if said is None else said.append)

    def changed_at(self, number: int, factor: float = 1.06) -> dict[str, float]:
        return dict.fromkeys(self.names[number:], factor)


@pytest.fixture
def line(tmp_path: Path) -> Line:
    made = Repository(tmp_path / "repository")
    return Line(made, made.line(12), tmp_path / "kept")


def heads(machine: Machine) -> list[str]:
    return [one.head for one in machine.asked]


@pytest.mark.parametrize(("number", "factor"), [(1, 1.06), (5, 0.94), (8, 1.05), (11, 1.06)])
def test_the_commit_is_found_and_checked_against_its_parent(line: Line, number: int, factor: float) -> None:
    machine = Machine(speed=line.changed_at(number, factor))
    found, code = line.bisect(machine).run()
    assert code is Exit.OK
    first = line.names[number]
    assert found.found is not None
    assert found.found.commits == (first,)
    last = machine.asked[-1]
    assert (last.base, last.head, last.until) == (line.names[number - 1], first, None)
    # every step has the good end as its base, and goes on until it is sure
    steps = machine.asked[1:-1]
    assert {one.base for one in steps} == {line.names[0]}
    assert all(one.until is not None for one in steps)
    assert 3 <= len(steps) <= 5
    text = render_bisect(found)
    assert text.startswith(f"{first} is the first commit that changed {CASE}\ncommit {first}\n")
    assert "Author: Ada <ada@example.org>" in text
    assert f"    commit {number}" in text
    assert "measured directly: CPU per request " + ("+" if factor > 1 else "-") in text


def test_nothing_of_the_repository_is_touched(line: Line) -> None:
    before = line.repository.state()
    line.bisect(Machine(speed=line.changed_at(5))).run()
    assert line.repository.state() == before


def test_a_step_ends_as_soon_as_it_is_sure(line: Line) -> None:
    machine = Machine(speed=line.changed_at(7, 1.10), noise=0.005)
    found, _ = line.bisect(machine).run()
    assert found.found is not None
    counts = [step.answer.placement.count for step in found.found.steps if step.answer.placement]
    assert counts == [8] * len(counts)


def test_the_same_command_goes_on_where_it_was(line: Line) -> None:
    machine = Machine(speed=line.changed_at(7), cut=machine_pairs_of_ends() + 12)
    said: list[str] = []
    with pytest.raises(Interrupted):
        line.bisect(machine, said).run()
    assert "same command goes on" in said[-1]
    before = machine.made
    machine.asked.clear()
    found, code = line.bisect(machine).run()
    assert code is Exit.OK
    assert machine.asked[0].resume is not None
    whole = Machine(speed=line.changed_at(7))
    again, _ = Line(line.repository, line.names, line.folder.parent / "fresh").bisect(whole).run()
    assert machine.made == whole.made > before
    assert again.found == found.found
    # and once it is complete there is nothing left to measure
    machine.asked.clear()
    line.bisect(machine).run()
    assert not machine.asked


def machine_pairs_of_ends() -> int:
    return Machine.pairs


@pytest.mark.parametrize(
    "error",
    [BuildFailed("the compiler is missing"), ConfigError("target.toml is wrong"), WindtunnelError("no submodule")],
)
def test_what_can_not_be_measured_is_skipped(line: Line, error: WindtunnelError) -> None:
    middle = Ancestry(line.repository.path, line.names[0], line.names[-1]).candidates(
        [line.names[0]], line.names[-1]
    )[0]
    machine = Machine(speed=line.changed_at(9), broken={middle: error})
    found, code = line.bisect(machine).run()
    assert (code, found.found and found.found.commits) == (Exit.OK, (line.names[9],))
    assert f"skipped: {error}" in render_bisect(found)


def test_a_commit_whose_launches_failed_or_that_lacks_the_case_is_skipped(line: Line) -> None:
    declined = {
        line.names[5]: Failure(CASE, "head", "failed", "the image can't be built"),
        line.names[6]: Failure(CASE, "head", "skipped", "there is no such target"),
    }
    found, code = line.bisect(Machine(speed=line.changed_at(6), declined=declined)).run()
    assert code is Exit.INCONCLUSIVE
    assert found.found is not None
    assert set(found.found.commits) == set(line.names[5:8])
    text = render_bisect(found)
    assert text.startswith(f"The first commit that changed {CASE} could be any of")
    assert "skipped: head: the image can't be built" in text
    assert "skipped: there is no such target" in text
    assert bisect_to_json(found)["first"] is None


def test_an_identical_commit_is_good_without_a_pair(line: Line) -> None:
    same = {name: Failure(CASE, "head", "identical", "the images are the same") for name in line.names[1:9]}
    machine = Machine(speed=line.changed_at(9), declined=same)
    found, code = line.bisect(machine).run()
    assert (code, found.found and found.found.commits) == (Exit.OK, (line.names[9],))
    assert "good: it is launched from the same images" in render_bisect(found)


@pytest.mark.parametrize(
    ("machine", "code", "words"),
    [
        (lambda line: Machine(noise=0.003), Exit.OK, "unchanged: there is nothing to find between them"),
        (lambda line: Machine(noise=0.1), Exit.INCONCLUSIVE, "inconclusive"),
        (
            lambda line: Machine(declined={line.names[-1]: Failure(CASE, "head", "identical", "the same")}),
            Exit.OK,
            "identical in everything that is launched",
        ),
        (
            lambda line: Machine(declined={line.names[-1]: Failure(CASE, "base", "first", "first run: head only")}),
            Exit.NOTHING_MEASURED,
            "first run: head only",
        ),
        (
            lambda line: Machine(declined={line.names[-1]: Failure(CASE, "head", "failed", "it does not build")}),
            Exit.HEAD_BROKEN,
            "it does not build",
        ),
    ],
)
def test_without_a_change_there_is_nothing_to_search(
    line: Line, machine: Callable[[Line], Machine], code: Exit, words: str
) -> None:
    engine = machine(line)
    found, ended = line.bisect(engine).run()
    assert ended is code
    assert heads(engine) == [line.names[-1]]
    assert words in render_bisect(found)
    assert bisect_to_json(found)["candidates"] == []


def test_an_engine_that_is_gone_ends_it(line: Line) -> None:
    machine = Machine(speed=line.changed_at(5), broken=dict.fromkeys(line.names[2:9], EngineError("gone")))
    with pytest.raises(EngineError):
        line.bisect(machine).run()
    assert len(machine.asked) == 2


def test_a_range_of_one_commit_was_compared_directly(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repository")
    short = Line(made, made.line(2), tmp_path / "kept")
    machine = Machine(speed=short.changed_at(1))
    found, code = short.bisect(machine).run()
    assert (code, len(machine.asked)) == (Exit.OK, 1)
    assert found.check is not None
    assert found.check.confirmed


def test_of_two_changes_the_larger_part_is_followed_and_both_are_told(line: Line) -> None:
    speed = {name: 1.03 if number < 9 else 1.10 for number, name in enumerate(line.names) if number >= 3}
    said: list[str] = []
    found, code = line.bisect(Machine(speed=speed, noise=0.004), said).run()
    assert (code, found.found and found.found.commits) == (Exit.OK, (line.names[9],))
    assert any("it has a part of the change" in one for one in said)
    assert "More than one commit between them changed the case" in render_bisect(found)


def test_a_check_that_says_something_else_is_told(line: Line) -> None:
    machine = Machine(speed=line.changed_at(7))

    def calm_down(request: Request) -> None:
        if request.output and request.output.name.endswith("-check.jsonl"):
            machine.speed.clear()

    machine.then = calm_down
    found, code = line.bisect(machine).run()
    assert code is Exit.INCONCLUSIVE
    assert found.check is not None
    assert not found.check.confirmed
    assert "does not say the same as the search" in render_bisect(found)


def test_a_step_that_was_not_sure_is_made_anew_when_there_is_more_time(line: Line) -> None:
    machine = Machine(speed=line.changed_at(7, 1.05), noise=0.01)
    short = line.bisect(machine, budget=60.0)

    def cut(request: Request) -> None:
        """A budget of a minute is used up after six pairs."""
        if request.until is not None and request.budget == 60.0:
            object.__setattr__(request, "until", lambda series: len(series["cpu_per_request"]) >= 6)

    machine.then = cut
    found, code = short.run()
    assert code is Exit.INCONCLUSIVE
    assert found.found is not None
    assert found.found.gave_up
    machine.asked.clear()
    line.bisect(machine, budget=60.0).run()
    assert not machine.asked  # with the same budget it would end the same way
    found, code = line.bisect(machine, budget=600.0).run()
    assert (code, found.found and found.found.commits) == (Exit.OK, (line.names[7],))
    assert machine.asked[0].output is not None
    assert machine.asked[0].output.name.endswith("-2.jsonl")


def test_a_metric_can_be_chosen(line: Line) -> None:
    found, code = line.bisect(Machine(speed=line.changed_at(4)), metric="response_time").run()
    assert (code, found.metric) == (Exit.OK, "response_time")
    assert found.found is not None
    assert found.found.commits == (line.names[4],)


def test_a_step_never_gets_more_pairs_than_it_may(line: Line) -> None:
    """With noise like that no step is sure; each ends at the most pairs, and the search before long."""
    machine = Machine(speed=line.changed_at(6, 1.06), noise=0.01)

    def roar(request: Request) -> None:
        machine.noise = 0.3 if request.until else 0.01

    machine.then = roar
    found, code = line.bisect(machine).run()
    assert code is Exit.INCONCLUSIVE
    assert found.found is not None
    assert found.found.gave_up
    for step in found.found.steps:
        assert step.answer.placement is not None
        assert step.answer.placement.count == Care().most


def test_the_report_for_programs_has_every_step(line: Line) -> None:
    found, _ = line.bisect(Machine(speed=line.changed_at(5))).run()
    report = bisect_to_json(found)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["first"]["commit"] == line.names[5]
    assert found.found is not None
    for told, step in zip(report["steps"], found.found.steps, strict=True):
        run = read_run(Path(told["run_file"]))
        assert run.header.arms[1].commit == told["commit"] == step.commit
        assert step.answer.placement is not None
        assert told["effect"] == math.exp(step.answer.placement.estimate)
        assert told["side"] == ("bad" if told["commit"] in line.names[5:] else "good")
    assert_adds_up(found, report["seconds"])


def assert_adds_up(found: Bisection, seconds: float) -> None:
    """A minute for each comparison: the ends, the steps, the check."""
    assert found.found is not None
    assert seconds == 60.0 * (2 + len(found.found.steps))
