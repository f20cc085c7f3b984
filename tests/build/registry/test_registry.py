"""Images in a real registry: pulled if they are what would have been built."""

from __future__ import annotations

import pytest
from imagesuite import APP, FROM, WithoutCache, prepare
from registering import OTHER, SMALL, bare, kinds, of_test, pushed

from windtunnel.adapters.docker import DockerEngine
from windtunnel.build.registry import Registry

pytestmark = pytest.mark.engine


def test_what_was_pushed_is_pulled_and_not_built(suite, fresh, served, engine, seen, told):
    suite.target("app", SMALL)
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    before = engine.image(launch.image)
    of_test(engine, launch, served.address)

    assert prepare(fresh(served.address), (suite.arm(), APP)) == [launch]
    assert kinds(seen) == ["started", "finished", "pulled"]
    after = engine.image(launch.image)
    assert (after.id, after.layers, after.labels) == (before.id, before.layers, before.labels)
    of_test(engine, launch, served.address)
    assert told == []
    assert prepare(fresh(served.address, keep=True), (suite.arm(), APP)) == [launch]
    assert kinds(seen)[3:] == ["reused"]


def test_all_images_of_a_project_are_in_one_repository(suite, fresh, served):
    suite.target("app", SMALL, one="1")
    suite.target("other", SMALL, two="2")
    builder = fresh(served.address)
    launches = prepare(builder, (suite.arm(), APP), (suite.arm(), OTHER))
    pushed(builder, *launches)
    expected = [launch.image.removeprefix("windtunnel/").replace(":", "-") for launch in launches]
    assert served.tags("tests/project") == sorted(expected)


def test_what_is_not_there_is_built_without_a_word(suite, fresh, served, seen, told):
    suite.target("app", SMALL)
    builder = fresh(served.address)
    pushed(builder, *prepare(builder, (suite.arm(), APP)))
    suite.target("app", SMALL, changed="yes")
    prepare(fresh(served.address), (suite.arm(), APP))
    assert kinds(seen) == ["started", "finished"] * 2
    assert told == []


def test_what_is_known_to_be_there_is_not_pushed_again(suite, fresh, served):
    suite.target("app", SMALL)
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    assert not builder.registry.push(launch.image, print)
    again = fresh(served.address)
    prepare(again, (suite.arm(), APP))
    assert again.tags == (launch.image,)
    assert not again.registry.push(launch.image, print)


def test_an_image_on_another_days_base_is_another_image(suite, fresh, served, engine, seen, base):
    """Base images are known by their layers: a newer one under the same name makes a new digest, and a new tag."""
    suite.target("app", f"FROM {base}\nCOPY stamp /\n")
    builder = fresh(served.address)
    (first,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, first)
    engine.remove_image(first.image)
    engine.remove_image(base)
    bare(engine, base, b"another day")
    (second,) = prepare(fresh(served.address), (suite.arm(), APP))
    assert first.image != second.image
    assert kinds(seen) == ["started", "finished"] * 2


# ---------------- the load image


@pytest.mark.slow
def test_the_load_image_is_pulled_too(fresh, served, engine, told):
    from windtunnel.launch.setup import ensure_load_image

    class New(DockerEngine):
        """The real engine, which seems not to have the load image until it was pulled: others are using it."""

        builds = 0
        hidden = True

        def image(self, reference: str):
            return None if self.hidden and reference.startswith("windtunnel/load:") else super().image(reference)

        def tag(self, image: str, reference: str) -> None:
            self.hidden = False
            super().tag(image, reference)

        def build(self, request, on_line):
            self.builds += 1
            return super().build(request, on_line)

    tag = ensure_load_image(engine, lambda _: None)
    before = engine.image(tag).id
    assert Registry(engine, f"{served.address}/tests/project", told.append).push(tag, lambda _: None)
    new = New()
    assert (
        ensure_load_image(new, lambda _: None, Registry(new, f"{served.address}/tests/project", told.append)) == tag
    )
    assert new.builds == 0
    assert engine.image(tag).id == before
    assert told == []


def test_without_a_registry_nothing_is_asked(suite, make_builder, seen):
    suite.target("app", FROM + "COPY stamp /\n")
    prepare(make_builder(WithoutCache()), (suite.arm(), APP))
    assert kinds(seen) == ["started", "finished"]
