"""Images, on the real engine: built once for an identity, found again, and cleaned up when they fail."""

from __future__ import annotations

import re
import threading
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.git import CommitTree, WorkTree
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.build.context import DOCKERFILE, Context
from windtunnel.build.images import DIGEST_LABEL, Arm
from windtunnel.declare.targets import load_target
from windtunnel.errors import BuildFailed, ConfigError, EngineError, VariantMissing, WindtunnelError
from windtunnel.model import ResolvedLaunch, Variant
from windtunnel.ports import BuildRequest, ImageInfo, LineSink, SourceFile

pytestmark = pytest.mark.engine

FROM = "FROM debian:trixie-slim\n"


@dataclass
class Suite:
    """A repository with targets, whose images are like no others: every one holds a stamp of this test."""

    repo: object
    stamp: str = field(default_factory=lambda: uuid.uuid4().hex)
    own: str = field(default_factory=lambda: f"{FROM}ENV TEST={uuid.uuid4().hex}\n")
    """Begins a Dockerfile whose steps no other test, perhaps in another process, has in common with it."""

    def target(self, name: str, dockerfile: str = FROM + "COPY . /app/\n", toml: str = "", **files: str) -> None:
        folder = f"targets/{name}"
        if "kind" not in toml:
            toml = f'kind = "server"\n{toml}'
        for file, content in {"target.toml": toml, "Dockerfile": dockerfile, "stamp": self.stamp, **files}.items():
            self.repo.put(f"{folder}/{file}", content)

    def toml(self, name: str) -> str:
        return (self.repo.path / "targets" / name / "target.toml").read_text()

    def commit(self) -> str:
        return self.repo.commit()

    def arm(self, commit: str = "", name: str = "head") -> Arm:
        harness = WorkTree(self.repo.path)
        return Arm(name, CommitTree(self.repo.path, commit) if commit else harness, harness)


@pytest.fixture
def suite(repo) -> Suite:
    return Suite(repo)


def load(arm: Arm, name: str):
    return load_target(name, folder="targets", project=arm.project, harness=arm.harness)


def prepare(builder, *wanted: tuple[Arm, Variant]) -> list[ResolvedLaunch]:
    done = builder.prepare(wanted, load)
    results = [done[arm.name, variant] for arm, variant in wanted]
    for result in results:
        if isinstance(result, WindtunnelError):
            raise result
    return results


APP = Variant("app")


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


# ---------------- failures


def test_a_failed_build_tells_where_and_why_and_leaves_nothing(suite, make_builder, engine, seen):
    suite.target("app", FROM + "COPY stamp /stamp\nRUN true\nRUN echo the reason; false\n")
    commit = suite.commit()
    with pytest.raises(BuildFailed) as caught:
        prepare(make_builder(), (suite.arm(commit), APP))
    message = str(caught.value)
    assert message.startswith("targets/app/Dockerfile: app (head, ")
    assert commit[:12] in message
    assert "the reason" in caught.value.detail
    log = Path(message.rpartition("less ")[2])
    text = log.read_text()
    assert "the reason" in text
    assert seen.count("failed") == 1 and seen.errors == [caught.value]
    made = set(re.findall(r"---> ([0-9a-f]{12})$", text, re.MULTILINE))
    bases = {engine.image("debian:trixie-slim").id.removeprefix("sha256:")[:12]}
    assert [image for image in made - bases if engine.image(image) is not None] == []
    for container in re.findall(r"Running in ([0-9a-f]{12})", text):
        with pytest.raises(EngineError):
            engine.state(container)


def test_a_failure_is_remembered_by_its_builder(suite, make_builder, seen):
    suite.target("app", FROM + "COPY nothing /\n")
    builder = make_builder()
    for _ in range(2):
        with pytest.raises(BuildFailed):
            prepare(builder, (suite.arm(), APP))
    assert seen.count("started") == 1
    with pytest.raises(BuildFailed):
        prepare(make_builder(), (suite.arm(), APP))
    assert seen.count("started") == 2


def test_a_layer_that_vanished_during_the_build_is_no_failure(suite, make_builder, seen):
    class Cleaned(DockerEngine):
        times = 0

        def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
            self.times += 1
            if self.times == 1:
                raise BuildFailed("No such image: sha256:1234")
            return super().build(request, on_line)

    suite.target("app")
    assert prepare(make_builder(Cleaned()), (suite.arm(), APP))
    assert [kind for kind, _ in seen.events if kind != "line"] == ["started", "failed", "started", "finished"]


