"""What the adapter asks of GitHub and makes of the answers, over sockets to a server that knows what fits."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hub import ask, connected

from localhub import LocalGitHub, sha
from windtunnel.adapters.github import GitHub
from windtunnel.errors import ConfigError
from windtunnel.publish.forge import Forge, ForgeGone

ODD_BRANCHES = ["a/b", "50%", "fix#7", "a+b&c=d", "größer", "who@home", "it's", 'say-"x"', "état/été", "%2F"]
"""Names that git takes, and that an address must not be built from unquoted."""


def test_it_is_a_forge(github: LocalGitHub) -> None:
    forge: Forge = connected(github)[0]
    assert forge.repository == "acme/server"


# ---------------- pull requests


def test_a_pull_request_from_a_fork(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull(author="ann", branch="faster", base="stable")
    github.state.label(theirs, "windtunnel-accepted", "olga")
    pull = connected(github)[0].pull(theirs.number)
    assert (pull.number, pull.open, pull.author) == (theirs.number, True, "ann")
    assert (pull.head_repository, pull.head_branch, pull.head_sha) == ("ann/server", "faster", theirs.head_sha)
    assert (pull.base_branch, pull.base_sha) == ("stable", theirs.base_sha)
    assert pull.labels == ("windtunnel-accepted",)


def test_a_pull_request_whose_fork_was_deleted_has_no_repository(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull(author="ann", branch="faster")
    github.state.lose_fork(theirs)
    forge, _ = connected(github)
    assert forge.pull(theirs.number).head_repository == ""
    assert [pull.number for pull in forge.open_pulls("ann", "faster")] == [theirs.number]


def test_a_pull_request_that_is_closed_says_so(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    theirs.open = False
    assert connected(github)[0].pull(theirs.number).open is False


def test_a_pull_request_that_is_not_there(github: LocalGitHub) -> None:
    with pytest.raises(ForgeGone, match=r"/pulls/77 \(404: Not Found\)"):
        connected(github)[0].pull(77)


def test_open_pull_requests_of_a_branch(github: LocalGitHub) -> None:
    first, second = github.state.twins(author="ann", branch="faster")
    closed = github.state.fork_pull(author="ann", branch="faster")
    closed.open = False
    github.state.fork_pull(author="ann", branch="other")
    github.state.fork_pull(author="bob", branch="faster")
    github.state.own_pull(branch="faster")
    forge, _ = connected(github)
    assert [pull.number for pull in forge.open_pulls("ann", "faster")] == [first.number, second.number]
    assert [pull.number for pull in forge.open_pulls("Ann", "faster")] == [first.number, second.number]


@pytest.mark.parametrize("branch", ODD_BRANCHES)
def test_a_branch_may_be_called_anything_that_git_takes(branch: str, github: LocalGitHub) -> None:
    assert subprocess.run(["git", "check-ref-format", "--branch", branch], check=False).returncode == 0
    theirs = github.state.fork_pull(author="ann", branch=branch)
    github.state.fork_pull(author="ann", branch="other")
    forge, _ = connected(github)
    assert [pull.number for pull in forge.open_pulls("ann", branch)] == [theirs.number]


@pytest.mark.parametrize(("owner", "branch"), [("", "faster"), ("ann", "")])
def test_without_an_owner_or_a_branch_nothing_is_asked(owner: str, branch: str, github: LocalGitHub) -> None:
    github.state.fork_pull(author="ann", branch="faster")
    assert connected(github)[0].open_pulls(owner, branch) == ()
    assert github.seen == []


def test_a_list_that_github_has_not_filtered_is_filtered(github: LocalGitHub) -> None:
    """GitHub ignores a `head` that it does not understand; here every answer is the whole list."""
    github.state.fork_pull(author="bob", branch="faster")
    github.state.fork_pull(author="ann", branch="other")
    github.state.fork_pull(author="ann", branch="faster").open = False
    theirs = github.state.fork_pull(author="ann", branch="faster")
    forge, _ = connected(github)
    unfiltered = ask(github, "/repos/acme/server/pulls?head=faster&state=all").json()
    assert len(unfiltered) == 4
    github.misbehave("GET", "/pulls$", status=200, body=unfiltered)
    assert [pull.number for pull in forge.open_pulls("ann", "faster")] == [theirs.number]


def test_pull_requests_of_a_commit(github: LocalGitHub) -> None:
    ours, theirs = github.state.own_pull(), github.state.fork_pull()
    github.state.brought[merge := sha("a merge on main")] = [theirs.number, ours.number]
    forge, _ = connected(github)
    assert [pull.number for pull in forge.pulls_of_commit(ours.head_sha)] == [ours.number]
    assert forge.pulls_of_commit(theirs.head_sha) == ()
    assert [pull.number for pull in forge.pulls_of_commit(merge)] == [ours.number, theirs.number]


def test_the_common_ancestor_of_two_commits(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    assert forge.merge_base(theirs.base_sha, theirs.head_sha) == sha(f"fork point of {theirs.head_sha}")
    with pytest.raises(ForgeGone):
        forge.merge_base(theirs.base_sha, sha("nobody has this"))


# ---------------- workflows


def test_a_run_of_a_workflow(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull(author="ann", branch="faster")
    made = github.state.run_of(theirs)
    made.attempt = 3
    run = connected(github)[0].workflow_run(made.id)
    assert (run.id, run.name, run.event, run.attempt) == (made.id, "measure", "pull_request", 3)
    assert (run.head_sha, run.head_branch, run.head_repository) == (theirs.head_sha, "faster", "ann/server")
    assert (run.created, run.conclusion) == (made.created, "success")
    assert run.url.endswith(f"/actions/runs/{made.id}")


def test_a_run_that_goes_on_and_whose_fork_is_gone(github: LocalGitHub) -> None:
    made = github.state.run_of(github.state.fork_pull())
    made.conclusion, made.head_repository = None, ""
    run = connected(github)[0].workflow_run(made.id)
    assert (run.conclusion, run.head_repository) == ("", "")


def test_runs_for_a_commit_newest_first(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    first, second = github.state.run_of(theirs), github.state.run_of(theirs)
    github.state.run(theirs.head_sha, event="push")
    github.state.run_of(github.state.fork_pull(branch="other"))
    runs = connected(github)[0].workflow_runs(theirs.head_sha, "pull_request")
    assert [run.id for run in runs] == [second.id, first.id]


def test_a_run_that_is_not_there(github: LocalGitHub) -> None:
    with pytest.raises(ForgeGone):
        connected(github)[0].workflow_run(5)


def test_artifacts_oldest_first_and_all_of_them(github: LocalGitHub) -> None:
    run = github.state.run(sha("x"))
    made = [github.state.leaves(run, f"windtunnel-run--all--{number}", {"run.jsonl": b"x"}) for number in range(130)]
    made[7].expired = True
    github.state.leaves(github.state.run(sha("y")), "another run's", b"")
    artifacts = connected(github)[0].artifacts(run.id)
    assert [artifact.id for artifact in artifacts] == [one.id for one in made]
    assert [artifact.id for artifact in artifacts if artifact.expired] == [made[7].id]
    assert {artifact.size for artifact in artifacts} == {len(made[0].content)}
    assert artifacts[0].created == made[0].created


# ---------------- the conversation


def test_a_comment_is_made_changed_and_deleted(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    made = forge.create_comment(theirs.number, "first <!-- hidden -->\n\nbody")
    assert (made.body, made.author, made.ours) == ("first <!-- hidden -->\n\nbody", "github-actions[bot]", True)
    assert forge.update_comment(made.id, "second").body == "second"
    assert [(one.id, one.body) for one in forge.comments(theirs.number)] == [(made.id, "second")]
    forge.delete_comment(made.id)
    assert forge.comments(theirs.number) == ()
    forge.delete_comment(made.id)


def test_a_comment_that_somebody_has_deleted_cannot_be_changed(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    made = forge.create_comment(theirs.number, "x")
    github.misbehave("PATCH", "/comments/", status=None, first=lambda state: state.comments.clear())
    with pytest.raises(ForgeGone):
        forge.update_comment(made.id, "y")


def test_a_long_conversation_is_read_to_its_end(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    made = [github.state.comment(theirs.number, f"{number}", author="ann").id for number in range(250)]
    assert [one.id for one in connected(github)[0].comments(theirs.number)] == made
    assert len(github.asked("GET", "/comments$")) == 3


@pytest.mark.parametrize(
    ("author", "kind", "app", "ours"),
    [
        ("github-actions[bot]", "Bot", "github-actions", True),
        ("github-actions[bot]", "Bot", "", True),
        ("github-actions[bot]", "User", "", False),
        ("github-actions[bot]", "Bot", "somebody-else", False),
        ("github-actions", "User", "", False),
        ("github-actions-bot", "User", "", False),
        ("dependabot[bot]", "Bot", "dependabot", False),
        ("olga", "User", "", False),
    ],
)
def test_whose_comment_it_is(author: str, kind: str, app: str, ours: bool, github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    github.state.account(author, kind).kind = kind
    github.state.comment(theirs.number, "x", author, app)
    (found,) = connected(github)[0].comments(theirs.number)
    assert (found.author, found.ours) == (author, ours)


def test_with_a_personal_token_the_persons_comments_are_ours(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    github.state.comment(theirs.number, "the bot's")
    github.state.comment(theirs.number, "another's", author="olga")
    forge, _ = connected(github, token=github.person("rita"))
    forge.create_comment(theirs.number, "mine")
    assert [(one.body, one.ours) for one in forge.comments(theirs.number)] == [
        ("the bot's", False),
        ("another's", False),
        ("mine", True),
    ]
    assert len(github.asked("GET", "/user$")) == 1


@pytest.mark.parametrize(
    ("role", "expected"),
    [("admin", "admin"), ("maintain", "write"), ("write", "write"), ("triage", "read"), ("read", "read")],
)
def test_what_a_collaborator_may(role: str, expected: str, github: LocalGitHub) -> None:
    github.state.collaborator("olga", role)
    assert connected(github)[0].permission("olga") == expected


def test_a_role_of_the_organisation_is_what_it_amounts_to(github: LocalGitHub) -> None:
    github.state.collaborator("olga", "security-engineer", amounts_to="write")
    assert connected(github)[0].permission("olga") == "write"


@pytest.mark.parametrize("name", ["nobody-has-this", "", "../../user", "a b", "olga/../x"])
def test_a_name_that_nobody_has_may_nothing(name: str, github: LocalGitHub) -> None:
    github.state.collaborator("olga", "admin")
    assert connected(github)[0].permission(name) == "none"


def test_strangers_may_read_what_is_public_and_nothing_else(github: LocalGitHub) -> None:
    github.state.account("ann")
    forge, _ = connected(github)
    assert forge.permission("ann") == "read"
    github.state.private = True
    assert forge.permission("ann") == "none"


def test_labels_on_and_off_oldest_first(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    events = [
        github.state.label(theirs, "bug", "ann"),
        github.state.label(theirs, "windtunnel-accepted", "olga"),
        github.state.label(theirs, "windtunnel-accepted", "rita", added=False),
    ]
    github.state.label(github.state.fork_pull(branch="x"), "elsewhere", "ann")
    found = connected(github)[0].label_events(theirs.number)
    assert [(one.label, one.actor, one.added, one.created) for one in found] == [
        (one.label, one.actor, one.added, one.created) for one in events
    ]


# ---------------- where it is


def test_an_enterprise_server_is_asked_below_its_own_path(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    for number in range(130):
        github.state.comment(theirs.number, str(number))
    forge, _ = connected(github, url=github.enterprise_url + "/")
    assert len(forge.comments(theirs.number)) == 130
    assert all("x-prefix" in one.headers for one in github.seen)


@pytest.mark.parametrize("repository", ["", "acme", "acme/", "/server", "acme/server/x"])
def test_a_repository_has_an_owner_and_a_name(repository: str) -> None:
    with pytest.raises(ConfigError, match="GITHUB_REPOSITORY"):
        GitHub(repository, "ghs_x", "https://api.github.test")


@pytest.mark.parametrize("url", ["", "api.github.test", "ftp://api.github.test", "https://"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="GITHUB_API_URL"):
        GitHub("acme/server", "ghs_x", url)


@pytest.mark.parametrize("token", ["", "two words", "a\nb", "ghs_é"])
def test_a_token_that_is_none_is_not_shown(token: str) -> None:
    with pytest.raises(ConfigError, match="GITHUB_TOKEN") as caught:
        GitHub("acme/server", token, "https://api.github.test")
    assert not token or token not in str(caught.value)


def test_without_pygithub_only_reporting_is_refused() -> None:
    program = (
        "import sys; sys.modules['github'] = None\n"
        "import windtunnel.cli.main, windtunnel.adapters.github as adapter\n"
        "try:\n"
        "    adapter.GitHub('acme/server', 'ghs_x', 'https://api.github.test')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ConfigError ")
    assert "pip install 'windtunnel[github]'" in done.stdout
