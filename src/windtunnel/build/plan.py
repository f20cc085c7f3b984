"""What has to be there for a variant to be started: its image, and those of its services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.build import identity
from windtunnel.build.bases import Bases
from windtunnel.build.context import Context, select
from windtunnel.build.dockerfile import Dockerfile, parse
from windtunnel.build.layers import Stack
from windtunnel.build.resolve import build_args, is_optional
from windtunnel.declare.targets import can_change
from windtunnel.declare.workload import variant_at
from windtunnel.errors import ConfigError, RegistryError, Unavailable
from windtunnel.model import Service, Target, Variant
from windtunnel.ports import ImageInfo, SourceTree

__all__ = ["Arm", "Foreign", "ImageSpec", "LoadTarget", "Part", "Planner"]


@dataclass(frozen=True)
class Arm:
    """One commit's side: `project` is the commit's sources, `harness` the newest side's tree."""

    name: str
    project: SourceTree
    harness: SourceTree


LoadTarget = Callable[[Arm, str], Target]


@dataclass(frozen=True)
class ImageSpec:
    """An image of ours, before it is known whether the engine has it. `base` is what its first layers come from."""

    arm: str
    revision: str
    target: Target
    variant: Variant
    context: Context
    parsed: Dockerfile
    build_args: Mapping[str, str]
    base: Stack
    digest: str

    @property
    def tag(self) -> str:
        """The reference under which the engine has it, or will."""
        return identity.tag(self.target.name, self.digest)

    @property
    def optional(self) -> bool:
        """Whether it may need what is not to be had everywhere."""
        return is_optional(self.target, self.variant)

    @property
    def family(self) -> tuple[object, ...]:
        """Images with the same family are compared with each other: they have to share their first layers."""
        return (self.target.name, tuple(sorted(self.build_args.items())), self.base.layers)

    def __str__(self) -> str:
        at = "the working tree" if self.revision == "worktree" else self.revision[:12]
        return f"{self.variant} ({self.arm}, {at})"


@dataclass(frozen=True)
class Foreign:
    """A service's image by name; the engine has it."""

    reference: str
    info: ImageInfo


@dataclass(frozen=True)
class Part:
    """An image of ours and what is started beside it."""

    spec: ImageSpec
    services: tuple[tuple[Service, Part | Foreign], ...] = ()

    def specs(self) -> list[ImageSpec]:
        """Its own image and those of all services."""
        parts = [part for _, part in self.services if isinstance(part, Part)]
        return [self.spec, *(spec for part in parts for spec in part.specs())]


class Planner:
    """Works out parts. Targets and contexts are read once for each pair of trees, base images looked up once."""

    def __init__(self, bases: Bases, load_target: LoadTarget) -> None:
        self._bases = bases
        self._load = load_target
        self._contexts: dict[tuple[int, int, str, bool], Context] = {}

    def plan(self, arm: Arm, variant: Variant) -> Part:
        """All that `variant` needs on this arm.

        Raises:
            ConfigError: target.toml or the Dockerfile is wrong, or no commit can change what is measured.
            VariantMissing: the arm lacks the target, an axis value, or the sources.
            Unavailable: the variant is optional, and its base image is not to be had.
            RegistryError: a base image is not to be had.
            EngineError: the engine does not answer.
        """
        target = self._load(arm, variant.target)
        if not can_change(target, lambda name: self._load(arm, name)):
            raise ConfigError(
                "this folder is head's for both sides, so no commit of the project can change what is measured; "
                'set harness = "commit", or context = "/" and name the project\'s files in `sources`',
                file=f"{target.folder}/target.toml",
                key="harness",
            )
        return self._part(arm, target, variant, ())

    def _part(self, arm: Arm, target: Target, variant: Variant, trail: Sequence[str]) -> Part:
        if target.name in trail:
            circle = " -> ".join([*trail, target.name])
            raise ConfigError(f"services stand in a circle: {circle}", file=f"{target.folder}/target.toml")
        spec = self._spec(arm, target, variant_at(target, variant), companion=bool(trail))
        services = [(service, self._service(arm, target, service, trail)) for service in target.services]
        return Part(spec, tuple(services))

    def _service(self, arm: Arm, owner: Target, service: Service, trail: Sequence[str]) -> Part | Foreign:
        if service.target is not None:
            wanted = Variant(service.target, tuple(service.axes.items()))
            return self._part(arm, self._load(arm, service.target), wanted, (*trail, owner.name))
        file = f"{owner.folder}/target.toml"
        if service.image is None:
            raise ConfigError(f"service {service.name} has neither target nor image; give it one", file=file)
        return Foreign(service.image, self._bases.get(service.image, f"{file}: service {service.name}"))

    def _spec(self, arm: Arm, target: Target, variant: Variant, *, companion: bool) -> ImageSpec:
        context = self._context(arm, target, companion=companion)
        arguments = build_args(target, variant)
        parsed = parse(context.dockerfile, arguments, file=context.dockerfile_path)
        try:
            layers = [
                self._bases.get(image, f"{context.dockerfile_path}:{parsed.line_of(image)}").layers
                for image in parsed.base_images
            ]
        except RegistryError as error:
            if is_optional(target, variant):
                raise Unavailable(str(error), detail=error.detail) from error
            raise
        return ImageSpec(
            arm=arm.name,
            revision=arm.project.revision,
            target=target,
            variant=variant,
            context=context,
            parsed=parsed,
            build_args=arguments,
            base=self._bases.stack(parsed.root),
            digest=identity.digest(context.dockerfile, arguments, context.files, layers),
        )

    def _context(self, arm: Arm, target: Target, *, companion: bool) -> Context:
        key = (id(arm.project), id(arm.harness), target.name, companion)
        if key not in self._contexts:
            self._contexts[key] = select(arm.project, arm.harness, target, companion=companion)
        return self._contexts[key]
