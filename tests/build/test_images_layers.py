"""The layers that two images have in common, on the real engine."""

from __future__ import annotations

import pytest
from imagesuite import APP, DRIFTING, WithoutCache, drifted, prepare

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.errors import BuildFailed
from windtunnel.ports import BuildRequest, ImageInfo, LineSink

pytestmark = pytest.mark.engine


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


@pytest.mark.skipif(
    buildx_available(), reason="BuildKit finds in its cache what was built without it: nothing is forgotten"
)
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
