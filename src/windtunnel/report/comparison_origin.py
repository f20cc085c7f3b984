"""Where a comparison comes from: commits, what was decided by, and the command that measures a case again. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from windtunnel.compare.rule import JUDGED
from windtunnel.compare.verdict import Comparison
from windtunnel.model import Host
from windtunnel.report.comparison_words import CHANGED, LABELS, between, cases_words, shared_notes
from windtunnel.report.run import host_words, time_words
from windtunnel.report.visible import visible
from windtunnel.sample.merge import host_of_case
from windtunnel.sample.runfile import Arm, Run
from windtunnel.units import format_share

__all__ = ["arm_of", "arm_words", "full_commit", "machine_of_case", "origin", "plan_words", "reproduce"]

_SHOWN_ARMS = ("base", "head")


def origin(run: Run, comparison: Comparison) -> list[tuple[str, str]]:
    """All that the comparison comes from, as (name, words), in the order in which it is told.

    The words are one line each and safe for a terminal; Markdown has to escape them.
    """
    header = run.header
    facts = [(arm.name, arm_words(arm)) for arm in header.arms if arm.name in _SHOWN_ARMS]
    facts += [("control", words)] if (words := _control_summary(comparison)) else []
    facts += [("rule", plan_words(run, comparison))]
    facts += [("shards", _shard_words(run))] if header.shards else []
    facts += [("machine", words) for words in _machines(run)]
    facts += [("time", visible(time_words(run)))]
    facts += [("run", f"{visible(header.id, 60)}, windtunnel {visible(header.windtunnel, 30)}")]
    return facts + [("note", visible(note)) for note in shared_notes(comparison)]


# ---------------- commits


def arm_of(run: Run, name: str) -> Arm | None:
    """The arm of that name."""
    return next((arm for arm in run.header.arms if arm.name == name), None)


def arm_words(arm: Arm) -> str:
    """Commit, revision, subject and date, as far as they are known."""
    commit = "working tree" if arm.commit == "worktree" else visible(arm.commit, 64)[:10]
    revision = "" if arm.revision in {arm.commit, "worktree", commit} else visible(arm.revision, 60)
    subject = visible(arm.subject, 72)
    return "  ".join(part for part in (commit, revision, visible(arm.date, 30)[:10], subject) if part)


_FULL_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def full_commit(arm: Arm | None) -> str:
    """The arm's commit where it is one in full; else "" (a run file may come from anywhere)."""
    return arm.commit if arm is not None and _FULL_COMMIT.fullmatch(arm.commit) else ""


# ---------------- what was decided by, and where


def plan_words(run: Run, comparison: Comparison) -> str:
    """What was decided by, and what it takes to have the same order again."""
    rule, plan = comparison.rule, run.header.compare
    parts = [f"threshold {format_share(rule.threshold)}", f"at most {rule.most} pairs a case"]
    if plan is not None:
        parts += [f"budget {plan.budget:g} s"] if plan.budget is not None else []
        parts += [f"suite {visible(plan.suite, 60)}"] if plan.suite else []
        parts += [f"shard {visible(plan.shard, 20)}"] if plan.shard else []
    parts += [f"seed {visible(run.header.seed, 60)}"] if run.header.seed else []
    return ", ".join(parts)


def _control_summary(comparison: Comparison) -> str:
    """What the control arm of all cases together says: how far two bases come out apart."""
    seen = [one.control[JUDGED[0]] for one in comparison.cases if JUDGED[0] in one.control]
    if not seen:
        return ""
    told = sum(any(one.verdict in CHANGED for one in result.control.values()) for result in comparison.cases)
    change = f"a change seen in {cases_words(told)}, which is the machine's" if told else "no change seen"
    return f"base once more in {cases_words(len(seen))}: {LABELS[JUDGED[0]]} {between(seen)}, {change}"


_SHARDS = 12


def _shard_words(run: Run) -> str:
    """What a merged run was put together from."""
    shards = run.header.shards
    names = [visible(shard.shard or shard.id, 40) for shard in shards[:_SHARDS]]
    more = f" and {len(shards) - _SHARDS} more" if len(shards) > _SHARDS else ""
    return f"{len(shards)} put together: {', '.join(names)}{more}"


def _machines(run: Run) -> Iterator[str]:
    """Each machine once; where there are several, how many cases it measured."""
    if run.header.host is not None:
        yield visible(host_words(run.header.host))
        return
    cases: dict[str, int] = {}
    for shard in run.header.shards:
        words = _machine(shard.host)
        cases[words] = cases.get(words, 0) + len(shard.cases)
    yield from (f"{words} ({cases_words(count)})" for words, count in cases.items())


def machine_of_case(run: Run, case: str) -> str:
    """The machine of one case, in a run that was measured on several; else ""."""
    if run.header.host is not None or not run.header.shards:
        return ""
    return _machine(host_of_case(run.header, case))


def _machine(host: Host | None) -> str:
    if host is None:
        return "not known"
    cores = f"{host.cores} {'core' if host.cores == 1 else 'cores'}"
    return visible(f"{host.cpu_model}, {cores}, kernel {host.kernel}")


# ---------------- once more


_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def reproduce(run: Run, case: str) -> str:
    """The command that measures one case again, ready for a POSIX shell; `case` is its id."""
    head = arm_of(run, "head")
    local = head is not None and head.commit == "worktree"
    words = ["windtunnel", "compare", _revision(arm_of(run, "base"), "BASE")]
    words += ["--worktree"] if local else [_revision(head, "HEAD")]
    return shlex.join([*words, "--bench", f"^{_pattern(case)}$"])


def _revision(arm: Arm | None, otherwise: str) -> str:
    """A commit, or a placeholder: what is no commit (a run file may come from anywhere) gets into no command."""
    return arm.commit[:12] if arm is not None and _COMMIT.fullmatch(arm.commit) else otherwise


def _pattern(case: str) -> str:
    """A regular expression that only the case's id matches; what can't be seen is written as an escape."""
    return "".join(_literal(char) for char in case)


def _literal(char: str) -> str:
    if char in r"\.^$*+?{}[]|()":
        return f"\\{char}"
    if char == " " or char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
