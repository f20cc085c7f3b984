"""Shards of one comparison, put together again. Pure.

A case lives in one shard: it was measured on one machine, from its first pair to its last. So cases may come from
machines of different CPU models, and no effect ever mixes two of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from windtunnel.declare.shards import parse_shard
from windtunnel.errors import ConfigError, Exit, worst
from windtunnel.model import Host, LaunchPlan
from windtunnel.sample.decode import shown_name
from windtunnel.sample.runfile import Arm, ComparePlan, Header, Run, RunWriter, Shard

__all__ = ["host_of_case", "merge_runs", "missing_shards", "shards_of", "write_run"]

_ARMS = ("base", "head", "control")


def merge_runs(runs: Mapping[str, Run]) -> Run:
    """One run with the cases of all these, in their order.

    Budgets and times are added, the worst exit code stands. If one of them did not come to its end, or others of the
    same cut are missing, the whole has no end either. The same runs give the same result, its id included.

    Args:
        runs: by the name of their files, which is for messages; at least one.

    Raises:
        ConfigError: one is no comparison, they are not of the same comparison, or they have a case in common; with
            both files.
    """
    _all_comparisons(runs)
    _of_one_comparison(runs)
    _of_one_cut(runs)
    _apart(runs)
    whole = list(runs.values())
    launches = tuple(launch for run in whole for launch in run.launches)
    failures = tuple(dict.fromkeys(failure for run in whole for failure in run.failures))
    sizes = {case: sizes for run in whole for case, sizes in run.sizes.items()}
    header = _header(whole)
    return Run(header, launches, failures, sizes, {} if missing_shards(header.shards) else _end(whole))


def write_run(writer: RunWriter, run: Run) -> None:
    """A whole run into an empty file. Raises StorageError."""
    writer.header(run.header)
    for failure in run.failures:
        writer.failure(failure)
    for case, sizes in run.sizes.items():
        writer.sizes(case, sizes)
    for launch in run.launches:
        writer.launch(launch)
    if run.end:
        writer.end(**run.end)


def shards_of(run: Run) -> tuple[Shard, ...]:
    """The runs that a run was merged from; of one that was not merged, itself."""
    if run.header.shards:
        return run.header.shards
    header, plan = run.header, _plan(run)
    cases = tuple(case.id for case in header.cases)
    return (Shard(header.id, header.created, header.command, header.seed, plan.shard, cases, header.host),)


def missing_shards(shards: Sequence[Shard]) -> tuple[str, ...]:
    """The parts ("2/4") of which others are there; those that were not cut by number are not known to be missing."""
    there = {shard.shard for shard in shards if _is_part(shard.shard)}
    counts = {shard.rpartition("/")[2] for shard in there}
    wanted = [f"{number}/{count}" for count in sorted(counts) for number in range(1, int(count) + 1)]
    return tuple(shard for shard in wanted if shard not in there)


def _is_part(shard: str) -> bool:
    try:
        return bool(parse_shard(shard))
    except ConfigError:
        return False


def host_of_case(header: Header, case: str) -> Host | None:
    """The machine that a case was measured on, in a merged run too; None where it was not asked."""
    return next((shard.host for shard in header.shards if case in shard.cases), header.host)


# ---------------- what has to be the same, and what must not


def _plan(run: Run) -> ComparePlan:
    assert run.header.compare is not None  # `_all_comparisons` saw to it
    return run.header.compare


def _all_comparisons(runs: Mapping[str, Run]) -> None:
    for name, run in runs.items():
        if run.header.compare is None:
            raise ConfigError(
                "holds no comparison; only run files of windtunnel compare can be put together", file=name
            )


_FACTS: Mapping[str, Callable[[Run], str]] = {
    "the project": lambda run: run.header.project,
    "the commit of base": lambda run: _commit(run, "base"),
    "the commit of head": lambda run: _commit(run, "head"),
    "the threshold": lambda run: str(_plan(run).threshold),
    "windtunnel's version": lambda run: run.header.windtunnel,
    "how a launch is loaded": lambda run: ", ".join(
        f"{key} {value:g}" for key, value in vars(run.header.plan).items()
    ),
    "the most pairs of a case": lambda run: str(_plan(run).most),
}
"""What makes two runs parts of one comparison, in the words of messages."""


def _loading(plan: LaunchPlan) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in vars(plan).items())


def _commit(run: Run, arm: str) -> str:
    return next((one.commit for one in run.header.arms if one.name == arm), "none")


def _of_one_comparison(runs: Mapping[str, Run]) -> None:
    (first, one), *others = runs.items()
    for name, run in others:
        for what, fact in _FACTS.items():
            if fact(run) != fact(one):
                here, there = shown_name(fact(run), 200), shown_name(fact(one), 200)
                raise ConfigError(
                    f"is not of the same comparison as {first}: {what} is {here} here and {there} there", file=name
                )


def _of_one_cut(runs: Mapping[str, Run]) -> None:
    seen: dict[str, str] = {}
    for name, run in runs.items():
        for shard in shards_of(run):
            if shard.shard and not _is_part(shard.shard):
                raise ConfigError(
                    f'is of the shard "{shown_name(shard.shard)}", and there is no such part', file=name
                )
            count = shard.shard.rpartition("/")[2]
            first = next(iter(seen), count)
            if count and count != first:
                raise ConfigError(f"is one of {count} shards, and {seen[first]} one of {first}", file=name)
            if count:
                seen[count] = name


def _apart(runs: Mapping[str, Run]) -> None:
    """No run twice, no case in two of them: neither measured there, nor measured here and declined there."""
    seen: dict[str, str] = {}
    for name, run in runs.items():
        for shard in shards_of(run):
            _claim(seen, f"the run {shard.id}", name)
    for name, run in runs.items():
        for case in run.header.cases:
            _claim(seen, f"the case {case.id}", name)
    for name, run in runs.items():
        for failure in run.failures:
            if seen.get(f"the case {failure.case}", name) != name:
                _claim(seen, f"the case {failure.case}", name)


def _claim(seen: dict[str, str], what: str, name: str) -> None:
    if what in seen:
        raise ConfigError(
            f"has {shown_name(what, 200)}, and so has {seen[what]}; a case lives in one shard", file=name
        )
    seen[what] = name


# ---------------- the whole


def _header(runs: Sequence[Run]) -> Header:
    first = runs[0].header
    shards = tuple(shard for run in runs for shard in shards_of(run))
    digest = hashlib.sha256("\n".join(sorted(shard.id for shard in shards)).encode(errors="replace")).hexdigest()
    return replace(
        first,
        id=f"merged-{digest[:12]}",
        created=min(run.header.created for run in runs),
        command=(),
        seed="",
        arms=_arms(runs),
        cases=tuple(case for run in runs for case in run.header.cases),
        host=_host([shard.host for shard in shards]),
        compare=_whole_plan(runs),
        shards=shards,
    )


def _arms(runs: Sequence[Run]) -> tuple[Arm, ...]:
    """Each once, as the first run has it."""
    found: dict[str, Arm] = {}
    for run in runs:
        for arm in run.header.arms:
            found.setdefault(arm.name, arm)
    return tuple(found[name] for name in sorted(found, key=lambda name: (name not in _ARMS, _place(name))))


def _place(name: str) -> int:
    return _ARMS.index(name) if name in _ARMS else 0


def _whole_plan(runs: Sequence[Run]) -> ComparePlan:
    plans = [_plan(run) for run in runs]
    budgets = [plan.budget for plan in plans]
    known = [budget for budget in budgets if budget is not None]
    selects = [plan.select for plan in plans]
    suites = {plan.suite for plan in plans}
    return replace(
        plans[0],
        budget=sum(known) if len(known) == len(budgets) else None,
        control=any(plan.control for plan in plans),
        select=tuple(dict.fromkeys(pattern for select in selects for pattern in select)) if all(selects) else (),
        suite=plans[0].suite if len(suites) == 1 else "",
        shard="",
        plans={case: one for plan in plans for case, one in plan.plans.items()},
    )


def _host(hosts: Sequence[Host | None]) -> Host | None:
    """The machine, where all of them were alike (with the heaviest load that one of them had); else None."""
    known = [host for host in hosts if host is not None]
    if not known or len(known) < len(hosts) or any(replace(host, load=known[0].load) != known[0] for host in known):
        return None
    return replace(known[0], load=max(host.load for host in known))


def _end(runs: Sequence[Run]) -> Mapping[str, Any]:
    if not all(run.complete for run in runs):
        return {}
    codes = [Exit(run.end["exit"]) for run in runs if "exit" in run.end]
    times = {key: sum(run.end.get(key, 0.0) for run in runs) for key in ("seconds", "build_seconds")}
    return {"exit": int(worst(codes)), **times}
