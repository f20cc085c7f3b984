"""Images in a registry that can't be trusted, or are damaged."""

from __future__ import annotations

import shutil
import subprocess
import uuid

import pytest
from imagesuite import APP, prepare
from registering import kinds, needs_forgetting, of_test, pushed, put, turned_into

from registries import cutting
from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.build.kinship import BUILDER_LABEL

pytestmark = pytest.mark.engine


def test_a_strangers_image_under_the_name_is_not_taken(suite, fresh, served, engine, told, base):
    suite.target("app", f"FROM {base}\nCOPY stamp /\n")
    (launch,) = prepare(fresh(served.address), (suite.arm(), APP))
    digest = launch.digest
    strange = {
        "not an image of windtunnel's": {},
        "something else": {"windtunnel": "image", DIGEST_LABEL: digest[:24] + "0" * 40},
        "another base image": {"windtunnel": "image", DIGEST_LABEL: digest, BUILDER_LABEL: "1"},
    }
    for number, (word, labels) in enumerate(strange.items(), 1):
        put(engine, of_test(engine, launch, served.address), b"strange", **labels)
        assert prepare(fresh(served.address), (suite.arm(), APP)) == [launch]
        assert len(told) == number
        assert word in told[-1]
        assert "built here instead" in told[-1]
        assert engine.image(launch.image).layers[:1] == engine.image(base).layers
        of_test(engine, launch, served.address)


def test_an_image_that_is_right_but_for_the_kind_of_machine(suite, fresh, served, engine, seen, told):
    suite.target("app", "FROM scratch\nCOPY stamp /\n")
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    turned_into(served, "riscv64")
    assert prepare(fresh(served.address), (suite.arm(), APP)) == [launch]
    assert seen.count("pulled") == 0
    assert "linux/riscv64" in told[0]


@needs_forgetting
def test_a_layer_that_was_damaged_on_the_registrys_disk(suite, fresh, served, engine, seen, told):
    suite.target("app", "FROM scratch\nCOPY stamp more /\n", more=uuid.uuid4().hex * 5000)
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    layer = served.layers()[0]
    content = bytearray(layer.read_bytes())
    content[len(content) // 2] ^= 0xFF
    layer.write_bytes(content)
    assert prepare(fresh(served.address), (suite.arm(), APP)) == [launch]
    assert kinds(seen)[2:] == ["started", "finished"]
    assert len(told) == 1
    assert "windtunnel push" in told[0]
    assert engine.image(launch.image).labels[DIGEST_LABEL] == launch.digest


@needs_forgetting
def test_a_layer_that_was_cut_short_on_the_registrys_disk(suite, fresh, served, seen, told):
    suite.target("app", "FROM scratch\nCOPY stamp more /\n", more=uuid.uuid4().hex * 5000)
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    layer = served.layers()[0]
    layer.write_bytes(layer.read_bytes()[: layer.stat().st_size // 2])
    assert prepare(fresh(served.address, patience=5), (suite.arm(), APP)) == [launch]
    assert kinds(seen)[2:] == ["started", "finished"]
    assert len(told) == 1


@needs_forgetting
def test_a_layer_that_is_gone_from_the_registrys_disk(suite, fresh, served, seen, told):
    suite.target("app", "FROM scratch\nCOPY stamp /\n")
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    shutil.rmtree(served.layers()[0].parent)
    assert prepare(fresh(served.address, patience=5), (suite.arm(), APP)) == [launch]
    assert kinds(seen)[2:] == ["started", "finished"]
    assert len(told) == 1


@needs_forgetting
def test_a_connection_that_breaks_in_the_middle(suite, fresh, served, seen, told):
    suite.target("app", "FROM scratch\nCOPY stamp more /\n", more=uuid.uuid4().hex * 5000)
    builder = fresh(served.address)
    (launch,) = prepare(builder, (suite.arm(), APP))
    pushed(builder, launch)
    with cutting(served.address) as address:
        assert prepare(fresh(address, patience=3), (suite.arm(), APP)) == [launch]
    assert kinds(seen)[2:] == ["started", "finished"]
    assert len(told) == 1
    assert "built here instead" in told[0]


def test_nothing_of_ours_is_left_after_a_refusal(suite, fresh, served, engine):
    """Neither the name in the registry nor an image without a name."""
    suite.target("app", "FROM scratch\nCOPY stamp /\n")
    (launch,) = prepare(fresh(served.address), (suite.arm(), APP))
    reference = of_test(engine, launch, served.address)
    put(engine, reference, b"strange", windtunnel="image")
    (again,) = prepare(fresh(served.address), (suite.arm(), APP))
    assert engine.image(reference) is None
    listed = subprocess.run(
        ["docker", "images", "--all", "--quiet", f"{served.address}/*"], capture_output=True, text=True, check=True
    )
    assert listed.stdout == ""
    assert again == launch
