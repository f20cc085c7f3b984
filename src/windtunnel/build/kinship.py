"""Keeps the images of one target comparable: the same instructions have to have given the same layers.

When base was built last month and head is built today, the package layer below their sources may differ, and the
comparison would blame the pull request for a month of updates. So head is built on the layers of a base that came
from elsewhere (a registry, a file), and what is out of line all the same is built anew, on the newest image's layers,
which the engine still has in its cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from windtunnel.build.layers import Stack, shared_prefix
from windtunnel.build.plan import ImageSpec
from windtunnel.errors import EngineError, WindtunnelError
from windtunnel.ports import Engine, ImageInfo

__all__ = ["BUILDER_LABEL", "GROWN_LABEL", "Kinship"]

BUILDER_LABEL = "windtunnel.builder"
"""Which builder's life an image comes from: what is not in its layers (other stages) was alike in all of it."""

GROWN_LABEL = "windtunnel.grown"
"""The image was built on layers of one from elsewhere: the classic builder's cache does not know those steps."""

_ROUNDS = 2


@dataclass(frozen=True)
class _Member:
    """What is kept of an image: not its sources, since a builder may live over hundreds of commits."""

    tag: str
    stack: Stack
    base: Stack
    independent: int
    hidden: bool
    builder: str
    age: tuple[int, str]
    """When it was built by this builder (0: it was not), and when the engine says that it was made."""
    foreign: bool
    """Its first layers came from elsewhere (a registry, a file), so they are not in the engine's build cache."""

    def is_kin(self, other: _Member) -> bool:
        if (self.hidden or other.hidden) and self.builder != other.builder:
            return False
        independent = min(self.independent, other.independent)
        return shared_prefix(self.stack, other.stack, self.base, independent)


class Kinship:
    """The images seen in a builder's life, by family."""

    def __init__(self, engine: Engine) -> None:
        self.builder = uuid4().hex
        self._engine = engine
        self._built: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._families: dict[tuple[object, ...], dict[str, _Member]] = {}

    def built(self, digest: str) -> None:
        """The image of that digest was just built."""
        self._built[digest] = next(self._numbers)

    def seen(self, spec: ImageSpec, info: ImageInfo) -> None:
        """An image that the engine has, before others of its family are built."""
        self._remember(spec, info)

    def source(self, spec: ImageSpec) -> str:
        """The tag of the image on whose layers `spec` has to be built because no build cache has them; or ""."""
        newest = max(self._families.get(spec.family, {}).values(), key=lambda member: member.age, default=None)
        return newest.tag if newest is not None and newest.foreign and newest.tag != spec.tag else ""

    def align(
        self, present: Iterable[tuple[ImageSpec, ImageInfo]], rebuild: Callable[[ImageSpec], ImageInfo]
    ) -> Mapping[str, tuple[ImageInfo, tuple[str, ...]]]:
        """Rebuild what does not share its first layers with the newest image of its family.

        Args:
            present: the images needed now; only those are rebuilt.
            rebuild: builds one under the same tag.

        Returns:
            By digest, the image as it is now, and the warnings that go with it.
        """
        infos: dict[str, ImageInfo] = {}
        groups: dict[tuple[object, ...], list[ImageSpec]] = {}
        for spec, info in present:
            infos[spec.digest] = info
            groups.setdefault(spec.family, []).append(spec)
            self._remember(spec, info)
        aligned: dict[str, tuple[ImageInfo, tuple[str, ...]]] = {}
        for specs in groups.values():
            doubt = self._align_group(specs, infos, rebuild)
            aligned |= {spec.digest: (infos[spec.digest], doubt) for spec in specs}
        return aligned

    def _align_group(
        self, specs: Sequence[ImageSpec], infos: dict[str, ImageInfo], rebuild: Callable[[ImageSpec], ImageInfo]
    ) -> tuple[str, ...]:
        """Rebuild within one family. A second round lets the newest stand on a rebuilt one where its own layers are
        not in the cache (they came from a registry)."""
        for _ in range(_ROUNDS):
            for spec in self._strangers(specs):
                try:
                    infos[spec.digest] = rebuild(spec)
                except WindtunnelError as error:
                    return (f"{self._doubt(specs)} (building {spec} anew failed: {error})",)
                self._remember(spec, infos[spec.digest])
        alone = self._is_split(specs)
        return (self._doubt(specs),) if alone else ()

    def _strangers(self, specs: Sequence[ImageSpec]) -> list[ImageSpec]:
        """Those of `specs` that have not grown on the same layers as the newest member of their family."""
        family = self._families.get(specs[0].family, {})
        if not family:
            return []
        newest = max(family.values(), key=lambda member: member.age)
        members = [(spec, family.get(spec.digest)) for spec in specs]
        return [spec for spec, member in members if member is not None and not member.is_kin(newest)]

    def _is_split(self, specs: Sequence[ImageSpec]) -> bool:
        members = list(self._families.get(specs[0].family, {}).values())
        newest = max(members, key=lambda member: member.age, default=None)
        return newest is not None and not all(member.is_kin(newest) for member in members)

    def _doubt(self, specs: Sequence[ImageSpec]) -> str:
        return (
            f"the images of {specs[0].variant} do not share the layers below their sources: installed packages may "
            "differ by more than the commits do; remove the images windtunnel/* and measure again"
        )

    def _remember(self, spec: ImageSpec, info: ImageInfo) -> None:
        try:
            history = self._engine.history(info.id)
        except EngineError:  # removed meanwhile; whoever starts it will say so
            return
        self._families.setdefault(spec.family, {})[spec.digest] = _Member(
            tag=spec.tag,
            stack=Stack(history, info.layers),
            base=spec.base,
            independent=spec.parsed.independent,
            hidden=spec.parsed.has_hidden_stages,
            builder=info.labels.get(BUILDER_LABEL, ""),
            age=(self._built.get(spec.digest, 0), info.created),
            foreign=GROWN_LABEL in info.labels or (spec.digest not in self._built and not info.parent),
        )
