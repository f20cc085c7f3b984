"""Images that fail, on the real engine: told where and why, and cleaned up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from imagesuite import APP, FROM, load, prepare

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.build.context import DOCKERFILE, Context
from windtunnel.build.images import DIGEST_LABEL
from windtunnel.errors import BuildFailed, ConfigError, EngineError, VariantMissing
from windtunnel.model import ResolvedLaunch, Variant
from windtunnel.ports import BuildRequest, ImageInfo, LineSink, SourceFile

pytestmark = pytest.mark.engine


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
