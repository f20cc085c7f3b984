"""Acceptances of pull requests that have come to main, as the history keeps them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pretend_forge import NOON, PretendForge, after, pull_request, workflow_run

from windtunnel.publish.accepted import MOST, Accepted, accepted_document, accepted_on_main
from windtunnel.publish.forge import ForgeDenied, PullRequest
from windtunnel.report.around import Acceptance

MERGE, OTHER = "1" * 40, "2" * 40


@dataclass
class Merged(PretendForge):
    """It knows which commits of main came from which pull requests."""

    brought: dict[str, list[int]] = field(default_factory=dict)

    def pulls_of_commit(self, sha: str) -> tuple[PullRequest, ...]:
        self._call("pulls_of_commit")
        return tuple(self.pulls[number] for number in self.brought.get(sha, []))


@pytest.fixture
def forge() -> Merged:
    made = Merged(people={"maintainer": "write"}, brought={MERGE: [7]})
    made.with_pull(pull_request(open=False))
    made.with_run()
    return made


def _found(forge: Merged, *commits: str, main: str = "main") -> tuple[tuple[Accepted, ...], list[str]]:
    warnings: list[str] = []
    return accepted_on_main(forge, commits, main, warnings.append), warnings


def test_who_accepted_what_a_commit_brought(forge: Merged) -> None:
    comment = forge.says("maintainer", "/windtunnel accept it checks signatures now")
    acceptance = Acceptance("maintainer", "it checks signatures now", after(10), comment.url)
    assert _found(forge, MERGE) == ((Accepted(MERGE, 7, acceptance),), [])


def test_a_label_counts_as_well(forge: Merged) -> None:
    forge.label("maintainer")
    ((found,), warnings) = _found(forge, OTHER, MERGE)
    assert (found.commit, found.acceptance.label, warnings) == (MERGE, "windtunnel-accepted", [])


def test_what_does_not_count(forge: Merged) -> None:
    forge.says("stranger", "/windtunnel accept please")
    forge.says("maintainer", "/windtunnel accept before it was measured", minutes=-5)
    assert _found(forge, MERGE) == ((), [])


def test_a_pull_request_that_was_never_measured_has_nothing_to_accept(forge: Merged) -> None:
    forge.says("maintainer", "/windtunnel accept worth it")
    forge.runs.clear()
    assert _found(forge, MERGE) == ((), [])


@pytest.mark.parametrize("changes", [{"open": True}, {"base_branch": "1.x"}])
def test_only_what_was_merged_to_main(forge: Merged, changes: dict[str, object]) -> None:
    forge.says("maintainer", "/windtunnel accept worth it")
    forge.pulls[7] = replace(forge.pulls[7], **changes)  # type: ignore[arg-type]
    assert _found(forge, MERGE) == ((), [])


def test_a_rebased_pull_request_is_recorded_once_with_its_last_commit(forge: Merged) -> None:
    forge.says("maintainer", "/windtunnel accept worth it")
    forge.brought = {MERGE: [7], OTHER: [7]}
    found, _ = _found(forge, MERGE, OTHER)
    assert [one.commit for one in found] == [MERGE]


def test_several_pull_requests_since_the_last_recording(forge: Merged) -> None:
    second = pull_request(8, open=False, head_sha="8" * 40)
    forge.with_pull(second)
    forge.with_run(workflow_run(200, head_sha="8" * 40))
    forge.brought[OTHER] = [8]
    forge.says("maintainer", "/windtunnel accept one")
    forge.says("maintainer", "/windtunnel accept two", pull=8)
    found, _ = _found(forge, OTHER, MERGE)
    assert [(one.commit, one.pull, one.acceptance.reason) for one in found] == [(OTHER, 8, "two"), (MERGE, 7, "one")]


def test_a_token_that_may_not_ask_is_a_warning(forge: Merged) -> None:
    forge.failing("pulls_of_commit", ForgeDenied("the workflow lacks pull-requests: read"))
    found, warnings = _found(forge, MERGE)
    assert found == ()
    assert warnings == ["whether a regression was accepted is not recorded: the workflow lacks pull-requests: read"]


def test_what_is_known_before_the_forge_fails_is_kept(forge: Merged) -> None:
    forge.says("maintainer", "/windtunnel accept worth it")
    forge.meanwhile("pulls_of_commit", lambda: None)
    forge.failing("pulls_of_commit", ForgeDenied("no more"))
    found, warnings = _found(forge, MERGE, OTHER)
    assert [one.pull for one in found] == [7]
    assert len(warnings) == 1


def test_not_everything_is_asked_for(forge: Merged) -> None:
    _, warnings = _found(forge, *(f"{number:040x}" for number in range(MOST + 5)))
    assert forge.called.count("pulls_of_commit") == MOST
    assert "the oldest 5" in warnings[0]


def test_the_file() -> None:
    given = Acceptance("maintainer", 'a "reason" \u00fc', NOON, "https://forge.example/x", "")
    document = json.loads(accepted_document(Accepted(MERGE, 7, given), ["http.Page(2)"]))
    assert document == {
        "format": "windtunnel-accepted",
        "version": 1,
        "commit": MERGE,
        "pull_request": 7,
        "by": "maintainer",
        "reason": 'a "reason" \u00fc',
        "created": "2026-12-01T12:00:00+00:00",
        "url": "https://forge.example/x",
        "label": "",
        "regressions": ["http.Page(2)"],
    }


def test_the_page_of_formats_shows_such_a_file() -> None:
    page = (Path(__file__).resolve().parents[2] / "site" / "formats.md").read_text()
    section = page.partition("### `accepted/COMMIT.json`")[2]
    (shown,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)[:1]
    given = Acceptance("maintainer", "", NOON)
    made = json.loads(accepted_document(Accepted(MERGE, 7, given), []))
    assert {key: type(value) for key, value in json.loads(shown).items()} == {
        key: type(value) for key, value in made.items()
    }
    described = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))))
    assert described == made.keys() - {"format", "version"}
