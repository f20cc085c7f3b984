"""`bench/answers`: what windtunnel's own suite says of the questions that five old posts asked, and of releases.

Every figure comes from run files that are kept in bench/answered, so that anyone can make the tables again. What
the posts found is in bench/questions.json: requests (or calls) a second of the faster and of the slower side, and who
stands in their place here.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchlib.runs import kept_run, pack
from benchlib.tables import place, table
from windtunnel.compare.unpaired import Between
from windtunnel.errors import ConfigError, WindtunnelError
from windtunnel.model import Host
from windtunnel.report.pairwise import Board, boards, pooled
from windtunnel.report.rates import cell_words, rate_rows
from windtunnel.sample.runfile import Run, read_run

__all__ = [
    "KEPT",
    "PAIRS",
    "SITE",
    "Claim",
    "Question",
    "agreement",
    "claims_table",
    "kept",
    "main",
    "pairs_table",
    "read_questions",
    "told",
]

_BENCH = Path(__file__).resolve().parent.parent
KEPT = _BENCH / "answered"
SITE = _BENCH.parent / "site"
PAIRS = SITE / "design" / "versus.md"
QUESTIONS = _BENCH / "questions.json"
_METRIC = "time_per_request"
_LEGEND = {
    False: "A cell says how much faster the row is than the column.",
    True: "A cell says how much faster the row is than the one before it, or than the first.",
}


@dataclass(frozen=True)
class Claim:
    """What a post found, and who stands in for its two sides here.

    Attributes:
        says: who is ahead of whom, in the post's names.
        post: by what factor, there.
        faster, slower: the values of the parameter that stand for them.
        fixed: the values of other parameters; the first board that has them is the one.
    """

    says: str
    post: float
    faster: str
    slower: str
    fixed: Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """A part of a page: a parameter of a benchmark class, the run that has it, and what was claimed of it.

    Attributes:
        name: what its place in the page is called.
        run: the name of the run file in bench/answered.
        benchmark, by: the class and its parameter.
        claims: what is set against the run; none for a question that no post asked.
        page: where it is answered.
        in_order: its values have an order: each is set against the one before and the first, not all against all.
    """

    name: str
    run: str
    benchmark: str
    by: str
    claims: tuple[Claim, ...]
    page: Path
    in_order: bool = False

    def boards(self, run: Run) -> tuple[Board, ...]:
        """The matrices of the parameter. Raises ConfigError where the run has none."""
        wanted = [case.id for case in run.header.cases if case.benchmark == self.benchmark]
        found = boards(pooled([run], wanted), self.by, _METRIC)
        if not found:
            raise ConfigError(f"run {run.header.id} has nothing of {self.benchmark} by {self.by}")
        return found


def read_questions(path: Path = QUESTIONS) -> tuple[Question, ...]:
    """All questions, in the order of the pages."""
    return tuple(
        Question(
            one["name"],
            one["run"],
            one["benchmark"],
            one["by"],
            tuple(map(_claim, one.get("claims", ()))),
            SITE / one.get("page", "answers.md"),
            one.get("in_order", False),
        )
        for one in json.loads(path.read_text("utf-8"))
    )


def _claim(one: Mapping[str, object]) -> Claim:
    given = dict(one)
    ahead, behind = given.pop("post")  # type: ignore[misc]
    return Claim(post=ahead / behind, **given)  # type: ignore[arg-type]


# ---------------- what was found


def agreement(post: float, here: Between) -> str:
    """Whether the interval has the post's side ahead, and whether the post's factor is in it."""
    low, high = here.low, here.high
    if not (math.isfinite(low) and math.isfinite(high)):
        return "too few launches to tell"
    if low <= 1 <= high:
        return "can't be told apart here"
    if high < 1:
        return "no, the other way round"
    return "yes" if low <= post <= high else f"yes, by {'less' if high < post else 'more'}"


def claims_table(question: Question, found: Sequence[Board]) -> str:
    """A row for each claim: the post's factor, the one here with its interval, and whether they agree."""
    heads = ("The post", "there", "here", "how many times as fast", "does it agree?")
    return table(heads, [list(_row(claim, found)) for claim in question.claims])


def _row(claim: Claim, found: Sequence[Board]) -> Iterator[str]:
    board = next((one for one in found if claim.fixed.items() <= dict(one.fixed).items()), None)
    if board is None:
        raise ConfigError(f"no matrix has {dict(claim.fixed)}, which {claim.says!r} is about")
    yield claim.says
    yield f"{claim.post:.2f}"
    values = ", ".join(value for name, value in board.fixed if name in claim.fixed)
    yield f"{claim.faster} over {claim.slower}{f' ({values})' if values else ''}"
    here = _cell(board, claim)
    yield here if isinstance(here, str) else _times(here)
    yield "not known" if isinstance(here, str) else agreement(claim.post, here)


def _cell(board: Board, claim: Claim) -> Between | str:
    names = [row.contender.name for row in board.matrix.rows]
    for name in (claim.faster, claim.slower):
        if name not in names:
            return f"{name}: {board.unmeasured.get(name, 'no such value')}"
    cell = board.matrix.rows[names.index(claim.faster)].cells[names.index(claim.slower)]
    assert cell is not None
    return cell


