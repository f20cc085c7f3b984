"""Just enough of the Dockerfile grammar: which images it stands on, what needs BuildKit, where sources come in.

Everything else in a Dockerfile is the engine's business; what this module does not know it passes over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from windtunnel.build.instructions import Instruction, escape_character, instructions, words
from windtunnel.build.substitution import substitute
from windtunnel.errors import ConfigError

__all__ = ["Dockerfile", "Stage", "base_images", "needs_buildkit", "parse"]

_BUILDKIT_FLAGS = {
    "RUN": ("mount", "network", "security", "device"),
    "COPY": ("link", "parents", "exclude", "chmod"),
    "ADD": ("link", "checksum", "keep-git-dir", "exclude", "chmod", "unpack"),
}
_PLATFORM_ARG = re.compile(r"\$\{?((?:BUILD|TARGET)(?:PLATFORM|OS|ARCH|VARIANT))\b")


@dataclass(frozen=True)
class Stage:
    """From one FROM to the next. `base` is substituted: an image, an earlier stage's name, or "scratch"."""

    line: int
    base: str
    name: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Dockerfile:
    """A parsed Dockerfile whose FROM lines are substituted with build arguments."""

    stages: tuple[Stage, ...]

    @property
    def base_images(self) -> tuple[str, ...]:
        """Every image from outside that it names, in order, each once; also those of stages that nothing uses."""
        return tuple(dict.fromkeys(image for image, _ in self._references()))

    def line_of(self, image: str) -> int:
        """The line that names an image of `base_images` first."""
        return next(line for name, line in self._references() if name == image)

    @property
    def chain(self) -> tuple[Stage, ...]:
        """The stages whose layers make up the final image, the root first."""
        index = len(self.stages) - 1
        chain = [self.stages[index]]
        while (parent := self._number(chain[0].base, index)) is not None:
            index = parent
            chain.insert(0, self.stages[index])
        return tuple(chain)

    @property
    def root(self) -> str | None:
        """The image that the final image's first layers come from, or None where it starts from scratch."""
        base = self.chain[0].base
        return None if base.lower() == "scratch" else base

    @property
    def independent(self) -> int:
        """How many instructions of the final image's chain come before the first one that depends on sources."""
        chained = [instruction for stage in self.chain for instruction in stage.instructions]
        return next((number for number, one in enumerate(chained) if _reads_sources(one)), len(chained))

    @property
    def has_hidden_stages(self) -> bool:
        """Whether a stage that is no part of the chain runs anything: its layers can't be seen in the final image."""
        hidden = [stage for stage in self.stages if stage not in self.chain]
        return any(instruction.keyword == "RUN" for stage in hidden for instruction in stage.instructions)

    def _references(self) -> Iterator[tuple[str, int]]:
        """Images from outside with their lines."""
        for index, stage in enumerate(self.stages):
            if stage.base.lower() != "scratch" and self._number(stage.base, index) is None:
                yield stage.base, stage.line
            for instruction in stage.instructions:
                for name in _copied_from(instruction):
                    if self._number(name, index) is None and not name.isdigit() and "$" not in name:
                        yield name, instruction.line

    def _number(self, name: str, before: int) -> int | None:
        """The number of the stage that `name` means to stage `before`: the last one above it of that name."""
        numbers = (index for index in reversed(range(before)) if self.stages[index].name == name.lower())
        return next(numbers, None) if name else None


def _copied_from(instruction: Instruction) -> Iterator[str]:
    """The stages and images that an instruction takes files from."""
    if instruction.keyword == "COPY" and (source := instruction.flag("from")):
        yield source
    for mount in instruction.mounts:
        if source := mount.get("from"):
            yield source


def _reads_sources(instruction: Instruction) -> bool:
    if instruction.keyword == "RUN":
        return any(mount["type"] == "bind" for mount in instruction.mounts)
    return instruction.keyword in ("COPY", "ADD")


def base_images(text: str, build_args: Mapping[str, str]) -> tuple[str, ...]:
    """The images from outside that a Dockerfile names (FROM, ``COPY --from``, ``RUN --mount=from``), substituted.

    Raises ConfigError as `parse` does.
    """
    return parse(text, build_args).base_images


def needs_buildkit(text: str) -> tuple[int, str] | None:
    """The first thing that the classic builder can't do: its line and its name; None where it can do everything."""
    for instruction in instructions(text):
        if instruction.heredocs:
            return instruction.line, f"a heredoc (<<{instruction.heredocs[0]})"
        for flag in _BUILDKIT_FLAGS.get(instruction.keyword, ()):
            if instruction.flag(flag) is not None:
                return instruction.line, f"{instruction.keyword} --{flag}"
        if instruction.keyword == "FROM":
            used = _PLATFORM_ARG.search(f"{instruction.flag('platform')} {instruction.rest}")
            if used:
                return instruction.line, f"{used[1]} in FROM"
    return None


def parse(text: str, build_args: Mapping[str, str] | None = None, *, file: str | None = None) -> Dockerfile:
    """Parse a Dockerfile. `file` is its name for messages.

    Raises:
        ConfigError: there is no FROM, something but ARG comes before it, or its image is empty or can't be told.
    """
    parser = _Parser(dict(build_args or {}), escape_character(text), file)
    for instruction in instructions(text):
        parser.take(instruction)
    if not parser.stages:
        raise ConfigError("there is no FROM in this Dockerfile; begin it with the image to build on", file=file)
    return Dockerfile(tuple(Stage(one.line, one.base, one.name, tuple(one.instructions)) for one in parser.stages))


@dataclass
class _OpenStage:
    line: int
    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class _Parser:
    given: Mapping[str, str]
    escape: str
    file: str | None
    known: dict[str, str] = field(default_factory=dict)
    """The arguments declared before the first FROM: only those count in a FROM."""
    stages: list[_OpenStage] = field(default_factory=list)

    def take(self, instruction: Instruction) -> None:
        if instruction.keyword == "FROM":
            self._open(instruction)
        elif self.stages:
            self.stages[-1].instructions.append(instruction)
        elif instruction.keyword == "ARG":
            self._declare(instruction)
        else:
            raise self._error(instruction, "only ARG may come before the first FROM", instruction.keyword)

    def _declare(self, instruction: Instruction) -> None:
        for word in words(instruction.rest):
            name, equals, default = word.partition("=")
            if name in self.given:
                self.known[name] = self.given[name]
            elif equals:
                self.known[name] = self._substituted(default, instruction)

    def _open(self, instruction: Instruction) -> None:
        image, *more = words(instruction.rest) or [""]
        base = self._substituted(image, instruction)
        if not base:
            raise self._error(
                instruction, f"the image {image or '(none)'} is empty; declare its ARG above with a default", "FROM"
            )
        if more and (len(more) != 2 or more[0].upper() != "AS"):
            raise self._error(instruction, f"{instruction.rest!r} is not IMAGE [AS NAME]", "FROM")
        self.stages.append(_OpenStage(instruction.line, base, more[1].lower() if more else ""))

    def _substituted(self, text: str, instruction: Instruction) -> str:
        try:
            return substitute(text, self.known, self.escape)
        except ValueError as error:
            raise self._error(instruction, str(error), instruction.keyword) from error

    def _error(self, instruction: Instruction, message: str, key: str) -> ConfigError:
        return ConfigError(message, file=self.file, line=instruction.line, key=key)
