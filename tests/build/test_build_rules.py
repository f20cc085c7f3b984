"""Patterns of `sources` and `build_only`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.build.rules import Choice, Patterns, Rules
from windtunnel.errors import ConfigError
from windtunnel.model import Target


def patterns(*lines: str) -> Patterns:
    return Patterns(lines, file="targets/x/target.toml", key="sources")


@pytest.mark.parametrize(
    ("lines", "inside", "outside"),
    [
        (["**"], ["a", "a/b/c", ".hidden", "-x"], []),
        (["*.c"], ["a.c", "x/y/a.c"], ["a.cc", "a.c.txt"]),
        (["/*.c"], ["a.c"], ["x/a.c"]),
        (["src"], ["src/a", "x/src/a", "src"], ["srcs/a", "a/srcx"]),
        (["/src"], ["src/a/b"], ["x/src/a"]),
        (["src/lib/"], ["src/lib/a"], ["src/lib", "x/src/lib/a"]),
        (["src/**", "!src/tests/"], ["src/a", "src/x/tests/b"], ["src/tests/a", "src/tests/a/b", "a"]),
        (["**", "!**/*.md"], ["a"], ["README.md", "docs/x.md"]),
        (["**", "!docs", "docs/index.md"], ["a", "docs/index.md"], ["docs/a", "docs/b/c"]),
        (["!a", "**"], ["a"], []),
        ([r"\#x", r"\!y"], ["#x", "!y"], ["x", "y"]),
        (["a b"], ["a b"], ["a", "b"]),
        (["naïve/*.é"], ["naïve/x.é"], ["naive/x.e"]),
    ],
)
def test_the_last_pattern_that_matches_decides(lines, inside, outside):
    chosen = patterns(*lines)
    assert [path for path in inside + outside if chosen.matches(path)] == inside


@pytest.mark.parametrize("line", ["", "# comment", "!", "   ", "/"])
def test_a_pattern_that_is_none_is_an_error_with_file_and_key(line):
    with pytest.raises(ConfigError, match=r"targets/x/target\.toml: sources: "):
        patterns("**", line)


def test_build_only_goes_before_sources():
    rules = Rules.of(Target("x", "targets/x", sources=("**", "!secret"), build_only=("README.md", "*.lock")))
    assert rules.choice("README.md") is Choice.BUILD_ONLY
    assert rules.choice("a/b.lock") is Choice.BUILD_ONLY
    assert rules.choice("app") is Choice.SOURCE
    assert rules.choice("secret") is Choice.EXCLUDED
    assert Rules.of(Target("x", "targets/x", sources=("a",))).choice("b") is Choice.UNNAMED


@pytest.mark.parametrize(
    ("lines", "may"),
    [
        (["**"], True),
        (["vendor/**"], True),
        (["vendor/lib/src/*.c"], True),
        (["/vendor"], True),
        (["vendor/li*/x"], True),
        (["*.c"], True),
        (["src/**"], False),
        (["/src", "/app/x.c"], False),
        (["vendor/library/**"], False),
        (["**", "!vendor/lib/"], False),
        (["**", "!vendor"], False),
        (["!vendor/lib", "**"], True),
        (["**", "!vendor/lib/x.c"], True),
    ],
)
def test_whether_a_folder_that_cannot_be_listed_may_matter(lines, may):
    assert patterns(*lines).may_reach_into("vendor/lib") is may


PART = st.sampled_from(["src", "lib", "vendor", "a.c", "*", "**", "x?"])


@given(
    st.lists(
        st.builds(lambda bang, parts: bang + "/".join(parts), st.sampled_from(["", "!"]), st.lists(PART, min_size=1)),
        max_size=4,
    ),
    st.lists(st.sampled_from(["src", "lib", "a.c", "xy"]), min_size=1, max_size=3),
)
def test_a_folder_is_never_taken_for_needless_while_a_file_in_it_is_named(lines, below):
    chosen = patterns(*lines)
    if chosen.matches("/".join(["vendor", "lib", *below])):
        assert chosen.may_reach_into("vendor/lib")