def _times(one: Between) -> str:
    """A factor, as finely as its interval lets one see."""
    digits = 2 if one.ratio < 10 else 1
    if not math.isfinite(one.low):
        return f"{one.ratio:.{digits}f}"
    return f"{one.ratio:.{digits}f} [{one.low:.{digits}f}, {one.high:.{digits}f}]"


# ---------------- the page


def told(question: Question, run: Run) -> str:
    """All that the page has between the marks of this question: the claims, each table, and where it is from."""
    found = question.boards(run)
    parts = [claims_table(question, found)] if question.claims else []
    for board in found:
        parts += [_title(board), _ladder(board) if question.in_order else _matrix(board), *_left_out(board)]
    return _whole("\n".join([*parts, _origin(question, run, found)]))


def _whole(text: str) -> str:
    """Percentages and intervals that no cell of a table tears apart."""
    return re.sub(r"(?<=\d) (?=%)|(?<=[\d.],) (?=[-+\d.]+\])", "\N{NO-BREAK SPACE}", text)


def _title(board: Board) -> str:
    return f"**{board.benchmark}{''.join(f', {name} {value}' for name, value in board.fixed)}**\n"


def _matrix(board: Board) -> str:
    head, *rows = rate_rows(board.matrix)
    return table(head, rows)


def _ladder(board: Board) -> str:
    """A row for each value, in their order: against the one before it, and against the first."""
    rows = {row.contender.name: row for row in board.matrix.rows}
    columns = {name: place for place, name in enumerate(rows)}
    names = [one.name for one in board.contenders if one.name in rows]
    table_rows = [
        [name, rows[name].rate, *(cell_words(rows[name].cells[columns[other]]) for other in (before, names[0]))]
        for before, name in zip([names[0], *names], names, strict=False)
    ]
    return table((board.by, board.matrix.first, "faster than the one before", "faster than the first"), table_rows)


def _left_out(board: Board) -> Iterator[str]:
    if board.unmeasured:
        yield "".join(f"Not measured: {name}: {why}.\n" for name, why in board.unmeasured.items())
    if board.notes:
        yield "".join(f"Note: {note}.\n" for note in board.notes)


def _origin(question: Question, run: Run, found: Sequence[Board]) -> str:
    launches = sorted({len(one.launches) for board in found for one in board.contenders})
    counts = " to ".join(dict.fromkeys(str(one) for one in (launches[0], launches[-1])))
    command = shlex.join(["windtunnel", *_arguments(run.header.command)])
    return (
        f"{_LEGEND[question.in_order]} {counts} launches each, {run.header.created[:10]}, "
        f"{_machine(run.header.host)}: `{command}`; again from what was kept: "
        f"`windtunnel versus {question.benchmark} --by {question.by} --from {question.run}.jsonl`.\n"
    )


def _arguments(command: Sequence[str]) -> Iterator[str]:
    """Of a command line, without the name of the program and of its output."""
    left = iter(command[1:] if command and "windtunnel" in command[0] else command)
    for word in left:
        if word == "--output":
            next(left, None)
        else:
            yield word


def _machine(host: Host | None) -> str:
    if host is None:
        return "on a machine that is not known"
    return f"{host.cpu_model}, {host.cores} cores, {host.engine} {host.engine_version}"


def pairs_table(question: Question, run: Run) -> str:
    """The steps of a question twice: from pairs of launches, and from the same launches as if they had none."""
    alone = replace(run, header=replace(run.header, turns=()))
    heads = ("step", "launches", "in pairs", "without pairs", "width, times")
    rows = [
        [
            f"{', '.join(value for _, value in board.fixed)} {step.old} to {step.new}".strip(),
            str(len(board.contenders[0].launches)),
            cell_words(step.change),
            cell_words(other.change),
            f"{_width(other.change) / _width(step.change):.1f}",
        ]
        for board, unpaired in zip(question.boards(run), question.boards(alone), strict=True)
        for step, other in zip(board.steps, unpaired.steps, strict=True)
    ]
    return _whole(table(heads, rows))


def _width(one: Between) -> float:
    return math.log(one.high / one.low)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="bench/answers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--keep", nargs="*", type=Path, default=[], metavar="RUNFILE", help="keep these in bench/answered first"
    )
    parser.add_argument(
        "--write", action="store_true", help="put the tables into the pages of site/, instead of printing them"
    )
    options = parser.parse_args()
    try:
        for path in options.keep:
            read_run(path)  # whatever can't be read is not kept
            pack(path, KEPT / f"{path.name}.xz")
        for page, name, text in _tables():
            if options.write:
                place(page, name, text)
            else:
                print(f"## {name}\n\n{text}")
    except WindtunnelError as error:
        print(f"bench/answers: {error}", file=sys.stderr)
        sys.exit(int(error.exit))


def _tables() -> Iterator[tuple[Path, str, str]]:
    """Every table, with its page and its place there."""
    questions = read_questions()
    for question in questions:
        yield question.page, question.name, told(question, kept(question))
    yield PAIRS, "pairs", pairs_table(questions[0], kept(questions[0]))


def kept(question: Question) -> Run:
    """The run that a question is answered from."""
    return kept_run(KEPT / f"{question.run}.jsonl.xz")


if __name__ == "__main__":
    main()
