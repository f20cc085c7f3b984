"""Variants that can't be had everywhere, on the real engine: without them where that is allowed, else broken."""

from __future__ import annotations

import pytest
from imagesuite import FROM, prepare

from windtunnel.build.images import _wanting
from windtunnel.errors import BuildFailed, EngineError, Unavailable
from windtunnel.model import Variant

OPTIONAL = '[axes.kind]\nplain = {}\nrare = { build_args = { KIND = "rare" }, optional = true }\n'
RARE, PLAIN = (Variant("app", (("kind", kind),)) for kind in ("rare", "plain"))
LACKING = 'RUN echo before; test -z "$KIND" || { echo "unavailable: no such thing here"; exit 69; }\n'


@pytest.mark.engine
def test_a_step_that_lacks_something_makes_an_optional_variant_unavailable(suite, make_builder, seen):
    suite.target("app", f"{FROM}ARG KIND\n{LACKING}COPY stamp /\n", OPTIONAL)
    builder = make_builder()
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"^app kind=rare can't be built here: no such thing here$"):
            prepare(builder, (suite.arm(), RARE))
    assert seen.count("started") == 1  # remembered, as a failure is
    assert prepare(builder, (suite.arm(), PLAIN))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("toml", "step"),
    [(OPTIONAL.replace(", optional = true", ""), LACKING), (OPTIONAL, LACKING.replace("69", "70"))],
    ids=["not optional", "another end"],
)
def test_anything_else_is_a_failed_build(suite, make_builder, toml, step):
    suite.target("app", f"{FROM}ARG KIND\n{step}COPY stamp /\n", toml)
    with pytest.raises(BuildFailed):
        prepare(make_builder(), (suite.arm(), RARE))


@pytest.mark.engine
def test_a_base_image_that_no_registry_gives(suite, make_builder, seen):
    base = f"localhost:1/nobody/{suite.stamp}:1"
    toml = f'[axes.base]\nrare = {{ build_args = {{ BASE = "{base}" }}, optional = true }}\n'
    wanted = Variant("app", (("base", "rare"),))
    suite.target("app", "ARG BASE\nFROM $BASE\nCOPY stamp /\n", toml)
    with pytest.raises(Unavailable, match=f"the image {base} is not here and can't be pulled"):
        prepare(make_builder(), (suite.arm(), wanted))
    suite.target("app", "ARG BASE\nFROM $BASE\nCOPY stamp /\n", toml.replace(", optional = true", ""))
    with pytest.raises(EngineError, match=f"the image {base} is not here and can't be pulled"):
        prepare(make_builder(), (suite.arm(), wanted))
    assert seen.count("started") == 0


CLASSIC = """Step 3/4 : RUN fetch || { echo "unavailable: nobody answered"; exit 69; }
 ---> Running in 0123456789ab
fetch: no route
unavailable: nobody answered
"""
BUILDKIT = """#7 [3/4] RUN fetch || { echo "unavailable: nobody answered"; exit 69; }
#7 0.312 fetch: no route
#7 0.313 unavailable: nobody answered
#7 ERROR: process "/bin/sh -c fetch || { echo \\"unavailable: nobody answered\\"; exit 69; }" ended: exit code: 69
------
 > [3/4] RUN fetch || { echo "unavailable: nobody answered"; exit 69; }:
0.312 fetch: no route
0.313 unavailable: nobody answered
------
ERROR: process "/bin/sh -c fetch || { echo \\"unavailable: nobody answered\\"; exit 69; }" exit code: 69
"""


@pytest.mark.parametrize("output", [CLASSIC, BUILDKIT], ids=["classic", "BuildKit"])
def test_the_reason_is_what_the_step_said_and_not_its_command(output):
    assert _wanting(output) == "nobody answered"


def test_a_step_that_said_nothing_of_the_kind_is_quoted():
    assert _wanting("Step 1/2\nfetch: no route\n\n") == "fetch: no route"
    assert _wanting("") == "a step of its Dockerfile says so"