def test_an_image_under_the_tag_that_is_not_the_one_is_replaced(suite, make_builder, engine, seen):
    suite.target("app")
    (launch,) = prepare(make_builder(), (suite.arm(), APP))
    context = Context("FROM scratch\nCOPY a /\n", "Dockerfile", (SourceFile("a", 0o644, suite.stamp.encode()),))
    request = BuildRequest(launch.image, context.tar(), DOCKERFILE, {}, {"windtunnel": "image"})
    other = engine.build(request, lambda _: None)
    assert prepare(make_builder(), (suite.arm(), APP)) == [launch]
    assert engine.image(launch.image).labels[DIGEST_LABEL] == launch.digest
    assert seen.count("started") == 2
    engine.remove_image(other.id)


def test_a_failure_keeps_nobody_else(suite, make_builder):
    suite.target("app", FROM + "COPY nothing /\n")
    suite.target("fine")
    suite.target("toml", toml="nonsense = 1\n")
    axis = Variant("fine", (("perl", "1"),))
    wanted = [(suite.arm(), variant) for variant in (APP, Variant("toml"), axis, Variant("none"), Variant("fine"))]
    kinds = [type(result) for result in make_builder().prepare(wanted, load).values()]
    assert kinds == [BuildFailed, ConfigError, VariantMissing, ConfigError, ResolvedLaunch]


def test_a_dockerfile_that_the_engine_refuses_is_a_failed_build(suite, make_builder):
    suite.target("app", FROM + "NONSENSE\n")
    with pytest.raises(BuildFailed, match=r"targets/app/Dockerfile.*(?i:nonsense)"):
        prepare(make_builder(), (suite.arm(), APP))


@pytest.mark.skipif(buildx_available(), reason="the engine has BuildKit")
@pytest.mark.parametrize("step", ["RUN <<EOF\ntrue\nEOF\n", "RUN --mount=type=cache,target=/c true\n"])
def test_what_needs_buildkit_is_named_with_its_line(suite, make_builder, step):
    suite.target("app", FROM + "\n" + step)
    with pytest.raises(BuildFailed, match="line 3 needs BuildKit"):
        prepare(make_builder(), (suite.arm(), APP))


def test_a_base_that_is_not_to_be_had(suite, make_builder, seen):
    suite.target("app", "ARG T=1\n\nFROM localhost:1/no/such:$T\nCOPY stamp /\n")
    with pytest.raises(EngineError, match=r"targets/app/Dockerfile:3: the image localhost:1/no/such:1 is not here"):
        prepare(make_builder(), (suite.arm(), APP))
    assert seen.count("started") == 0


def test_a_debian_base_is_made_by_a_tool_of_ours(suite, make_builder):
    class WithoutRegistry(DockerEngine):
        pulls = 0

        def pull(self, reference: str, on_line: LineSink) -> ImageInfo:
            self.pulls += 1
            raise EngineError("no route")

    suite.target("app", "FROM debian:buzz-slim\nCOPY stamp /\n")
    suite.target("other", "FROM debian:buzz-slim\nCOPY stamp /\n")
    real = WithoutRegistry()
    done = make_builder(real).prepare([(suite.arm(), APP), (suite.arm(), Variant("other"))], load)
    assert all("`tools/base-images buzz`" in str(error) for error in done.values())
    assert real.pulls == 1


def test_no_engine_is_an_error_of_every_variant(suite, make_builder, monkeypatch):
    suite.target("app")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    done = make_builder(DockerEngine()).prepare([(suite.arm(), APP)], load)
    assert isinstance(done["head", APP], EngineError)


def test_a_log_that_cannot_be_written_is_said(suite, make_builder, tmp_path):
    suite.target("app")
    (tmp_path / "logs").write_text("a file")
    done = make_builder().prepare([(suite.arm(), APP)], load)
    assert "logs" in str(done["head", APP])


def test_head_for_both_sides_is_an_error(suite, make_builder):
    suite.target("app", toml='harness = "head"\n')
    done = make_builder().prepare([(suite.arm(), APP)], load)
    assert isinstance(done["head", APP], ConfigError)
    assert "no commit of the project can change" in str(done["head", APP])


