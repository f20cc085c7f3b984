"""The use case: an image for each variant and arm, built where the engine has none of that identity yet."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from windtunnel.build import locks
from windtunnel.build.bases import Bases
from windtunnel.build.context import DOCKERFILE
from windtunnel.build.dockerfile import needs_buildkit
from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.build.kinship import BUILDER_LABEL, GROWN_LABEL, Kinship
from windtunnel.build.log import BuildLog
from windtunnel.build.plan import Arm, Foreign, ImageSpec, LoadTarget, Part, Planner
from windtunnel.build.pool import run_all
from windtunnel.build.progress import BuildProgress, OneAtATime
from windtunnel.build.registry import Registry, Wanted, mistrust
from windtunnel.build.resolve import Image, foreign_service, own_service, resolve
from windtunnel.errors import BuildFailed, EngineError, RegistryError, Unavailable, WindtunnelError
from windtunnel.model import ResolvedLaunch, Variant
from windtunnel.ports import LABEL, BuildRequest, Engine, ImageInfo

__all__ = ["DIGEST_LABEL", "Arm", "BuildProgress", "ImageBuilder"]

UNAVAILABLE = 69
"""EX_UNAVAILABLE of sysexits.h: how a build step ends that lacks something from outside (`site/targets.md`)."""

_WANTING = re.compile(rf"(?:non-zero code|exit code): {UNAVAILABLE}\b")
_REASON = re.compile(r"^(?:#\d+ )?(?:\d+\.\d+ )?unavailable: (.+)$", re.MULTILINE)
"""A line of the step's own output; BuildKit times it, and repeats the step's command, which has the word too."""

_VANISHED = re.compile(r"No such image|failed to get digest|layer does not exist", re.IGNORECASE)


class ImageBuilder:
    """Builds each identity once: not twice for two commits, two arms, two runs, or two processes.

    Args:
        engine: where images are looked for and built.
        progress: gets told what happens.
        logs: the folder for build logs, one file an image.
        locks: the folder for lock files; ``logs/locks`` when it is None. Processes that share it don't build the
            same image at the same time.
        jobs: how many builds run at once.
        registry: where images are pulled from before they are built; None for nowhere.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        progress: BuildProgress,
        logs: Path,
        locks: Path | None = None,
        jobs: int = 2,
        registry: Registry | None = None,
    ) -> None:
        self.registry = registry
        self._engine = engine
        self._progress = OneAtATime(progress)
        self._logs = logs
        self._locks = locks or logs / "locks"
        self._jobs = jobs
        self._bases = Bases(engine, self._progress.line)
        self._kinship = Kinship(engine)
        self._failed: dict[str, BuildFailed | Unavailable] = {}
        self._leftovers: set[str] = set()
        self._untidy = False
        self._tags: dict[str, str] = {}
        self._useless: set[str] = set()

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of all images that it has had in hand, each once."""
        return tuple(self._tags.values())

    def prepare(
        self, wanted: Sequence[tuple[Arm, Variant]], load_target: LoadTarget
    ) -> Mapping[tuple[str, Variant], ResolvedLaunch | WindtunnelError]:
        """See to it that every variant can be started on its arm.

        Args:
            wanted: arms (told apart by name) and variants; an axis that has one value only may be left out.
            load_target: the target of that name as the arm has it.

        Returns:
            By arm's name and variant as given, how to start it, or the error that keeps it from being started. An
            error of one variant does not keep the others. Programming errors and interruptions are raised.
        """
        planner = Planner(self._bases, load_target)
        plans = {(arm.name, variant): _planned(planner, arm, variant) for arm, variant in _unique(wanted)}
        parts = [part for part in plans.values() if isinstance(part, Part)]
        specs = {spec.digest: spec for part in parts for spec in part.specs()}
        images = self._obtain_all(list(specs.values()))
        return {key: _resolved(plan, images) if isinstance(plan, Part) else plan for key, plan in plans.items()}

    # ---------------- the engine has it, or a registry, or it is built

    def _obtain_all(self, specs: Sequence[ImageSpec]) -> Mapping[str, Image | WindtunnelError]:
        """By digest: the image, or why there is none.

        What is there is looked up before anything is built, since what is built may have to stand on its layers.
        """
        errors: dict[str, WindtunnelError] = {}
        infos: dict[str, ImageInfo] = {}

        def each(obtain: Callable[[ImageSpec], ImageInfo | None], some: Sequence[ImageSpec]) -> None:
            def attempt(spec: ImageSpec) -> None:
                try:
                    info = obtain(spec)
                except WindtunnelError as error:
                    errors[spec.digest] = error
                    return
                if info is not None:
                    infos[spec.digest] = info

            run_all(self._jobs, attempt, some)

        self._note(specs)
        try:
            each(self._find, specs)
            each(self._obtain, [spec for spec in specs if spec.digest not in infos and spec.digest not in errors])
            present = [(spec, infos[spec.digest]) for spec in specs if spec.digest in infos]
            aligned = self._kinship.align(present, self._rebuild)
        finally:
            self._clean_up()
        tags = {spec.digest: spec.tag for spec in specs}
        self._tags |= {digest: tags[digest] for digest in infos}
        images = {digest: Image(tags[digest], digest, info.size, more) for digest, (info, more) in aligned.items()}
        return {**errors, **images}

    def _note(self, specs: Sequence[ImageSpec]) -> None:
        """What is not worth a pull: hidden stages have to come from one builder, so one of several is of no use."""
        sides = Counter(spec.family for spec in specs)
        self._useless = {spec.digest for spec in specs if spec.parsed.has_hidden_stages and sides[spec.family] > 1}

    def _find(self, spec: ImageSpec) -> ImageInfo | None:
        """The image from the engine or the registry, if one of them has it."""
        with self._locked(spec):
            if spec.digest in self._failed:
                raise self._failed[spec.digest]
            info = self._present(spec) or self._pulled(spec)
        if info is not None:
            self._kinship.seen(spec, info)
        return info

    def _present(self, spec: ImageSpec) -> ImageInfo | None:
        info = self._engine.image(spec.tag)
        if info is None or mistrust(info, _wanted(spec)):
            return None
        self._progress.reused(spec.tag, spec.variant, spec.arm)
        return info

    def _pulled(self, spec: ImageSpec) -> ImageInfo | None:
        if self.registry is None or spec.digest in self._useless:
            return None
        info = self.registry.pull(_wanted(spec), lambda text: self._progress.line(spec.tag, text))
        if info is not None:
            self._progress.pulled(spec.tag, spec.variant, spec.arm)
        return info

    def _obtain(self, spec: ImageSpec) -> ImageInfo:
        """Build it, if no other process has meanwhile."""
        with self._locked(spec):
            info = self._present(spec)
            if info is not None:
                return info
            try:
                return self._build(spec)
            except (BuildFailed, Unavailable) as error:
                self._failed[spec.digest] = error
                raise

    def _rebuild(self, spec: ImageSpec) -> ImageInfo:
        with self._locked(spec):
            old = self._engine.image(spec.tag)
            new = self._build(spec)
        if self.registry is not None:
            self.registry.forget(spec.tag)
        if old is not None and old.id != new.id and old.labels.get(DIGEST_LABEL) == spec.digest:
            self._leftovers.add(old.id)
        return new

    def _locked(self, spec: ImageSpec) -> AbstractContextManager[None]:
        said = "another process builds this image; waiting for it"
        return locks.held(self._locks, spec.digest, lambda: self._progress.line(spec.tag, said))

    def _build(self, spec: ImageSpec) -> ImageInfo:
        try:
            return self._attempt(spec)
        except BuildFailed as error:
            if not _VANISHED.search(str(error)):
                raise
            # somebody's clean-up took an image out of the cache after the builder had found it there
            return self._attempt(spec)

    def _attempt(self, spec: ImageSpec) -> ImageInfo:
        began = time.monotonic()
        path = self._logs / f"{spec.tag.rpartition('/')[2].replace(':', '-')}.log"
        with BuildLog(path, lambda text: self._progress.line(spec.tag, text)) as log:
            self._progress.started(spec.tag, spec.variant, spec.arm)
            self._untidy = True
            try:
                info = self._engine.build(self._request(spec), log.line)
            except WindtunnelError as error:
                failure = self._failure(spec, error, log)
                self._progress.failed(spec.tag, failure)
                raise failure from error
        self._kinship.built(spec.digest)
        self._progress.finished(spec.tag, time.monotonic() - began)
        return info

    def _request(self, spec: ImageSpec) -> BuildRequest:
        labels = {LABEL: "image", DIGEST_LABEL: spec.digest, BUILDER_LABEL: self._kinship.builder}
        source = self._kinship.source(spec)
        if source:
            labels[GROWN_LABEL] = source
        registry = self.registry
        return BuildRequest(
            spec.tag,
            spec.context.tar(),
            DOCKERFILE,
            spec.build_args,
            labels,
            cache_from=(source,) if source else (),
            remote_cache=(registry.reference(source),) if source and registry and registry.has(source) else (),
        )

    # ---------------- it can't be built

    def _failure(self, spec: ImageSpec, error: WindtunnelError, log: BuildLog) -> WindtunnelError:
        """The same error, with where it happened, the way to the whole log, and what else is known."""
        if log.leftover is not None and not self._bases.has_id(log.leftover):
            self._leftovers.add(log.leftover)
        if not isinstance(error, BuildFailed) and (
            isinstance(error, RegistryError) or not (log.is_empty and self._answers())
        ):
            return error
        if spec.optional and _WANTING.search(f"{error}\n{error.detail}"):
            return Unavailable(f"{spec.variant} can't be built here: {_wanting(error.detail or log.tail)}")
        hint = _buildkit_hint(spec) if log.is_classic or log.is_empty else ""
        return BuildFailed(
            f"{spec.context.dockerfile_path}: {spec} can't be built: {error}{hint}; the whole log: less {log.path}",
            detail=error.detail or log.tail,
        )

    def _answers(self) -> bool:
        """Whether the engine is there: then it was the Dockerfile that it refused, before the first step."""
        with suppress(EngineError):
            self._engine.info()
            return True
        return False

    def _clean_up(self) -> None:
        """Remove what builds left without a name. What can't be removed (somebody uses it) is no reason to fail."""
        for identifier in self._leftovers:
            with suppress(EngineError):
                self._engine.remove_image(identifier)
        self._leftovers.clear()
        if self._untidy:
            with suppress(EngineError):
                self._engine.prune_dangling(LABEL)
        self._untidy = False


