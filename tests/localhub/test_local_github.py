"""The local GitHub holds its clients, and itself, to GitHub's description; and it misbehaves as it is told."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from localhub import LocalGitHub, Seen, State, sha
from localhub.description import Misfit, description
from localhub.operations import OPERATIONS, PERMISSIONS

ROOT = "/repos/acme/server"


@pytest.fixture
def local() -> Iterator[LocalGitHub]:
    """One whose faults are wanted."""
    with LocalGitHub() as made:
        yield made


def ask(local: LocalGitHub, method: str, path: str, **more: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {local.token}", **more.pop("headers", {})}
    return requests.request(method, local.api_url + path, headers=headers, timeout=30, **more)


def test_every_operation_that_is_described_is_answered_and_has_a_permission() -> None:
    assert set(OPERATIONS) == description().ids() == set(PERMISSIONS)


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("GET", f"{ROOT}/branches", None, "no such operation"),
        ("PUT", f"{ROOT}/pulls/1", None, "no such operation"),
        ("GET", f"{ROOT}/pulls/one", None, "not of type 'integer'"),
        ("GET", f"{ROOT}/pulls?state=opened", None, "'opened' is not one of"),
        ("GET", f"{ROOT}/pulls?heads=a:b", None, "unknown in the query: heads"),
        ("GET", f"{ROOT}/pulls?per_page=many", None, "not of type 'integer'"),
        ("GET", f"{ROOT}/issues/1/comments?since=yesterday", None, "'yesterday' is not a 'date-time'"),
        ("GET", f"{ROOT}/pulls/1", {"x": 1}, "takes no body"),
        ("POST", f"{ROOT}/issues/1/comments", None, "a body is required"),
        ("POST", f"{ROOT}/issues/1/comments", {}, "'body' is a required property"),
        ("POST", f"{ROOT}/issues/1/comments", {"body": 7}, "7 is not"),
        ("POST", f"{ROOT}/issues/1/comments", {"body": "x", "bodies": "x"}, "'bodies' was unexpected"),
        ("POST", f"{ROOT}/check-runs", {"name": "x"}, "'head_sha' is a required property"),
        (
            "POST",
            f"{ROOT}/check-runs",
            {"name": "x", "head_sha": sha("x"), "status": "completed", "conclusion": "fine"},
            "'fine' is not one of",
        ),
        (
            "POST",
            f"{ROOT}/check-runs",
            {"name": "x", "head_sha": sha("x"), "output": {"title": "x", "summery": "x", "summary": ""}},
            "'summery' was unexpected",
        ),
        ("PATCH", f"{ROOT}/check-runs/1", {"status": "completed"}, "is not valid under any of the given schemas"),
    ],
)
def test_a_request_that_does_not_fit(method: str, path: str, body: Any, words: str, local: LocalGitHub) -> None:
    answer = ask(local, method, path, json=body)
    assert answer.status_code == 500
    (fault,) = local.faults
    assert words in fault


def test_a_body_that_is_not_json(local: LocalGitHub) -> None:
    assert ask(local, "POST", f"{ROOT}/issues/1/comments", data=b"{").status_code == 400
    assert "is not JSON" in local.faults[0]


@pytest.mark.parametrize(
    "wrong", [{"head_sha": None}, {"id": "seven"}, {"conclusion": "great"}, {"app": {"slug": 1}}]
)
def test_an_answer_of_its_own_that_does_not_fit(wrong: dict[str, Any]) -> None:
    operation = description().operation("GET", f"{ROOT}/commits/main/check-runs")
    check = {"id": 1, "name": "x", "head_sha": sha("x"), "app": {"slug": "x"}, "conclusion": "success", **wrong}
    body = description().filled(operation, 200, {"total_count": 1, "check_runs": [check]})
    with pytest.raises(Misfit):
        description().check_answer(operation, 200, body)


def test_an_answer_with_a_fault_is_a_500(local: LocalGitHub) -> None:
    made = local.state.run(sha("x"))
    made.event = None  # type: ignore[assignment]
    assert ask(local, "GET", f"{ROOT}/actions/runs/{made.id}").status_code == 500
    assert "actions/get-workflow-run: 200" in local.faults[0]


@pytest.mark.parametrize("token", ["", "Bearer nonsense", "Basic eDp5", "Bearer"])
def test_nobody_gets_in_without_a_token(token: str, local: LocalGitHub) -> None:
    answer = requests.get(f"{local.api_url}{ROOT}/pulls", headers={"Authorization": token}, timeout=30)
    assert answer.status_code == 401
    assert local.faults == []


def test_another_repository_is_not_there(local: LocalGitHub) -> None:
    assert ask(local, "GET", "/repos/acme/other/pulls").status_code == 404
    assert ask(local, "GET", "/repos/ACME/Server/pulls").status_code == 200


def test_pages_have_links_to_their_neighbours(local: LocalGitHub) -> None:
    pull = local.state.fork_pull()
    for number in range(5):
        local.state.comment(pull.number, str(number))
    path, seen = f"{ROOT}/issues/{pull.number}/comments?per_page=2", []
    while path:
        answer = ask(local, "GET", path)
        seen += [one["body"] for one in answer.json()]
        path = answer.links.get("next", {}).get("url", "").removeprefix(local.api_url)
    assert seen == ["0", "1", "2", "3", "4"]
    assert "link" not in ask(local, "GET", f"{ROOT}/issues/{pull.number}/comments").headers


def test_the_storage_wants_a_signature_and_no_token(local: LocalGitHub) -> None:
    made = local.state.leaves(local.state.run(sha("x")), "windtunnel-run--all", {"run.jsonl": b"x"})
    answer = ask(local, "GET", f"{ROOT}/actions/artifacts/{made.id}/zip", allow_redirects=False)
    assert answer.status_code == 302
    assert requests.get(answer.headers["Location"], timeout=30).content == made.content
    assert requests.get(answer.headers["Location"] + "0", timeout=30).status_code == 403
    assert local.faults == []
    requests.get(answer.headers["Location"], headers={"Authorization": "Bearer x"}, timeout=30)
    assert "sent to another host" in local.faults[0]


def test_misbehaviour_is_counted(local: LocalGitHub) -> None:
    local.state.fork_pull()
    local.misbehave("GET", "/pulls/1$", nth=2, times=2, status=503, headers={"Retry-After": "1"})
    assert [ask(local, "GET", f"{ROOT}/pulls/1").status_code for _ in range(4)] == [200, 503, 503, 200]
    assert [one.path for one in local.asked("GET", "/pulls/1$")] == [f"{ROOT}/pulls/1"] * 4


@pytest.mark.parametrize("worked", [True, False])
def test_a_connection_is_lost_before_or_after_the_work(worked: bool, local: LocalGitHub) -> None:
    pull = local.state.fork_pull()
    local.misbehave("POST", "/comments$", drop=True, worked=worked)
    with pytest.raises(requests.exceptions.ConnectionError):
        ask(local, "POST", f"{ROOT}/issues/{pull.number}/comments", json={"body": "x"})
    assert len(local.state.comments_of(pull.number)) == int(worked)


def test_something_happens_just_before(local: LocalGitHub) -> None:
    pull = local.state.fork_pull()
    made = local.state.comment(pull.number, "x")

    def delete(state: State) -> None:
        del state.comments[made.id]

    local.misbehave("PATCH", "/comments/", first=delete)
    assert ask(local, "PATCH", f"{ROOT}/issues/comments/{made.id}", json={"body": "y"}).status_code == 404


def test_many_at_once(local: LocalGitHub) -> None:
    pull = local.state.fork_pull()
    path = f"{ROOT}/issues/{pull.number}/comments"
    threads = [
        threading.Thread(target=ask, args=(local, "POST", path), kwargs={"json": {"body": str(number)}})
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(one.body) for one in local.state.comments_of(pull.number)) == list(range(20))
    assert local.faults == []


def test_what_came_in_is_kept(local: LocalGitHub) -> None:
    ask(local, "GET", f"{ROOT}/pulls?state=all", headers={"X-Mine": "1"})
    (seen,) = local.seen
    assert isinstance(seen, Seen)
    assert (seen.method, seen.path, seen.query, seen.body) == ("GET", f"{ROOT}/pulls", {"state": "all"}, None)
    assert seen.headers["x-mine"] == "1"


_TWO_TESTS = """
import requests

def test_fits(github):
    requests.get(github.api_url + "/user", headers={"Authorization": "Bearer " + github.token})

def test_does_not_fit(github):
    requests.get(github.api_url + "/users", headers={"Authorization": "Bearer " + github.token})
"""


def test_the_fixture_fails_a_test_that_did_not_fit(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from localhub.fixture import github\n")
    (tmp_path / "test_two.py").write_text(_TWO_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
    environ = {"PYTHONPATH": str(Path(__file__).resolve().parent.parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path)
    assert "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "GET /users: no such operation" in done.stdout.replace("GET /users: GET /users: ", "GET /users: ")
