from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windtunnel.declare.toml import format_key, parse_toml
from windtunnel.errors import ConfigError

AWKWARD = """\
# a comment with a [header] and key = value
plain = 1
"quoted key" = "a # no comment"
'literal "key"' = 'c:\\path'
"esc\\u0061ped" = "tab\\t\\"quote\\" ]"
a.b.c = 1
a.b.d = { x = 1, "y z" = [1, 2], deep = { z = "}" } }
many = [
    # the first
    "one", "two",

    ["inner", # says ]
     "last"],
    { k = '''
multi-line
''', l = 2 },
]
text = \"\"\"
[not.a.table]
fake = 1 \\
\"\"\"\"
date = 1979-05-27 07:32:00
[table]   # header
key = 5
[table . "sub.table"]
key = 6
[[services]]
name = "first"
[services.limits]
memory = "1g"
[[services]]
name = "second"
[[services.inner]]
n = 1
[[services.inner]]
n = 2
[services.inner.more]
m = 3
"""

AWKWARD_LINES = {
    ("plain",): 2,
    ("quoted key",): 3,
    ('literal "key"',): 4,
    ("escaped",): 5,
    ("a",): 6,
    ("a", "b"): 6,
    ("a", "b", "c"): 6,
    ("a", "b", "d"): 7,
    ("a", "b", "d", "y z", 1): 7,
    ("a", "b", "d", "deep", "z"): 7,
    ("many",): 8,
    ("many", 0): 10,
    ("many", 1): 10,
    ("many", 2): 12,
    ("many", 2, 1): 13,
    ("many", 3): 14,
    ("many", 3, "k"): 14,
    ("many", 3, "l"): 16,
    ("text",): 18,
    ("date",): 22,
    ("table",): 23,
    ("table", "key"): 24,
    ("table", "sub.table"): 25,
    ("table", "sub.table", "key"): 26,
    ("services",): 27,
    ("services", 0): 27,
    ("services", 0, "limits", "memory"): 30,
    ("services", 1): 31,
    ("services", 1, "name"): 32,
    ("services", 1, "inner"): 33,
    ("services", 1, "inner", 1, "n"): 36,
    ("services", 1, "inner", 1, "more"): 37,
    ("services", 1, "inner", 1, "more", "m"): 38,
}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_of_an_awkward_document(ending: str) -> None:
    document = parse_toml(AWKWARD.replace("\n", ending), "f.toml")
    assert {path: document.lines[path] for path in AWKWARD_LINES} == AWKWARD_LINES
    assert set(document.lines) == set(paths(document.data))


def test_a_table_is_where_its_header_is_even_when_mentioned_before() -> None:
    document = parse_toml("[a.b]\nx = 1\n[a]\ny = 1\n", "f.toml")
    assert document.lines[("a",)] == 3
    assert document.lines[("a", "b")] == 1


