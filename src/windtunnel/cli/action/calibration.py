"""Recording a calibration: what `windtunnel calibrate` finds on a machine, kept for comparisons on others like it."""

from __future__ import annotations

from collections.abc import Callable

from windtunnel.adapters.results import ResultsBranch, layout_of
from windtunnel.cli.calibrate import calibrate_command
from windtunnel.declare.suite import Suite
from windtunnel.errors import Exit, StorageError
from windtunnel.publish.merging import merged_calibration
from windtunnel.publish.results import Addition, Written, add
from windtunnel.sample.calibration import calibration_file

__all__ = ["record_calibration"]


def record_calibration(suite: Suite, branch: ResultsBranch, tell: Callable[[str], None]) -> tuple[Exit, str]:
    """Calibrate in the suite's folder, the current one, and add what was found to the results branch.

    Returns what calibrating ended with, and the commit that has it; "" where nothing was found.

    Raises StorageError where the branch can't be written.
    """
    place, path = layout_of(suite.root).calibration, calibration_file(suite.root)
    before = branch.read(place)
    try:
        if before is not None and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(before)
        code = _calibrate()
        found = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; make room, or make it writable") from error
    if found is None or found == before:
        return code, ""
    written = Written(place, found, before, merged_calibration)
    added = add(branch, Addition((written,), "Record a calibration\n"))
    tell(f"the calibration is recorded; {branch.name} is at {added.commit[:12]}")
    return code, added.commit


def _calibrate() -> Exit:
    """As the command does it, without arguments: its exit code."""
    try:
        calibrate_command.main(args=[], prog_name="windtunnel calibrate", standalone_mode=False)
    except SystemExit as ended:
        return Exit(ended.code) if isinstance(ended.code, int) else Exit.USAGE
    return Exit.OK
