"""Artifacts are fetched from where GitHub points to: whole, bounded, and without the token."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from hub import connected

from localhub import LocalGitHub, sha
from windtunnel.errors import StorageError
from windtunnel.publish.forge import Artifact, ForgeDenied, ForgeError, ForgeGone

CONTENT = {"run.jsonl": b"\n".join(sha(str(number)).encode() for number in range(5000))}
PLENTY = 10_000_000


@pytest.fixture
def left(github: LocalGitHub) -> Artifact:
    run = github.state.run(sha("x"))
    github.state.leaves(run, "windtunnel-run--all", CONTENT)
    return connected(github)[0].artifacts(run.id)[0]


def test_it_comes_as_it_is_and_the_token_stays(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    connected(github)[0].download(left, path := tmp_path / "a.zip", left.size)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == CONTENT
    assert github.fetched == [f"/storage/{left.id}"]
    assert github.asked("GET", "/zip$")[-1].headers["authorization"] == f"Bearer {github.token}"


def test_a_netrc_adds_no_password(
    github: LocalGitHub, left: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (netrc := tmp_path / "netrc").write_text("default login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    connected(github)[0].download(left, tmp_path / "a.zip", PLENTY)
    assert {one.headers["authorization"].split()[1] for one in github.seen} == {github.token}


@pytest.mark.parametrize("most", [0, 1, 4096])
def test_it_stops_at_the_limit(most: int, github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    with pytest.raises(ForgeError, match=f"more than {most} bytes"):
        connected(github)[0].download(left, path := tmp_path / "a.zip", most)
    assert not path.exists()


def test_a_length_that_is_not_told_changes_nothing(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    chunks = b"".join(b"3e8\r\n" + b"x" * 1000 + b"\r\n" for _ in range(400)) + b"0\r\n\r\n"
    headers = {"Transfer-Encoding": "chunked", "Content-Length": None}
    github.misbehave("GET", "^/storage/", status=200, body=chunks, headers=headers, times=9)
    with pytest.raises(ForgeError, match="more than 300000 bytes"):
        connected(github)[0].download(left, path := tmp_path / "a.zip", 300_000)
    assert not path.exists()
    connected(github)[0].download(left, path, 400_000)
    assert path.stat().st_size == 400_000


@pytest.mark.parametrize(
    "how",
    [{"status": 500}, {"status": 503}, {"status": 403}, {"drop": True}, {"drop": True, "worked": True}],
    ids=str,
)
def test_a_passing_fault_of_the_storage(
    how: dict[str, object], github: LocalGitHub, left: Artifact, tmp_path: Path
) -> None:
    github.misbehave("GET", "^/storage/", times=2, **how)
    forge, waits = connected(github)
    forge.download(left, path := tmp_path / "a.zip", PLENTY)
    assert path.read_bytes() == github.state.artifacts[left.id].content
    assert waits.seconds == [1, 2]
    assert len(github.asked("GET", "/zip$")) == 3  # with a new address each


@pytest.mark.parametrize("how", [{"status": 503}, {"drop": True, "worked": True}], ids=str)
def test_a_fault_that_lasts_leaves_no_file(
    how: dict[str, object], github: LocalGitHub, left: Artifact, tmp_path: Path
) -> None:
    github.misbehave("GET", "^/storage/", times=99, **how)
    with pytest.raises(ForgeError, match="tried 5 times"):
        connected(github)[0].download(left, path := tmp_path / "a.zip", PLENTY)
    assert not path.exists()


def test_what_is_told_of_the_storage_is_no_key_to_it(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    github.misbehave("GET", "^/storage/", drop=True, times=99)
    with pytest.raises(ForgeError) as caught:
        connected(github)[0].download(left, tmp_path / "a.zip", PLENTY)
    assert "sig" not in str(caught.value)


def test_one_that_was_deleted(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    github.state.artifacts.clear()
    with pytest.raises(ForgeGone):
        connected(github)[0].download(left, tmp_path / "a.zip", PLENTY)


def test_one_that_the_storage_has_lost(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    github.misbehave("GET", "^/storage/", status=404)
    with pytest.raises(ForgeGone, match="not there any more"):
        connected(github)[0].download(left, tmp_path / "a.zip", PLENTY)


def test_a_token_that_may_not(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    forge, _ = connected(github, token=github.permit(contents="read"))
    with pytest.raises(ForgeDenied, match="`actions: read`"):
        forge.download(left, tmp_path / "a.zip", PLENTY)
    assert github.fetched == []


@pytest.mark.parametrize("address", ["", "file:///etc/passwd", "gopher://x/", "/relative"])
def test_an_address_that_cannot_be_followed(
    address: str, github: LocalGitHub, left: Artifact, tmp_path: Path
) -> None:
    github.misbehave("GET", "/zip$", status=302, headers={"Location": address})
    with pytest.raises(ForgeError, match="no address that could be followed"):
        connected(github)[0].download(left, tmp_path / "a.zip", PLENTY)


def test_a_folder_that_is_not_there(github: LocalGitHub, left: Artifact, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"):
        connected(github)[0].download(left, tmp_path / "no" / "a.zip", PLENTY)
