"""A comparison with a registry, by the commands alone: main pushes, a runner that has nothing pulls and compares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from compared import FEW, ONE, SETTINGS, Commits, docker

from registries import Served, free_address, registry_program, serving

pytestmark = [pytest.mark.engine, pytest.mark.slow]

__all__ = ["registry_program"]


@pytest.fixture
def served(registry_program: str, tmp_path: Path) -> Iterator[Served]:
    with serving(registry_program, tmp_path / "registry") as served:
        yield served


def with_registry(commits: Commits, address: str) -> str:
    """The suite's images are like no others, and its settings name the registry. Returns its commit."""
    text = (commits.path / "windtunnel.toml").read_text()
    dockerfile = (commits.path / "targets/tiny/Dockerfile").read_text()
    own = dockerfile.replace("\nCOPY", f"\nRUN date +%s.%N > /packages && echo {commits.path} >> /packages\nCOPY", 1)
    files = {"windtunnel.toml": f'registry = "{address}/tests/project"\n{text}', "targets/tiny/Dockerfile": own}
    return commits.commit("with a registry", files)


def images(text: str) -> set[str]:
    return set(re.findall(r"windtunnel/tiny:[0-9a-f]{24}", text))


def forget(*tags: str) -> None:
    for tag in tags:
        docker("image", "rm", "--force", tag)


def test_base_is_pulled_head_is_built_on_it_and_there_is_no_drift(commits: Commits, served: Served) -> None:
    base = with_registry(commits, served.address)
    pushed = commits.run("push", base)
    pushed.expect(0, r"pushed 2 images")
    (one,) = images(pushed.err)
    assert [tag.partition("-")[0] for tag in served.tags("tests/project")] == ["load", "tiny"]

    forget(one)
    head = commits.commit("changed", {SETTINGS: "WORK = 2000\nMORE = 1\n"})
    done = commits.run("compare", base, head, *ONE, "--budget", str(FEW))
    try:
        assert done.code in {0, 10}, done.err
        assert f"pulled {one}" in done.err or f"image of tiny (base) was pulled: {one}" in done.err
        assert done.err.count("building tiny") == 1
        run = commits.measured()
        assert not any("do not share" in warning for launch in run.launches for warning in launch.warnings)
        same = commits.run("compare", base, base, *ONE, "--budget", str(FEW))
        same.expect(0, "identical")
        assert "building tiny" not in same.err
    finally:
        forget(*(images(done.err) & set(docker("images", "--format", "{{.Repository}}:{{.Tag}}").split())))


def test_a_registry_that_is_not_there_costs_a_sentence(commits: Commits) -> None:
    with_registry(commits, free_address())
    done = commits.run("run", "--quick", r"\(2\)")
    try:
        done.expect(0, "connection refused", "images are built here instead")
        assert done.err.count("built here instead") == 1
    finally:
        forget(*(images(done.err) & set(docker("images", "--format", "{{.Repository}}:{{.Tag}}").split())))


def test_what_is_not_to_be_had_everywhere_keeps_nothing_from_being_pushed(commits: Commits, served: Served) -> None:
    with_registry(commits, served.address)
    step = 'RUN echo "unavailable: no such thing here"; exit 69'
    rare = {
        "targets/rare/Dockerfile": f"FROM debian:bookworm-slim\n{step}\n",
        "targets/rare/target.toml": "[axes.kind]\nrare = { optional = true }\n",
        "benchmarks/rare.py": (
            "from windtunnel import HTTPBenchmark, Workload\n\n\n"
            "class Rare(HTTPBenchmark):\n    target = 'rare'\n\n    def workload(self):\n        return Workload()\n"
        ),
    }
    done = commits.run("push", commits.commit("something rare", rare))
    try:
        done.expect(0, r"rare\.Rare is skipped: .*no such thing here", r"pushed 2 images")
    finally:
        forget(*images(done.err))


def test_push_without_a_registry_is_a_configuration_error(commits: Commits) -> None:
    commits.run("push").expect(2, r"windtunnel\.toml: registry: there is none", "ghcr.io/owner/name")


def test_push_tells_where_the_registry_does_not_take_it(commits: Commits) -> None:
    with_registry(commits, free_address())
    done = commits.run("push")
    try:
        done.expect(6, "cannot push", "look at `registry`")
    finally:
        forget(*(images(done.err) & set(docker("images", "--format", "{{.Repository}}:{{.Tag}}").split())))
