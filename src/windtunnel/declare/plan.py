"""What a run would build and how long it would take, before it does anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.model import Case, LaunchPlan, Target, Variant
from windtunnel.units import Unit, counted, format_value

__all__ = ["CasePlan", "compare_lines", "image_keys", "plan_case", "plan_lines"]

LoadTarget = Callable[[str], Target]

# seconds, seen with a preforking server on two cores: a launch started and stopped, and what a slice needs around it
_PER_LAUNCH = 0.8
_PER_SLICE = 0.07


@dataclass(frozen=True)
class CasePlan:
    """What one case needs: images (per commit), launches of each arm, and about how many seconds in all.

    `measured` says whether the seconds come from an earlier run rather than from a rule of thumb. `mde` is what a
    comparison could have told from noise the last time, as a share by metric.
    """

    case: Case
    image_keys: tuple[str, ...]
    launches: int
    seconds: float
    measured: bool = False
    mde: Mapping[str, float] = field(default_factory=dict)


def plan_case(
    case: Case, load: LoadTarget, launches: int, plan: LaunchPlan, *, arms: int = 2, measured: float | None = None
) -> CasePlan:
    """Plan one case.

    Args:
        case: with a complete variant (`case_variant`).
        load: gives a target by name, for its build arguments and its services.
        launches: launches of each arm.
        plan: how a launch is loaded.
        arms: 2 to compare, 1 to measure one commit.
        measured: seconds the case took the last time, if that is known.
    """
    estimate = arms * launches * _launch_seconds(plan)
    seconds = estimate if measured is None else measured
    return CasePlan(case, image_keys(case.variant, load), launches, seconds, measured is not None)


def _launch_seconds(plan: LaunchPlan) -> float:
    slices = plan.warmup + plan.slices + plan.single_slices
    return _PER_LAUNCH + slices * (plan.seconds + _PER_SLICE)


def image_keys(variant: Variant, load: LoadTarget) -> tuple[str, ...]:
    """What tells the images of a variant from others of the same commit: its own first, then those of its services.

    Variants that differ in environment or command only share an image, so they have the same key.
    """
    target = load(variant.target)
    keys = [_key(target, dict(variant.axes))]
    for service in target.services:
        if service.target is None:
            keys.append(service.image or "")
        else:
            keys.extend(image_keys(Variant(service.target, tuple(service.axes.items())), load))
    return tuple(dict.fromkeys(keys))


def _key(target: Target, axes: Mapping[str, str]) -> str:
    arguments = dict(target.build_args)
    for axis, values in target.axes.items():
        value = axes.get(axis) or next(iter(values))
        arguments.update(values[value].build_args)
    return " ".join([target.name, *(f"{name}={value}" for name, value in sorted(arguments.items()))])


def plan_lines(plans: Sequence[CasePlan]) -> tuple[str, ...]:
    """One line per case and one for the whole; an image that several cases share counts once."""
    if not plans:
        return ("no cases",)
    lines = [
        f"{plan.case.id}: {plan.launches} launches an arm, {_about(plan.seconds, plan.measured)}" for plan in plans
    ]
    return (*lines, _whole(plans))


def compare_lines(plans: Sequence[CasePlan], budget: float | None) -> tuple[str, ...]:
    """The same for a comparison, which makes as many pairs as it takes: time, and the MDE of the first metric that
    has one (CPU decides). `budget` is in seconds for all cases together."""
    if not plans:
        return ("no cases",)
    lines = [f"{plan.case.id}: {_about(plan.seconds, plan.measured)}, {_mde(plan)}" for plan in plans]
    limit = "" if budget is None else f"; the budget is {_duration(budget)}"
    return (*lines, _whole(plans) + limit)


def _whole(plans: Sequence[CasePlan]) -> str:
    images = {key for plan in plans for key in plan.image_keys}
    seconds = sum(plan.seconds for plan in plans)
    whole = _about(seconds, all(plan.measured for plan in plans))
    counts = f"{counted(len(plans), 'case')}, {counted(len(images), 'image')} per commit"
    return f"{counts} (builds not counted), {whole}"


def _mde(plan: CasePlan) -> str:
    for metric, mde in plan.mde.items():
        return f"MDE {format_value(mde, Unit.RATIO)} ({metric})"
    return "MDE not known"


def _about(seconds: float, measured: bool) -> str:
    return f"{_duration(seconds)} as last time" if measured else f"about {_duration(seconds)}"


def _duration(seconds: float) -> str:
    return format_value(seconds, Unit.SECOND) if seconds < 120 else f"{seconds / 60:.0f} min"
