"""What is started for a variant: target, axis values and services merged into a `ResolvedLaunch`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from windtunnel.model import AxisValue, Limits, ResolvedLaunch, Service, Target, Variant

__all__ = ["Image", "build_args", "foreign_service", "is_optional", "own_service", "resolve"]


@dataclass(frozen=True)
class Image:
    """An image that the engine has. `size` is in bytes, `warnings` travel with every result."""

    reference: str
    digest: str
    size: int | None = None
    warnings: tuple[str, ...] = ()


def _values(target: Target, variant: Variant) -> list[AxisValue]:
    """The variant's axis values in the order in which the target declares its axes: the last one wins."""
    chosen = dict(variant.axes)
    return [values[chosen[axis]] for axis, values in target.axes.items()]


def build_args(target: Target, variant: Variant) -> dict[str, str]:
    """The build arguments of a complete variant: the target's, then those of its axis values."""
    merged = dict(target.build_args)
    for value in _values(target, variant):
        merged |= value.build_args
    return merged


def is_optional(target: Target, variant: Variant) -> bool:
    """Whether one of a complete variant's axis values may not be to be had everywhere."""
    return any(value.optional for value in _values(target, variant))


def resolve(
    target: Target, variant: Variant, image: Image, services: Iterable[ResolvedLaunch] = ()
) -> ResolvedLaunch:
    """How a complete variant (a value on each of the target's axes) is started.

    A client serves no port, and its worker is its command. Services come in the order in which they are started.
    """
    env, command, workers = dict(target.env), target.command, target.workers
    for value in _values(target, variant):
        env |= value.env
        command = command if value.command is None else value.command
        workers = workers if value.workers is None else value.workers
    client = target.kind == "client"
    started = tuple(services)
    return ResolvedLaunch(
        name=target.name,
        image=image.reference,
        digest=image.digest,
        port=None if client else target.port,
        env=tuple(sorted(env.items())),
        command=target.worker if client and command is None else command,
        worker=target.worker,
        limits=target.limits,
        ready=target.ready,
        workers=workers,
        image_size=image.size,
        services=started,
        warnings=tuple(dict.fromkeys([*image.warnings, *(text for one in started for text in one.warnings)])),
    )


def own_service(service: Service, resolved: ResolvedLaunch) -> tuple[ResolvedLaunch, ...]:
    """A service that is a target: what it needs itself first (named ``SERVICE/NAME``), then the service."""
    needed = (replace(inner, name=f"{service.name}/{inner.name}") for inner in resolved.services)
    outer = replace(
        resolved,
        name=service.name,
        port=resolved.port if service.port is None else service.port,
        env=_over(dict(resolved.env), service.env),
        command=resolved.command if service.command is None else service.command,
        limits=resolved.limits if service.limits is None else service.limits,
        services=(),
    )
    return (*needed, outer)


def foreign_service(service: Service, image: Image) -> ResolvedLaunch:
    """A service that is an image by name."""
    return ResolvedLaunch(
        name=service.name,
        image=image.reference,
        digest=image.digest,
        port=service.port,
        env=_over({}, service.env),
        command=service.command,
        limits=service.limits or Limits(),
        image_size=image.size,
    )


def _over(env: dict[str, str], more: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((env | dict(more)).items()))
