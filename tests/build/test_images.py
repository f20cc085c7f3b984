"""Images, on the real engine: built once for an identity, found again."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from imagesuite import APP, FROM, load, prepare

from windtunnel.adapters.docker import DockerEngine
from windtunnel.build.images import DIGEST_LABEL
from windtunnel.errors import BuildFailed
from windtunnel.model import ResolvedLaunch, Variant
from windtunnel.ports import BuildRequest, ImageInfo, LineSink

pytestmark = pytest.mark.engine


def test_an_image_is_built_once_and_found_again(suite, make_builder, engine, seen):
    suite.target("app", toml='port = 7\n[env]\nA = "1"\n')
    (launch,) = prepare(make_builder(), (suite.arm(), APP))
    assert (launch.name, launch.port, launch.env) == ("app", 7, (("A", "1"),))
    assert re.fullmatch(r"windtunnel/app:[0-9a-f]{24}", launch.image)
    info = engine.image(launch.image)
    assert info.labels["windtunnel"] == "image"
    assert info.labels[DIGEST_LABEL] == launch.digest
    assert launch.digest.startswith(launch.image.partition(":")[2])
    assert launch.image_size == info.size
    assert [kind for kind, _ in seen.events if kind != "line"] == ["started", "finished"]
    assert prepare(make_builder(), (suite.arm(), APP)) == [launch]
    assert seen.count("started") == 1
    assert seen.tags("reused") == [launch.image]


def test_two_arms_and_variants_of_one_identity_are_one_build(suite, make_builder, seen):
    suite.target(
        "app", toml='[axes.workers]\n"1" = { env = { W = "1" } }\n"2" = { env = { W = "2" } }\n[axes.one]\n"x" = {}\n'
    )
    commit = suite.commit()
    arms = [suite.arm(commit, "base"), suite.arm("", "head"), suite.arm(commit, "control")]
    variants = [Variant("app", (("workers", number),)) for number in "12"]
    launches = prepare(make_builder(), *((arm, variant) for arm in arms for variant in variants))
    assert seen.count("started") == 1
    assert len({launch.image for launch in launches}) == 1
    assert [dict(launch.env)["W"] for launch in launches] == ["1", "2"] * 3
    assert len({launch.identity for launch in launches}) == 2


def test_two_processes_do_not_build_the_same_image_at_once(suite, make_builder, seen):
    """Two builders stand for two processes: the lock belongs to an open file, not to a process."""
    suite.target("app", suite.own + "RUN sleep 1\nCOPY . /app/\n")
    other = type(seen)()
    threads = [
        threading.Thread(target=prepare, args=(make_builder(progress=progress), (suite.arm(), APP)))
        for progress in (seen, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen.count("started") + other.count("started") == 1
    assert seen.count("reused") + other.count("reused") == 1
    assert any("another process" in line for line in [*seen.lines, *other.lines])


WHOLE = 'context = "/"\nsources = ["/src/**"]\n'


def test_a_readme_change_leaves_the_identity_as_it_was(suite, make_builder, seen):
    suite.target("app", FROM + "COPY src /src\n", WHOLE)
    suite.repo.put("src/a", suite.stamp)
    suite.repo.put("README.md", "one")
    base = suite.commit()
    suite.repo.put("README.md", "two")
    suite.repo.put("docs/new.md", "three")
    head = suite.commit()
    one, two = prepare(make_builder(), (suite.arm(base, "base"), APP), (suite.arm(head), APP))
    assert (one.digest, one.identity) == (two.digest, two.identity)
    suite.repo.put("src/a", f"{suite.stamp} changed")
    (three,) = prepare(make_builder(), (suite.arm(suite.commit()), APP))
    assert three.digest != one.digest
    assert seen.count("started") == 2


def test_a_changed_env_changes_the_launch_and_builds_nothing(suite, make_builder, seen):
    suite.target("app", toml='[env]\nA = "1"\n')
    (one,) = prepare(make_builder(), (suite.arm(), APP))
    suite.target("app", toml='[env]\nA = "2"\n')
    (two,) = prepare(make_builder(), (suite.arm(), APP))
    assert one.image == two.image
    assert one.identity != two.identity
    assert seen.count("started") == 1


def test_build_only_reaches_the_engine_and_does_not_count(suite, make_builder, seen, run_in):
    suite.target("app", FROM + "COPY . /app/\n", 'build_only = ["notes"]\n', notes="one")
    (one,) = prepare(make_builder(), (suite.arm(), APP))
    assert run_in(one.image, "cat", "/app/notes") == "one"
    suite.target("app", FROM + "COPY . /app/\n", 'build_only = ["notes"]\n', notes="two")
    (two,) = prepare(make_builder(), (suite.arm(), APP))
    assert one == two
    assert seen.count("started") == 1


def test_the_context_holds_what_is_named_and_nothing_else(suite, make_builder, run_in):
    suite.target("app", FROM + "COPY . /app/\n", 'context = "/"\nsources = ["/src", "!*.md"]\n')
    suite.repo.put("src/run", "#!/bin/sh\necho ran", executable=True)
    suite.repo.put("src/notes.md", "x")
    suite.repo.put(".dockerignore", "src\n")
    suite.repo.put("secret", "x")
    (suite.repo.path / "src" / "link").symlink_to("run")
    (suite.repo.path / "src" / "dangling").symlink_to("/nowhere")
    (launch,) = prepare(make_builder(), (suite.arm(suite.commit()), APP))
    found = run_in(launch.image, "find", "/app", "-type", "f", "-o", "-type", "l").split()
    own = ["/app/targets/app/Dockerfile", "/app/targets/app/stamp"]
    assert sorted(found) == ["/app/src/dangling", "/app/src/link", "/app/src/run", *own]
    assert run_in(launch.image, "/app/src/link").strip() == "ran"
    assert run_in(launch.image, "readlink", "/app/src/dangling").strip() == "/nowhere"


@pytest.mark.parametrize("name", ["secret", "targets/app/target.toml", ".windtunnel.Dockerfile", ".dockerignore"])
def test_what_is_not_named_cannot_be_copied(suite, make_builder, name):
    suite.target("app", f"{FROM}COPY {name} /x\n", WHOLE)
    suite.repo.put("src/a", suite.stamp)
    suite.repo.put("secret", "x")
    with pytest.raises(BuildFailed) as caught:
        prepare(make_builder(), (suite.arm(), APP))
    assert Path(name).name in str(caught.value) + caught.value.detail


def test_a_submodule_at_the_commits_own_commit(suite, make_builder, make_repo, run_in):
    library = make_repo("library")
    library.put("version", "one")
    library.commit()
    suite.repo.git("submodule", "--quiet", "add", str(library.path), "lib")
    suite.target("app", FROM + "COPY lib /lib-of-ours/\n", 'context = "/"\nsources = ["lib"]\n')
    base = suite.commit()
    library.put("version", "two")
    library.commit()
    suite.repo.git("-C", "lib", "pull", "--quiet")
    head = suite.commit()
    launches = prepare(make_builder(), (suite.arm(base, "base"), APP), (suite.arm(head), APP))
    assert [run_in(launch.image, "cat", "/lib-of-ours/version") for launch in launches] == ["one", "two"]


def test_export_ignore_does_not_drop_files(suite, make_builder, run_in):
    suite.target("app", **{"t/kept": "here"})
    suite.repo.put(".gitattributes", "t export-ignore\n")
    (launch,) = prepare(make_builder(), (suite.arm(suite.commit()), APP))
    assert run_in(launch.image, "cat", "/app/t/kept") == "here"


def test_axes_choose_build_arguments(suite, make_builder, run_in):
    toml = '[axes.v]\n"1" = { build_args = { V = "one" } }\n"2" = { build_args = { V = "two" } }\n'
    suite.target("app", suite.own + "ARG V\nENV VALUE=$V\nCOPY stamp /\n", toml)
    wanted = [(suite.arm(), Variant("app", (("v", value),))) for value in "12"]
    one, two = prepare(make_builder(), *wanted)
    assert one.digest != two.digest
    assert run_in(two.image, "printenv", "VALUE").strip() == "two"


def test_from_scratch(suite, make_builder, engine):
    suite.target("app", "FROM scratch\nCOPY stamp /\n")
    (launch,) = prepare(make_builder(), (suite.arm(), APP))
    assert len(engine.image(launch.image).layers) == 1


# ---------------- services


def test_services_are_built_too(suite, make_builder, engine, seen):
    suite.target("app", toml='[[services]]\nname = "cache"\ntarget = "cache"\nenv = { M = "64" }\n')
    suite.target("cache", FROM + "COPY stamp /cache\n", 'port = 11211\n[axes.v]\n"1" = { env = { V = "1" } }\n')
    (launch,) = prepare(make_builder(), (suite.arm(), APP))
    (service,) = launch.services
    assert (service.name, service.port, service.env) == ("cache", 11211, (("M", "64"), ("V", "1")))
    assert engine.image(service.image).labels[DIGEST_LABEL] == service.digest
    assert seen.count("started") == 2


def test_a_service_by_name_is_known_by_the_engines_id(suite, make_builder, engine):
    suite.target("app", toml='[[services]]\nname = "s"\nimage = "debian:trixie-slim"\nport = 1\n')
    (launch,) = prepare(make_builder(), (suite.arm(), APP))
    assert launch.services[0].digest == engine.image("debian:trixie-slim").id


def test_what_a_service_lacks_its_target_lacks(suite, make_builder):
    suite.target("app", toml='[[services]]\nname = "s"\ntarget = "cache"\n')
    suite.target("cache", FROM + "COPY nothing /\n", "port = 1\n")
    suite.target("fine")
    done = make_builder().prepare([(suite.arm(), APP), (suite.arm(), Variant("fine"))], load)
    assert isinstance(done["head", APP], BuildFailed)
    assert isinstance(done["head", Variant("fine")], ResolvedLaunch)


# ---------------- in parallel


class Meeting(DockerEngine):
    """The real engine, whose builds wait until as many as expected have begun."""

    def __init__(self, parties: int) -> None:
        super().__init__()
        self.barrier = threading.Barrier(parties, timeout=30)

    def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
        self.barrier.wait()
        return super().build(request, on_line)


def test_two_targets_are_built_at_the_same_time(suite, make_builder):
    suite.target("app", one="1")
    suite.target("other", two="2")
    launches = prepare(make_builder(Meeting(2)), (suite.arm(), APP), (suite.arm(), Variant("other")))
    assert len({launch.image for launch in launches}) == 2


def test_no_more_builds_run_at_once_than_jobs_allow(suite, make_builder, seen):
    for name in ("a", "b", "c"):
        suite.target(name, **{name: name})
    prepare(make_builder(jobs=1), *((suite.arm(), Variant(name)) for name in ("a", "b", "c")))
    assert [kind for kind, _ in seen.events if kind != "line"] == ["started", "finished"] * 3