def _wanting(output: str) -> str:
    """What a build step that ended with `UNAVAILABLE` said of it: its line "unavailable: ...", else its last one."""
    said: list[str] = _REASON.findall(output)
    lines = [line for line in output.splitlines() if line.strip()]
    return (said or lines or ["a step of its Dockerfile says so"])[-1].strip()


def _unique(wanted: Sequence[tuple[Arm, Variant]]) -> list[tuple[Arm, Variant]]:
    return list({(arm.name, variant): (arm, variant) for arm, variant in wanted}.values())


def _wanted(spec: ImageSpec) -> Wanted:
    return Wanted(spec.tag, spec.digest, spec.base.layers, (BUILDER_LABEL,))


def _planned(planner: Planner, arm: Arm, variant: Variant) -> Part | WindtunnelError:
    try:
        return planner.plan(arm, variant)
    except WindtunnelError as error:
        return error


def _resolved(part: Part, images: Mapping[str, Image | WindtunnelError]) -> ResolvedLaunch | WindtunnelError:
    """How a part is started, or the first error among its images."""
    image = images[part.spec.digest]
    if isinstance(image, WindtunnelError):
        return image
    services: list[ResolvedLaunch] = []
    for service, needed in part.services:
        if isinstance(needed, Foreign):
            # An image by name has no sources here: what it is, is the engine's id of it.
            foreign = Image(needed.reference, needed.info.id, needed.info.size)
            services.append(foreign_service(service, foreign))
            continue
        inner = _resolved(needed, images)
        if isinstance(inner, WindtunnelError):
            return inner
        services += own_service(service, inner)
    return resolve(part.spec.target, part.spec.variant, image, services)


def _buildkit_hint(spec: ImageSpec) -> str:
    needed = needs_buildkit(spec.context.dockerfile)
    if needed is None:
        return ""
    return f"; line {needed[0]} needs BuildKit ({needed[1]}): install docker buildx, or do without it"