def test_the_line_of_an_absent_key_is_that_of_what_is_around_it() -> None:
    document = parse_toml("\n[ready]\npath = 1\n", "f.toml")
    assert document.line(("ready", "status")) == 2
    assert document.line(("limits", "memory")) == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\na = 2\n", 2, "overwrite"),
        ("a = 1\n[b]\n[b]\n", 3, "twice"),
        ("a = 1\nb = [1, 2\n\n", 2, "the file ends here"),
        ('a = 1\n\nb = "abc\n', 3, "not valid TOML"),
        ("a = 1\nb 2\n", 2, "="),
        ("a = " + "[" * 5000, None, "nested"),
        ("a = " + "1" * 5000, None, "digits"),
    ],
)
def test_syntax_errors_name_file_and_line(text: str, line: int | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        parse_toml(text, "targets/x/target.toml")
    assert (caught.value.file, caught.value.line) == ("targets/x/target.toml", line)
    assert str(caught.value).startswith("targets/x/target.toml")


def test_keys_are_shown_as_toml_writes_them() -> None:
    assert format_key(("axes", "perl", "5.36", "env")) == 'axes.perl."5.36".env'
    assert format_key(("services", 0, "name")) == "services[0].name"
    assert format_key(('say "hi"\\', "")) == '"say \\"hi\\"\\\\".""'


def paths(data: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from paths(value, (*at, key))


# pieces that fit together often enough, and often enough don't
KEY = st.sampled_from(["a", "b", "-1", "5.36", '"q.d"', "'l'", "a.b", 'a . "c"', '"\\u0041"', '""'])
SCALAR = st.sampled_from(
    [
        *("1", "-0.5e3", "true", "inf", '"s"', '"]"', '"\\""', "'}'", '"""\nm"\n"""', "'''\n''\n'''", '""', "''"),
        *("1979-05-27T07:32:00Z", "07:32:00", "0xff", '"""x"""""', "''''''", '"#"', '"""\\\n  x"""'),
    ]
)
GAP = st.sampled_from(["", " ", "\n", " # c ]}\n", "\t", "\r\n"])


def values() -> st.SearchStrategy[str]:
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        array = st.tuples(GAP, st.lists(st.tuples(inner, GAP), max_size=3), st.sampled_from(["", ","])).map(
            lambda parts: f"[{parts[0]}{','.join(value + gap for value, gap in parts[1])}{parts[2]}]"
        )
        pair = st.tuples(KEY, inner).map(lambda parts: f"{parts[0]} = {parts[1]}")
        table = st.lists(pair, max_size=3).map(lambda pairs: f"{{ {', '.join(pairs)} }}")
        return array | table

    return st.recursive(SCALAR, extend, max_leaves=6)


STATEMENT = st.one_of(
    st.tuples(KEY, values()).map(lambda parts: f"{parts[0]}={parts[1]}"),
    KEY.map(lambda key: f"[{key}]"),
    KEY.map(lambda key: f"[[ {key} ]]"),
    st.just("# [x] = 'y"),
    st.just(""),
)
DOCUMENT = st.tuples(st.lists(STATEMENT, max_size=8), st.sampled_from(["\n", "\r\n", "\n\n", " # c\n"])).map(
    lambda parts: parts[1].join(parts[0])
)


@settings(max_examples=400, deadline=None)
@given(DOCUMENT)
def test_every_key_and_element_has_a_line(text: str) -> None:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(ConfigError):
            parse_toml(text, "f.toml")
        return
    document = parse_toml(text, "f.toml")
    assert document.data == data or "nan" in text
    assert set(document.lines) == set(paths(data))
    assert all(1 <= line <= text.count("\n") + 1 for line in document.lines.values())


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=6)
NESTED = st.recursive(
    st.integers(0, 9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(NAMES, NESTED, max_size=5))
def test_lines_are_those_the_text_was_written_on(data: dict[str, object]) -> None:
    writer = Writer()
    for key, value in data.items():
        writer.pair((key,), key, value)
        writer.text += "\n"
    document = parse_toml(writer.text, "f.toml")
    assert document.data == data
    assert document.lines == writer.lines


class Writer:
    """Writes arrays over several lines and tables in one, and notes where each thing went."""

    def __init__(self) -> None:
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    def pair(self, path: tuple[str | int, ...], key: str, value: object) -> None:
        self.lines[path] = self.text.count("\n") + 1
        self.text += f"{quote(key)} = "
        self.value(path, value)

    def value(self, path: tuple[str | int, ...], value: object) -> None:
        if isinstance(value, list):
            self.text += "[\n"
            for index, element in enumerate(value):
                self.lines[(*path, index)] = self.text.count("\n") + 1
                self.value((*path, index), element)
                self.text += ", # no ] here\n\n"
            self.text += "]"
        elif isinstance(value, dict):
            self.text += "{"
            for number, (key, element) in enumerate(value.items()):
                self.text += ", " if number else ""
                self.pair((*path, key), key, element)
            self.text += "}"
        else:
            self.text += str(value) if isinstance(value, int) else quote(str(value))


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@settings(deadline=None)
@example("\ufeffa = 1")
@example("a = '\ud800'")
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_toml(text, "f.toml")
    except ConfigError as error:
        assert error.file == "f.toml"
