"""A forge, and somebody who reports to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pretend_forge import PretendForge

from windtunnel.declare.settings import Settings, SuiteSettings
from windtunnel.publish.forge import WorkflowRun
from windtunnel.publish.judging import Scope
from windtunnel.publish.reporting import Reported, Reporter

NEWER, OTHER = "d" * 40, "e" * 40
SETTINGS = Settings(gate="on", suites={"quick": SuiteSettings(("^psgi",)), "slow": SuiteSettings()})


@dataclass
class Bench:
    """A forge with the pull request of a fork, and somebody who reports to it."""

    folder: Path
    forge: PretendForge = field(default_factory=lambda: PretendForge(people={"maintainer": "write"}).with_pull())
    settings: Settings = SETTINGS
    log: list[str] = field(default_factory=list)

    def report(self, run: WorkflowRun) -> Reported:
        scope = Scope("", self.settings, "https://forge.example/owner/project")
        return Reporter(self.forge, scope, self.log.append).report(run, self.folder)

    def said(self, words: str) -> bool:
        return any(words in line for line in self.log)
