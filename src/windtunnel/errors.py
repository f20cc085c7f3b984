"""One tree of errors: one exit code per cause, the remedy in the message.

`windtunnel.cli` is the only place that catches all of them. Exit code 1 is never an outcome: it is Python's own
(an ImportError is 1), so a script can tell "windtunnel says no" from "windtunnel broke".
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Literal

__all__ = [
    "BuildFailed",
    "ConfigError",
    "EngineError",
    "Exit",
    "Interrupted",
    "InvalidLoad",
    "LaunchFailed",
    "NothingMeasured",
    "RegistryCause",
    "RegistryError",
    "SidecarLost",
    "StorageError",
    "Unavailable",
    "VariantMissing",
    "WindtunnelError",
    "worst",
]


class Exit(IntEnum):
    """What the process exits with. The order of importance is in `worst`."""

    OK = 0
    USAGE = 2
    INCONCLUSIVE = 3
    INVALID = 4
    NOTHING_MEASURED = 5
    INFRASTRUCTURE = 6
    HEAD_BROKEN = 7
    REGRESSION = 10
    INTERRUPTED = 130


_ORDER = (
    Exit.INTERRUPTED,
    Exit.USAGE,
    Exit.HEAD_BROKEN,
    Exit.INFRASTRUCTURE,
    Exit.REGRESSION,
    Exit.INVALID,
    Exit.NOTHING_MEASURED,
    Exit.INCONCLUSIVE,
    Exit.OK,
)


def worst(codes: list[Exit]) -> Exit:
    """The one code that stands for several outcomes; an empty list is `OK`."""
    return min(codes, key=_ORDER.index, default=Exit.OK)


class WindtunnelError(Exception):
    """Anything windtunnel refuses or fails to do. The text is what a person reads: what, where, and the way out.

    Attributes:
        exit: the exit code for this cause.
        detail: longer material to show under the message (the tail of a log), or "".
    """

    exit: Exit = Exit.INFRASTRUCTURE

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class ConfigError(WindtunnelError):
    """A file or an option says something windtunnel can't take.

    The message reads ``FILE:LINE: KEY: what is wrong; what to write instead``, as far as each part is known.
    """

    exit = Exit.USAGE

    def __init__(
        self, message: str, *, file: Path | str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        where = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(f"{where}{key + ': ' if key else ''}{message}")
        self.file = None if file is None else str(file)
        self.line = line
        self.key = key


class VariantMissing(WindtunnelError):
    """This commit does not have the target or the axis value that a case asks for; the case is skipped there."""

    exit = Exit.NOTHING_MEASURED


class Unavailable(VariantMissing):
    """An optional variant needs something from outside that is not to be had here: its cases are skipped."""


class EngineError(WindtunnelError):
    """The container engine can't be reached, or refused something."""


RegistryCause = Literal["missing", "absent", "denied", "unreachable", "broken"]
"""Why a registry gave or took nothing: no such image, no such repository, no right to it, nobody who answers, or an
image that is damaged there."""


class RegistryError(EngineError):
    """A registry did not give or take an image; `cause` says what that means for others."""

    def __init__(self, message: str, *, cause: RegistryCause = "broken", detail: str = "") -> None:
        super().__init__(message, detail=detail)
        self.cause = cause


class StorageError(WindtunnelError):
    """A file could not be written (disk full, no permission); what was written before is intact."""


class SidecarLost(WindtunnelError):
    """The load side-car ended or stopped answering."""


class BuildFailed(WindtunnelError):
    """An image could not be built from the sources of the commit. `detail` has the last lines of the log."""

    exit = Exit.HEAD_BROKEN


class LaunchFailed(WindtunnelError):
    """A container was built but does not serve: it ended, or never answered. `detail` has its log."""

    exit = Exit.HEAD_BROKEN


class InvalidLoad(WindtunnelError):
    """The server ran, but the load or its answers were wrong; a speed measured there means nothing."""

    exit = Exit.INVALID


class NothingMeasured(WindtunnelError):
    """No case was selected, or every selected case was skipped."""

    exit = Exit.NOTHING_MEASURED


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM.

    As with Python's own KeyboardInterrupt, whoever deals with failures ("this launch went wrong, on to the next one")
    must not take it for one of them: it stands beside the tree, and only the outermost level catches it.
    """

    exit: Exit = Exit.INTERRUPTED
    detail: str = ""
