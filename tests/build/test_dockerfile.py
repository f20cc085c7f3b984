"""The Dockerfile grammar: base images, what needs BuildKit, where sources come in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.build.dockerfile import base_images, needs_buildkit, parse
from windtunnel.build.instructions import instructions
from windtunnel.build.substitution import substitute
from windtunnel.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("FROM debian:trixie-slim", {}, ["debian:trixie-slim"]),
        ("from   debian:trixie-slim   as  Base", {}, ["debian:trixie-slim"]),
        ("\ufeff# note\n\n  FROM a\r\nRUN x\r\n", {}, ["a"]),
        ("ARG SUITE=bookworm\nFROM debian:${SUITE}-slim", {}, ["debian:bookworm-slim"]),
        ("ARG SUITE=bookworm\nFROM debian:${SUITE}-slim", {"SUITE": "trixie"}, ["debian:trixie-slim"]),
        ("ARG SUITE\nFROM debian:${SUITE:-sid}-slim", {}, ["debian:sid-slim"]),
        ("ARG A=1 B=2\nFROM x:$A.$B", {"B": "3"}, ["x:1.3"]),
        ('ARG A="q"\nARG B=${A}r\nFROM "x:$B"', {}, ["x:qr"]),
        ("FROM x:${SUITE:-d}", {"SUITE": "not declared, so not known"}, ["x:d"]),
        ("FROM a\nARG V=1\nFROM b:${V:-none}", {"V": "2"}, ["a", "b:none"]),
        ("FROM --platform=linux/amd64 a:1 AS x\nFROM x", {}, ["a:1"]),
        ("FROM a AS one\nFROM ONE AS two\nFROM two", {}, ["a"]),
        ("FROM scratch\nCOPY --from=tool:1 /bin/x /x\nCOPY --from=tool:1 /y /y", {}, ["tool:1"]),
        ("FROM a AS b\nFROM c\nCOPY --from=b x y\nCOPY --chown=1 --from=0 x y", {}, ["a", "c"]),
        ("FROM b\nFROM a AS b\nFROM b", {}, ["b", "a"]),
        ("FROM a\nCOPY --from=late x y\nFROM z AS late", {}, ["a", "late", "z"]),
        ("FROM a\nRUN --mount=type=bind,from=tool,target=/t --mount=type=cache,target=/c x", {}, ["a", "tool"]),
        ("FROM a\nRUN echo FROM b\n# FROM c\nRUN x \\\n# FROM d\n\nFROM e", {}, ["a"]),
        ("FROM a\nRUN <<EOF\nFROM b\nEOF\nFROM c", {}, ["a", "c"]),
        ("FROM a\nCOPY <<-'ONE' <<TWO /x/\nFROM b\n\tONE\nFROM c\nTWO\nFROM d", {}, ["a", "d"]),
        ("FROM \\\n  a:\\\n1 \\  \n  AS x", {}, ["a:1"]),
        ("# escape=`\nFROM a:`\n1\nRUN dir c:\\\nFROM b", {}, ["a:1", "b"]),
        ("# syntax=x/y\n# escape = `\nFROM a`\n:1", {}, ["a:1"]),
        ("# a comment ends the directives\n# escape=`\nFROM a:\\\n1", {}, ["a:1"]),
        ("FROM a\nRUN x \\", {}, ["a"]),
    ],
)
def test_base_images(text, args, expected):
    assert list(base_images(text, args)) == expected


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", None, "no FROM"),
        ("# nothing\n", None, "no FROM"),
        ("RUN x\nFROM a", 1, "RUN: only ARG"),
        ("ARG S\n\nFROM ${S}", 3, "FROM: the image"),
        ("FROM", 1, "FROM: the image"),
        ("FROM a b", 1, "is not IMAGE"),
        ("FROM ${A", 1, "} is missing"),
        ("FROM ${A#x}", 1, "modifier"),
        ("ARG A\nFROM ${A:?choose-one}", 2, "choose-one"),
        ('ARG A="x\nFROM a', 1, "is missing"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, line, what):
    with pytest.raises(ConfigError) as caught:
        parse(text, file="targets/x/Dockerfile")
    assert what in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("targets/x/Dockerfile", line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM a\nRUN x && y\nCOPY . /", None),
        ("FROM a\nRUN echo '<<EOF' \"<<EOF\" $((1 << 2)) cat <<< x", None),
        ("FROM --platform=linux/arm64 a\nCOPY --chown=1:1 --from=b x y", None),
        ("FROM a\nRUN echo --mount=x", None),
        ("FROM a\n\nRUN --mount=type=cache,target=/c \\\n  x", (3, "RUN --mount")),
        ("FROM a\nRUN --network=none x", (2, "RUN --network")),
        ("FROM a\nRUN <<EOF\nx\nEOF", (2, "a heredoc (<<EOF)")),
        ("FROM a\nCOPY <<'E F' /x\nx\nE F", (2, "a heredoc (<<E F)")),
        ("FROM a\nCOPY --link x y", (2, "COPY --link")),
        ("FROM a\nCOPY --chmod=755 x y", (2, "COPY --chmod")),
        ("FROM a\nADD --checksum=sha256:1 http://x /", (2, "ADD --checksum")),
        ("FROM --platform=$BUILDPLATFORM a", (1, "BUILDPLATFORM in FROM")),
        ("FROM a:${TARGETARCH}", (1, "TARGETARCH in FROM")),
        ("FROM a\nRUN <<A cat\n--mount\nA\nRUN --mount=x y", (2, "a heredoc (<<A)")),
    ],
)
def test_needs_buildkit(text, expected):
    assert needs_buildkit(text) == expected


MULTI = """\
FROM one AS base
RUN apt
ENV A=1
FROM two AS tools
RUN make
FROM base
RUN more
COPY app /app
RUN last
"""


def test_the_chain_of_the_final_image():
    parsed = parse(MULTI)
    assert [stage.base for stage in parsed.chain] == ["one", "base"]
    assert parsed.root == "one"
    assert parsed.independent == 3
    assert parsed.has_hidden_stages
    assert parsed.line_of("two") == 4


@pytest.mark.parametrize(
    ("text", "independent", "hidden", "root"),
    [
        ("FROM scratch\nCOPY a b", 0, False, None),
        ("FROM a\nRUN x\nENV y=1", 2, False, "a"),
        ("FROM a\nRUN x\nADD http://x /y\nRUN z", 1, False, "a"),
        ("FROM a\nRUN --mount=target=/src make\nCOPY b c", 0, False, "a"),
        ("FROM a\nRUN --mount=type=cache,target=/c apt\nCOPY b c", 1, False, "a"),
        ("FROM a AS t\nCOPY x y\nFROM a\nCOPY --from=t x y", 0, False, "a"),
        ("FROM a AS t\nFROM t AS t\nRUN x\nFROM t\nRUN y\nCOPY z z", 2, False, "a"),
    ],
)
def test_where_sources_come_in(text, independent, hidden, root):
    parsed = parse(text)
    assert (parsed.independent, parsed.has_hidden_stages, parsed.root) == (independent, hidden, root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$A-${A}", "1-1"),
        ("$AB${AB}", ""),
        ("${A:-x}${E:-x}${U:-x}", "1xx"),
        ("${A-x}${E-x}${U-x}", "1x"),
        ("${A:+x}${E:+x}${U:+x}", "x"),
        ("${A+x}${E+x}${U+x}", "xx"),
        ("${U:-${U:-${A}}}z", "1z"),
        ("${U:-a}b}", "ab}"),
        (r"\$A\"", '$A"'),
        ("'$A'\"$A\"'\"'", '$A1"'),
        (r'"\$A\x\""', r'$A\x"'),
        ("$ $1 a$", "$ $1 a$"),
        ("${U:-'}'}x", "}x"),
    ],
)
def test_substitution(text, expected):
    assert substitute(text, {"A": "1", "E": ""}) == expected


@given(st.text(alphabet="aZ0 .:/-_é", max_size=20))
def test_plain_text_stays_as_it_is(text):
    assert substitute(text, {"a": "x"}) == text


@given(st.text(alphabet="$${}:-+?'\"\\aA ", max_size=30))
def test_substitution_ends_in_text_or_in_an_error(text):
    try:
        substitute(text, {"A": "1"})
    except ValueError as error:
        assert text in str(error) or "has to be set" in str(error)


@given(st.text(alphabet="FROMarun \\\n#<-EOF`=\"'\t$", max_size=80))
def test_any_text_is_cut_into_instructions(text):
    found = list(instructions(text))
    assert all(one.keyword and one.keyword == one.keyword.upper() for one in found)
    assert [one.line for one in found] == sorted({one.line for one in found})


@given(st.lists(st.sampled_from(["a", "b", "x y", "--z=1"]), min_size=1), st.data())
def test_a_line_means_the_same_however_it_is_continued(words, data):
    line = "RUN " + " ".join(words)
    spaces = [index for index, character in enumerate(line) if character == " "][1:]
    cuts = data.draw(st.sets(st.sampled_from(spaces))) if spaces else set()
    cut = "".join(" \\\n# note\n\n " if index in cuts else character for index, character in enumerate(line))
    (plain,), (continued,) = instructions(line), instructions(cut)
    assert (plain.keyword, plain.flags, plain.rest.split()) == (
        continued.keyword,
        continued.flags,
        continued.rest.split(),
    )