def test_heads_harness_may_measure_a_service_that_changes(suite, make_builder):
    suite.target("app", toml='harness = "head"\n[[services]]\nname = "backend"\ntarget = "backend"\n')
    suite.target("backend", toml="port = 1\n")
    base = suite.commit()
    suite.target("backend", toml="port = 1\n", more="changed")
    suite.target("app", FROM + "COPY . /app/\nENV NEWER=1\n", toml=suite.toml("app"))
    wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
    one, two = prepare(make_builder(), *wanted)
    assert one.image == two.image
    assert one.services[0].image != two.services[0].image


# ---------------- layers


class WithoutCache(DockerEngine):
    """The real engine, with nothing in its build cache."""

    def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
        return super().build(BuildRequest(**{**vars(request), "no_cache": True}), on_line)


DRIFTING = "RUN date +%s.%N > /packages\nCOPY stamp /\n"


def drifted(suite: Suite, make_builder, dockerfile: str) -> list[tuple[Arm, Variant]]:
    """Base's image is from an earlier run, head's from a later one, in which the engine had forgotten everything."""
    suite.target("app", dockerfile)
    base = suite.commit()
    suite.stamp += " head"
    suite.target("app", dockerfile)
    wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
    for one in wanted:
        prepare(make_builder(WithoutCache()), one)
    return wanted


def test_what_drifted_is_built_anew_on_the_newest_layers(suite, make_builder, engine, seen, run_in):
    wanted = drifted(suite, make_builder, suite.own + DRIFTING)
    before = seen.count("started")
    base, head = prepare(make_builder(), *wanted)
    assert seen.count("started") == before + 1
    layers = [engine.image(launch.image).layers for launch in (base, head)]
    assert layers[0][:-1] == layers[1][:-1]
    assert layers[0] != layers[1]
    assert base.warnings == head.warnings == ()
    assert run_in(base.image, "cat", "/stamp") == suite.stamp.removesuffix(" head")
    assert prepare(make_builder(), *wanted) == [base, head]
    assert seen.count("started") == before + 1


def test_where_building_anew_does_not_help_a_warning_travels(suite, make_builder):
    wanted = drifted(suite, make_builder, suite.own + DRIFTING)
    for launch in prepare(make_builder(WithoutCache()), *wanted):
        assert len(launch.warnings) == 1
        assert "do not share the layers below their sources" in launch.warnings[0]


def test_where_building_anew_fails_the_image_stays_and_a_warning_travels(suite, make_builder, engine):
    class Failing(DockerEngine):
        def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
            raise BuildFailed("no packages today")

    wanted = drifted(suite, make_builder, suite.own + DRIFTING)
    base, _ = prepare(make_builder(Failing()), *wanted)
    assert "no packages today" in base.warnings[0]
    assert engine.image(base.image) is not None


def test_stages_that_cannot_be_seen_come_from_one_builder(suite, make_builder, seen, run_in):
    tools = suite.own.replace("\n", " AS tools\n", 1) + "RUN date +%s.%N > /tools\n"
    wanted = drifted(suite, make_builder, f"{tools}{suite.own}COPY stamp /\nCOPY --from=tools /tools /\n")
    before = seen.count("started")
    launches = prepare(make_builder(), *wanted)
    assert len({run_in(launch.image, "cat", "/tools") for launch in launches}) == 1
    assert all(launch.warnings == () for launch in launches)
    after = seen.count("started")
    assert after > before
    prepare(make_builder(), *wanted)
    assert seen.count("started") == after


def test_a_changed_dockerfile_is_no_drift(suite, make_builder, seen):
    suite.target("app", suite.own + DRIFTING)
    base = suite.commit()
    suite.target("app", suite.own + DRIFTING.replace("%s.%N", "%N.%s"))
    wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
    launches = prepare(make_builder(), *wanted)
    assert all(launch.warnings == () for launch in launches)
    assert seen.count("started") == 2


def test_nothing_dangles_after_building_anew(suite, make_builder, engine, seen):
    wanted = drifted(suite, make_builder, suite.own + DRIFTING)
    old = [engine.image(tag).id for tag in seen.tags("finished")]
    launches = prepare(make_builder(), *wanted)
    kept = {engine.image(launch.image).id for launch in launches}
    assert [image for image in old if image not in kept and engine.image(image) is not None] == []
