"""How many rounds of an empty loop make a planted cost: from a measurement that is kept in bench/plants.json."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchlib.scratch import Branch
from windtunnel.errors import ConfigError

__all__ = ["CASES", "PLANTS", "Calibration", "branches", "keep", "known"]

PLANTS = Path(__file__).resolve().parent.parent / "plants.json"

CASES = {"starlet": r"servers\.Starlet\(keepalive\)", "waitress": r"servers\.Waitress$"}
"""By target the case that the planted share is of, as a regular expression."""


@dataclass(frozen=True)
class Calibration:
    """What a planted loop was measured to cost.

    A loop that does nothing costs the same in every round, so the effect grows with the rounds in a straight line.

    Attributes:
        rounds: for every request.
        effect: on CPU per request, as a ratio; `low` and `high` are its 95 % interval.
        base: CPU seconds per request without it.
        pairs: how many were made.
        date: when, ISO 8601.
        cpu_model: of the machine.
    """

    rounds: int
    effect: float
    low: float
    high: float
    base: float
    pairs: int
    date: str
    cpu_model: str

    def rounds_for(self, share: float) -> int:
        """So many rounds make CPU per request grow by this share."""
        return round(self.rounds * share / (self.effect - 1))


def known(path: Path = PLANTS) -> dict[str, Calibration]:
    """What was measured, by target."""
    if not path.exists():
        return {}
    return {target: Calibration(**facts) for target, facts in json.loads(path.read_text("utf-8")).items()}


def keep(target: str, found: Calibration, path: Path = PLANTS) -> None:
    """Put a measurement into the file."""
    every = {**known(path), target: found}
    text = json.dumps({name: asdict(one) for name, one in sorted(every.items())}, indent=2, allow_nan=False)
    path.write_text(f"{text}\n", "utf-8")


def branches(path: Path = PLANTS) -> dict[str, Branch]:
    """The branches of a campaign. Raises ConfigError where a target's cost is not known."""
    found = known(path)
    unknown = [target for target in CASES if target not in found]
    if unknown:
        raise ConfigError(
            f"does not say what a planted loop costs in {' and '.join(unknown)}; measure it: bench/campaign "
            f"{' '.join(f'--calibrate {target}' for target in unknown)}",
            file=path,
        )
    return {
        "same": Branch({}, {}, comment="This line alone is new."),
        "cpu3": Branch({target: one.rounds_for(0.03) for target, one in found.items()}, {}),
        "cpu10": Branch({target: one.rounds_for(0.10) for target, one in found.items()}, {}),
        "wait": Branch({}, dict.fromkeys(CASES, 0.001)),
    }
