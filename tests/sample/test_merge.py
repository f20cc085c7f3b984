"""Shards of one comparison, put together: nothing is lost, nothing is mixed, and what does not belong is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import material
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import compare
from windtunnel.errors import ConfigError, Exit
from windtunnel.model import Case, Launch, LaunchPlan
from windtunnel.sample.merge import host_of_case, merge_runs, missing_shards, shards_of, write_run
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, Run, RunWriter, read_run
from windtunnel.sample.schedule import Sizes

ARMS = (Arm("base", "main", "a" * 40, "2026-11-01", "before"), Arm("head", "HEAD", "b" * 40, "2026-11-02", "after"))


def case(name: str) -> Case:
    return replace(material.CASE, benchmark=name, params=())


def launch(name: str, arm: str, number: int, slower: float = 1.0) -> Launch:
    """One with a CPU time that wobbles by number, the same for both arms but for `slower`."""
    wobble = 1 + 0.002 * ((7 * number) % 5)
    cost = 0.03 * wobble * (slower * (1 + 0.001 * (number % 3)) if arm == "head" else 1)
    slices = tuple(
        replace(one, cpu=cost, wall=cost, mean_latency=cost / one.requests) for one in material.LAUNCH.slices
    )
    return replace(material.LAUNCH, case=name, arm=arm, number=number, slices=slices)


def shard(part: str, *names: str, pairs: int = 2, slower: float = 1.0, cpu: str = "A processor") -> Run:
    header = replace(
        material.HEADER,
        id=f"run-{part}-{'-'.join(names)}",
        arms=ARMS,
        cases=tuple(map(case, names)),
        host=replace(material.HOST, cpu_model=cpu),
        compare=ComparePlan(0.02, 40, budget=60.0 * len(names), shard=part),
    )
    launches = [
        launch(name, arm, number, slower) for name in names for number in range(pairs) for arm in ("base", "head")
    ]
    sizes = {name: Sizes(160, 40, 0.04, 0.04) for name in names}
    return Run(header, tuple(launches), (), sizes, {"exit": 0, "seconds": 10.0 * len(names), "build_seconds": 1.0})


def _header(**changes: Any) -> Callable[[Run], Run]:
    return lambda run: replace(run, header=replace(run.header, **changes))


def _plan(**changes: Any) -> Callable[[Run], Run]:
    def changed(run: Run) -> Run:
        assert run.header.compare is not None
        return replace(run, header=replace(run.header, compare=replace(run.header.compare, **changes)))

    return changed


def test_the_whole_has_everything_in_the_order_of_the_files() -> None:
    one, two = shard("1/2", "b.Z", "b.Y", cpu="Old"), shard("2/2", "b.A", cpu="New")
    two = replace(two, failures=(Failure("b.A", "head", "identical", "the same"),), launches=())
    whole = merge_runs({"one": one, "two": two})
    assert [one.id for one in whole.header.cases] == ["b.Z", "b.Y", "b.A"]
    assert whole.launches == one.launches
    assert whole.failures == two.failures
    assert whole.sizes.keys() == {"b.Z", "b.Y", "b.A"}
    assert whole.header.arms == ARMS
    assert whole.end == {"exit": 0, "seconds": 30.0, "build_seconds": 2.0}
    assert whole.header.compare == ComparePlan(0.02, 40, budget=180.0)


def test_every_case_keeps_its_machine() -> None:
    whole = merge_runs({"one": shard("1/2", "b.A", cpu="Old"), "two": shard("2/2", "b.B", cpu="New")})
    assert whole.header.host is None
    hosts = [host_of_case(whole.header, name) for name in ("b.A", "b.B")]
    assert [host.cpu_model for host in hosts if host] == ["Old", "New"]
    assert host_of_case(material.HEADER, "any") == material.HOST


def test_machines_that_are_alike_are_one_with_the_heaviest_load() -> None:
    one, two = shard("1/2", "b.A"), shard("2/2", "b.B")
    two = replace(two, header=replace(two.header, host=replace(material.HOST, load=1.75)))
    assert merge_runs({"one": one, "two": two}).header.host == replace(material.HOST, load=1.75)


def test_a_verdict_is_the_same_in_the_whole_as_in_its_shard() -> None:
    slow = shard("1/2", "b.Slow", pairs=40, slower=1.08)
    same = shard("2/2", "b.Same", pairs=40)
    whole = compare(merge_runs({"slow": slow, "same": same}))
    assert [one.verdict for one in whole.cases] == [Verdict.REGRESSION, Verdict.UNCHANGED]
    assert [one.verdict for run in (slow, same) for one in compare(run).cases] == [one.verdict for one in whole.cases]
    assert whole.outcome is Exit.REGRESSION


def test_what_is_merged_again_is_the_same_as_all_at_once() -> None:
    runs = {str(part): shard(f"{part}/3", f"b.{part}") for part in (1, 2, 3)}
    at_once = merge_runs(runs)
    first = merge_runs({"1": runs["1"], "2": runs["2"]})
    assert not first.complete
    again = merge_runs({"first": first, "3": runs["3"]})
    assert again.header == at_once.header
    assert again.launches == at_once.launches
    assert merge_runs({"1": runs["1"]}).header.shards == shards_of(runs["1"])


def test_what_was_merged_can_be_written_and_read(tmp_path: Path) -> None:
    whole = merge_runs({"one": shard("1/2", "b.A", cpu="Old"), "two": shard("2/2", "b.B", cpu="New")})
    writer = RunWriter(tmp_path / "run.jsonl")
    write_run(writer, whole)
    writer.close()
    assert read_run(tmp_path / "run.jsonl") == whole


@pytest.mark.parametrize(("codes", "expected"), [((0, 10), 10), ((10, 7), 7), ((4, 0), 4), ((5, 5), 5)])
def test_the_worst_exit_code_stands(codes: tuple[int, int], expected: int) -> None:
    runs = {
        str(part): replace(shard(f"{part}/2", f"b.{part}"), end={"exit": code}) for part, code in enumerate(codes, 1)
    }
    assert merge_runs(runs).end["exit"] == expected


def test_a_part_that_was_cut_short_or_is_missing_leaves_the_whole_without_an_end() -> None:
    one, two = shard("1/2", "b.A"), shard("2/2", "b.B")
    assert merge_runs({"one": one, "two": two}).complete
    assert not merge_runs({"one": one, "two": replace(two, end={})}).complete
    assert not merge_runs({"one": one}).complete


def test_missing_parts_are_named() -> None:
    parts = [*shards_of(shard("3/4", "b.A")), *shards_of(shard("1/4", "b.B"))]
    assert missing_shards(parts) == ("2/4", "4/4")
    assert missing_shards(shards_of(shard("", "b.A"))) == ()


def test_plans_of_single_cases_and_patterns_are_kept() -> None:
    one, two = shard("1/2", "b.A"), shard("2/2", "b.B")
    plans = [{"b.A": LaunchPlan(slices=2)}, {"b.B": LaunchPlan(slices=3)}]
    wholes = []
    for selects in ((("a",), ("b", "a")), (("a",), ())):
        changed = zip((one, two), selects, plans, strict=True)
        parts = [_plan(select=select, plans=plan)(run) for run, select, plan in changed]
        wholes.append(merge_runs(dict(zip("12", parts, strict=True))).header.compare)
    assert [whole.select for whole in wholes if whole] == [("a", "b"), ()]
    assert wholes[0] is not None
    assert wholes[0].plans == plans[0] | plans[1]


def test_a_control_arm_of_some_shards_is_one_of_the_whole() -> None:
    one, two = shard("1/2", "b.A"), shard("2/2", "b.B")
    control = Arm("control", "main", "a" * 40)
    plan = replace(two.header.compare or ComparePlan(0.02, 40), control=True)
    two = replace(two, header=replace(two.header, arms=(*ARMS, control), compare=plan))
    whole = merge_runs({"two": two, "one": one})
    assert [arm.name for arm in whole.header.arms] == ["base", "head", "control"]
    assert whole.header.compare is not None
    assert whole.header.compare.control


# ---------------- what does not belong


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_header(project="other"), "the project is other here and starlet there"),
        (
            _header(arms=(replace(ARMS[0], commit="c" * 40), ARMS[1])),
            f"the commit of base is {'c' * 40} here",
        ),
        (_header(arms=(ARMS[0], replace(ARMS[1], commit="worktree"))), "the commit of head is worktree here and bbb"),
        (_header(arms=ARMS[:1]), "the commit of head is none here"),
        (_plan(threshold=0.05), "the threshold is 0.05 here and 0.02 there"),
        (_plan(most=60), "the most pairs of a case is 60 here and 40 there"),
        (_header(windtunnel="0.2"), "windtunnel's version is 0.2 here and 0.1 there"),
        (_header(plan=LaunchPlan(slices=3)), "how a launch is loaded is warmup 1, slices 3"),
    ],
)
def test_another_comparison_is_refused_with_what_differs(change: Callable[[Run], Run], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        merge_runs({"one": shard("1/2", "b.A"), "two": change(shard("2/2", "b.B"))})
    assert str(caught.value).startswith("two: is not of the same comparison as one: ")
    assert words in str(caught.value)


def test_a_run_of_one_revision_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^two: holds no comparison"):
        merge_runs({"one": shard("1/2", "b.A"), "two": Run(material.HEADER)})


def test_a_case_in_two_shards_is_refused_with_both() -> None:
    with pytest.raises(ConfigError, match=r"^two: has the case b\.A, and so has one; a case lives in one shard"):
        merge_runs({"one": shard("1/2", "b.A"), "two": shard("2/2", "b.B", "b.A")})


def test_the_same_run_twice_is_refused_as_such() -> None:
    run = shard("1/2", "b.A")
    with pytest.raises(ConfigError, match=r"^copy: has the run run-1/2-b\.A, and so has one"):
        merge_runs({"one": run, "copy": run})
    whole = merge_runs({"one": run, "two": shard("2/2", "b.B")})
    with pytest.raises(ConfigError, match=r"^one: has the run run-1/2-b\.A, and so has whole"):
        merge_runs({"whole": whole, "one": run})


def test_a_case_that_another_shard_declined_is_refused() -> None:
    """Else the whole would take a case that was measured for one that was not."""
    two = replace(shard("2/2", "b.B"), failures=(Failure("b.A", "head", "skipped", "not there"),))
    for files in ({"one": shard("1/2", "b.A"), "two": two}, {"two": two, "one": shard("1/2", "b.A")}):
        with pytest.raises(ConfigError, match=r"^two: has the case b\.A, and so has one"):
            merge_runs(files)


def test_what_all_shards_declined_is_told_once() -> None:
    declined = (Failure("b.Old", "head", "skipped", "not there"),)
    runs = {str(part): replace(shard(f"{part}/2", f"b.{part}"), failures=declined) for part in (1, 2)}
    assert merge_runs(runs).failures == declined


def test_parts_of_two_cuts_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^two: is one of 4 shards, and one one of 3"):
        merge_runs({"one": shard("1/3", "b.A"), "two": shard("2/4", "b.B")})
