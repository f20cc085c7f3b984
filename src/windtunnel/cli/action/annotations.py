"""What a comparison says in the annotations of a workflow run: what is wrong, and nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from windtunnel.cli.action.runner import Runner
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison
from windtunnel.errors import ConfigError, WindtunnelError
from windtunnel.report.comparison_words import LABELS, advice, effect_words, grouped, headline, why
from windtunnel.report.visible import visible
from windtunnel.sample.runfile import Run

__all__ = ["MOST", "annotate_comparison", "annotate_error"]

MOST = 10
"""So many warnings of one step are shown on the page of a run."""

_TITLES: Mapping[str, str] = {"regression": "slower", "failed": "failed", "invalid": "invalid"}
_TITLE = "windtunnel"
_NAME = 160


def annotate_comparison(runner: Runner, run: Run, comparison: Comparison, room: int = MOST) -> None:
    """Tell each case that got slower, failed or is invalid; a count where they are more than there is `room` for.

    They are warnings, since the job is green: it is the check that fails. Without any, a notice has the outcome.
    """
    groups = grouped(comparison)
    bad = [(title, one) for name, title in _TITLES.items() for one in groups[name]]
    shown = bad if len(bad) <= room else bad[: max(0, room - 1)]
    for title, result in shown:
        runner.annotate("warning", _words(result), title=f"{_TITLE}: {title}")
    if len(shown) < len(bad):
        left = len(bad) - len(shown)
        runner.annotate("warning", f"and {left} more; the summary of the job has all of them", title=_TITLE)
    if not bad:
        runner.annotate("notice", f"{headline(run, comparison)}. {advice(run, comparison)}", title=_TITLE)
    elif first := len(groups["first"]):
        runner.annotate("notice", f"{first} of the cases are new in head: base has none of them", title=_TITLE)


def _words(result: CaseResult) -> str:
    slower = [one for one in result.metrics.values() if one.verdict is Verdict.REGRESSION]
    if result.verdict is Verdict.REGRESSION and slower:
        said = ", ".join(f"{LABELS[one.metric]} {effect_words(one)}" for one in slower)
    else:
        said = why(result)
    return f"{visible(result.case.id, _NAME)}: {said}"


def annotate_error(runner: Runner, error: WindtunnelError, top: Path, folder: Path) -> None:
    """Tell why nothing was measured, at the file that is to blame.

    `top` is the folder of the checkout, `folder` that of the suite.
    """
    file = _file(error, top.resolve(), folder.resolve()) if isinstance(error, ConfigError) else ""
    line = error.line if isinstance(error, ConfigError) and file else None
    runner.annotate("error", str(error), title=_TITLE, file=file, line=line)


def _file(error: ConfigError, top: Path, folder: Path) -> str:
    """The file's path in the repository; "" for one that is not in it."""
    if error.file is None:
        return ""
    found = next((path for path in (folder / error.file, top / error.file) if path.is_file()), None)
    inside = found is not None and found.resolve().is_relative_to(top)
    return found.resolve().relative_to(top).as_posix() if found is not None and inside else ""
