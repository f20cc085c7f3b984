"""Base pulled, head built: on the same layers."""

from __future__ import annotations

import pytest
from imagesuite import APP, DRIFTING, prepare
from registering import SMALL, kinds, needs_forgetting, pushed

from windtunnel.adapters.imagestore import load_images, save_images

pytestmark = pytest.mark.engine


def test_head_is_built_on_the_layers_of_a_pulled_base(suite, fresh, served, seen, told, run_in):
    """Two commits on a runner that has nothing: no drift between them, and nothing is built twice."""
    suite.target("app", suite.own + DRIFTING)
    base = suite.commit()
    builder = fresh(served.address)
    (old,) = prepare(builder, (suite.arm(base), APP))
    pushed(builder, old)
    packages = run_in(old.image, "cat", "/packages")

    suite.stamp += " head"
    suite.target("app", suite.own + DRIFTING)
    wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
    one, two = prepare(fresh(served.address), *wanted)
    assert kinds(seen) == ["started", "finished", "pulled", "started", "finished"]
    assert (one.image, one.warnings, two.warnings) == (old.image, (), ())
    assert [run_in(launch.image, "cat", "/packages") for launch in (one, two)] == [packages] * 2
    assert run_in(two.image, "cat", "/stamp") == suite.stamp
    assert prepare(fresh(served.address, keep=True), *wanted) == [one, two]
    assert kinds(seen)[5:] == ["reused", "reused"]
    assert told == []


def test_the_same_sources_are_the_same_image_on_both_sides(suite, fresh, served, seen):
    suite.target("app", SMALL)
    base = suite.commit()
    builder = fresh(served.address)
    pushed(builder, *prepare(builder, (suite.arm(base), APP)))
    suite.repo.put("README", "changed")
    one, two = prepare(fresh(served.address), (suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP))
    assert one.identity == two.identity
    assert kinds(seen) == ["started", "finished", "pulled"]


@needs_forgetting
def test_two_that_drifted_in_the_registry_are_brought_together(suite, fresh, served, engine, seen, run_in):
    suite.target("app", suite.own + DRIFTING)
    base = suite.commit()
    suite.stamp += " head"
    suite.target("app", suite.own + DRIFTING)
    wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
    for one in wanted:  # each on a runner of its own, on a day of its own
        builder = fresh(served.address)
        pushed(builder, *prepare(builder, one))
    before = seen.count("started")
    launches = prepare(fresh(served.address), *wanted)
    assert seen.count("pulled") == 2
    assert seen.count("started") == before + 1
    assert len({run_in(launch.image, "cat", "/packages") for launch in launches}) == 1
    assert all(launch.warnings == () for launch in launches)
    assert prepare(fresh(served.address, keep=True), *wanted) == launches
    assert seen.count("started") == before + 1


def test_stages_that_cannot_be_seen_are_pulled_only_where_there_is_one_side(suite, fresh, served, seen):
    tools = suite.own.replace("\n", " AS tools\n", 1) + "RUN date +%s.%N > /tools\n"
    suite.target("app", f"{tools}{suite.own}COPY stamp /\nCOPY --from=tools /tools /\n")
    base = suite.commit()
    builder = fresh(served.address)
    pushed(builder, *prepare(builder, (suite.arm(base), APP)))
    prepare(fresh(served.address), (suite.arm(base), APP))
    assert seen.count("pulled") == 1
    suite.stamp += " head"
    suite.target("app", (suite.repo.path / "targets/app/Dockerfile").read_text())
    launches = prepare(fresh(served.address), (suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP))
    assert seen.count("pulled") == 1
    assert all(launch.warnings == () for launch in launches)


def test_head_is_built_on_the_layers_of_a_base_from_a_file(suite, make_builder, engine, seen, tmp_path, run_in):
    """And so is the next one on them, by another builder, without a registry."""
    suite.target("app", suite.own + DRIFTING)
    base = suite.commit()
    (old,) = prepare(make_builder(), (suite.arm(base), APP))
    packages = run_in(old.image, "cat", "/packages")
    assert save_images(engine, tmp_path / "images", [old.image], 1 << 30, print) == 1
    engine.remove_image(old.image)
    assert load_images(engine, tmp_path / "images", print) == 1
    for number in (1, 2):
        suite.stamp += f" head {number}"
        suite.target("app", suite.own + DRIFTING)
        wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
        launches = prepare(make_builder(), *wanted)
        assert seen.count("started") == 1 + number
        assert [run_in(launch.image, "cat", "/packages") for launch in launches] == [packages] * 2
        assert all(launch.warnings == () for launch in launches)
