from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from windtunnel.declare.cases import Discovery, discover, select_ids
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import ConfigError
from windtunnel.model import Case, Expect, Variant, Workload

BASE = """\
from abc import ABC, abstractmethod
from windtunnel.model import Expect, Workload

class HTTPBenchmark(ABC):
    target: str

    @abstractmethod
    def workload(self, *params): ...

    def time_request(self, *params): ...
"""

STARLET = """\
from .common import HTTPBenchmark, Expect, Workload


class Starlet(HTTPBenchmark):
    target = "starlet"
    params = (["5.36", "5.40"], ["close", "keepalive"])
    param_names = ("perl", "connection")

    def workload(self, perl, connection):
        expect = Expect(length=128)
        return Workload(axes={"perl": perl}, keepalive=connection == "keepalive", concurrency=40, expect=expect)
"""

Make = Callable[..., Suite]


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("benchmarks", "bench", "with-dash"):
            del sys.modules[name]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    count = itertools.count()

    def build(files: dict[str, str], folder: str = "benchmarks", prefix: str = "", base: bool = True) -> Suite:
        top = tmp_path / f"project{next(count)}"
        root = top / prefix
        benchmarks = root / folder
        benchmarks.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=top, check=True)
        repo = "/".join(".." for _ in Path(prefix).parts) or "."
        (root / "asv.conf.json").write_text(json.dumps({"version": 1, "repo": repo, "benchmark_dir": folder}))
        for name, text in {**({"__init__.py": "", "common.py": BASE} if base else {}), **files}.items():
            (benchmarks / name).parent.mkdir(parents=True, exist_ok=True)
            (benchmarks / name).write_text(text)
        return find_suite(root)

    return build


def ids(discovery: Discovery) -> list[str]:
    return [case.id for case in discovery.cases]


def refused(suite: Suite, *select: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        discover(suite, select)
    return caught.value


def test_every_combination_is_a_case_in_asvs_order(make: Make) -> None:
    found = discover(make({"psgi.py": STARLET}))
    assert ids(found) == [
        "psgi.Starlet(5.36, close)",
        "psgi.Starlet(5.36, keepalive)",
        "psgi.Starlet(5.40, close)",
        "psgi.Starlet(5.40, keepalive)",
    ]
    assert found.cases[1] == Case(
        "psgi.Starlet",
        (("perl", "5.36"), ("connection", "keepalive")),
        Variant("starlet", (("perl", "5.36"),)),
        Workload(axes={"perl": "5.36"}, keepalive=True, concurrency=40, expect=Expect(length=128)),
    )
    place = found.places["psgi.Starlet(5.36, keepalive)"]
    assert (place.benchmark, place.file, place.line) == ("psgi.Starlet", "benchmarks/psgi.py", 4)
    assert place.key == "psgi.Starlet(5.36, keepalive)"


def test_asv_itself_finds_the_same_classes_and_parameters(make: Make) -> None:
    """The real thing as the yardstick: asv_runner's discovery, in a process of its own."""
    files = {
        "psgi.py": STARLET + "\n\nclass _Hidden(Starlet): ...\n\n\nAlias = Starlet\n",
        "flat.py": STARLET.replace('(["5.36", "5.40"], ["close", "keepalive"])', '["5.36", "5.40"]').replace(
            "perl, connection", "perl, connection='close'"
        ),
        "imported.py": "from .psgi import Starlet\nfrom .common import HTTPBenchmark\n",
        "deep/__init__.py": "from benchmarks.psgi import Starlet\n",
        "deep/er.py": "from ..psgi import Starlet as Base\n\n\nclass More(Base):\n    param_names = ['perl']\n",
        "module_params.py": (
            "from .common import HTTPBenchmark, Workload\nparams = [1, 2]\nparam_names = ['n']\n\n\n"
            "class M(HTTPBenchmark):\n    target = 'x'\n    def workload(self, n): return Workload(concurrency=n)\n"
        ),
    }
    suite = make(files)
    code = "import sys; from asv_runner.discovery import list_benchmarks; list_benchmarks(sys.argv[1], sys.stdout)"
    argv = [sys.executable, "-c", code, str(suite.benchmark_dir)]
    listed = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True, cwd="/").stdout)
    expected = []
    for benchmark in listed:
        name = benchmark["name"].removesuffix(".time_request")
        names = benchmark["param_names"]
        for values in itertools.product(*benchmark["params"]):
            texts = [text.strip("'") for text in values]
            entry = (name, tuple(zip(names, texts, strict=True)))
            if entry not in expected:  # asv lists an alias twice, under one name
                expected.append(entry)
    assert [(case.benchmark, case.params) for case in discover(suite).cases] == expected
    assert len(expected) == 24


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", ["b.B"]),
        ("params = []", ["b.B"]),
        ("params = [1, 2]", ["b.B(1)", "b.B(2)"]),
        ("params = ([1], [2, 3])", ["b.B(1, 2)", "b.B(1, 3)"]),
        ("params = [int, len, 'x']", ["b.B(int)", "b.B(len)", "b.B(x)"]),
        ("params = [None, 1.5]", ["b.B(None)", "b.B(1.5)"]),
        ("params = ([1], [2])\n    skip_params = [(1, 2)]", []),
        ("params = [type('T', (), {})()]", ["b.B(<b.T object>)"]),
    ],
)
def test_params(make: Make, attributes: str, expected: list[str]) -> None:
    found = discover(make({"b.py": benchmark(attributes)}))
    assert [name.replace("benchmarks.", "") for name in ids(found)] == expected


def benchmark(attributes: str = "", workload: str = "return Workload()", name: str = "B") -> str:
    return (
        "from .common import HTTPBenchmark, Expect, Workload\n"
        f"class {name}(HTTPBenchmark):\n"
        "    target = 'x'\n"
        f"    {attributes or 'pass'}\n"
        "    def workload(self, *params):\n"
        f"        {workload}\n"
    )


def test_names_of_parameters_are_filled_up(make: Make) -> None:
    (case,) = discover(make({"b.py": benchmark("params = ([1], [2]); param_names = ['one']")})).cases
    assert case.params == (("one", "1"), ("param2", "2"))


def test_what_a_class_declines_is_skipped_with_its_reason(make: Make) -> None:
    workload = "if params[0] == 2: raise NotImplementedError('no h2 there')\n        return Workload()"
    found = discover(make({"b.py": benchmark("params = [1, 2]", workload)}))
    assert ids(found) == ["b.B(1)"]
    assert found.skipped == (("b.B(2)", "no h2 there"),)


def test_a_class_without_a_target_is_not_lost_silently(make: Make) -> None:
    found = discover(make({"b.py": benchmark().replace("target = 'x'", "pass")}))
    assert found.cases == ()
    assert found.skipped[0][0] == "b.B"
    assert "no target" in found.skipped[0][1]


def test_an_empty_suite_has_no_cases(make: Make) -> None:
    assert discover(make({})) == Discovery((), ())


def test_the_package_may_import_itself_by_name_and_shadows_nothing(make: Make) -> None:
    suite = make(
        {"b.py": "import json\nfrom bench.common import Workload\n" + benchmark(), "json.py": ""}, folder="bench"
    )
    assert ids(discover(suite)) == ["b.B"]
    assert str(suite.root) not in sys.path


def test_a_folder_with_a_dash_is_fine(make: Make) -> None:
    assert ids(discover(make({"b.py": benchmark()}, folder="with-dash"))) == ["b.B"]


def test_two_suites_of_one_process_with_the_same_folder_name(make: Make) -> None:
    one = make({"b.py": benchmark("params = [1]")})
    two = make({"c.py": benchmark("params = [2]", name="C")})
    assert [ids(discover(suite)) for suite in (one, two, one)] == [["b.B(1)"], ["c.C(2)"], ["b.B(1)"]]


def test_a_changed_file_is_read_anew(make: Make) -> None:
    suite = make({"b.py": benchmark("params = [1]")})
    assert ids(discover(suite)) == ["b.B(1)"]
    (suite.benchmark_dir / "b.py").write_text(benchmark("params = [1, 2, 3]"))
    assert ids(discover(suite)) == ["b.B(1)", "b.B(2)", "b.B(3)"]


def test_a_file_of_the_same_size_and_second_is_read_anew(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's compiled files know no more of their source than its size and its time in seconds."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    suite = make({"psgi.py": STARLET})
    file = suite.benchmark_dir / "psgi.py"
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert {case.workload.concurrency for case in discover(suite).cases} == {40}
    file.write_text(STARLET.replace("concurrency=40", "concurrency=41"))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert {case.workload.concurrency for case in discover(suite).cases} == {41}


def test_a_new_file_is_found_even_when_the_folder_looks_unchanged(make: Make) -> None:
    suite = make({"b.py": benchmark()})
    discover(suite)
    before = suite.benchmark_dir.stat()
    (suite.benchmark_dir / "c.py").write_text(benchmark(name="C"))
    os.utime(suite.benchmark_dir, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ids(discover(suite)) == ["b.B", "c.C"]


def test_files_are_named_from_the_top_of_the_repository(make: Make) -> None:
    suite = make({"b.py": benchmark()}, prefix="perf/http")
    assert discover(suite).places["b.B"].file == "perf/http/benchmarks/b.py"


# ---------------- errors


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\n1 / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("x = 1\n\ndef f(:\n", 3, "SyntaxError: "),
        ("import nowhere_to_be_found\n", 1, "No module named 'nowhere_to_be_found'; is it installed"),
        ("from .common import Nothing\n", 1, "ImportError: "),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("import json\n\njson.loads('{')\n", 3, "JSONDecodeError"),
        ("def f():\n    raise OSError('boo')\n\nf()\n", 2, "OSError: boo"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_with_its_line(
    make: Make, text: str, line: int, words: str
) -> None:
    suite = make({"a.py": "", "sub/__init__.py": "", "sub/b.py": text.replace(".common", "..common")})
    error = refused(suite)
    assert (error.file, error.line) == (str(suite.benchmark_dir / "sub" / "b.py"), line)
    assert error.key == "benchmarks.sub.b"
    assert words in str(error)
    assert "benchmarks" not in sys.modules


def test_the_package_itself_may_fail(make: Make) -> None:
    suite = make({"__init__.py": "\nraise ValueError"})
    error = refused(suite)
    assert (error.file, error.line) == (str(suite.benchmark_dir / "__init__.py"), 2)


@pytest.mark.parametrize(
    ("attributes", "workload", "line", "words"),
    [
        ("", "1 / 0", 6, "workload: ZeroDivisionError: division by zero"),
        ("", "return int('x')", 6, "workload: ValueError: invalid literal"),
        ("", "raise SystemExit", 6, "workload: SystemExit"),
        ("", "return Workload(concurency=4)", 6, "workload: TypeError: "),
        ("", "return None", 2, "workload: returned nothing, expected a Workload"),
        ("", "return {}", 2, "workload: returned an empty table"),
        ("", "return Workload(path='x')", 2, 'path: found "x"'),
        ("", "return Workload(concurrency=0)", 2, "concurrency: found 0"),
        ("__init__ = lambda self: 1 / 0", "return Workload()", 4, "ZeroDivisionError"),
        ("target = 5", "return Workload()", 2, "target: found 5 (an integer), expected the name of a target"),
        ("target = ''", "return Workload()", 2, "target: found"),
        ("params = 'abc'", "return Workload()", 2, "params: expected a list of values"),
        ("params = ([1], 2)", "return Workload()", 2, "each of them has to be one"),
        ("params = ([1], [])", "return Workload()", 2, 'parameter "param2" has no values'),
        ("params = ['1', 1]", "return Workload()", 2, 'two values of "param1" read "1"'),
        ("params = (['a, b', 'a'], ['c', 'b, c'])", "return Workload()", 2, "two combinations of parameters read"),
        ("params = [1]; param_names = 'n'", "return Workload()", 2, "param_names: expected a list of strings"),
        ("params = ([1], [2]); param_names = ['n', 'n']", "return Workload()", 2, '"n" is there twice'),
        ("params = [type('T', (), {'__str__': lambda s: 1 / 0})()]", "return Workload()", 4, "params: ZeroDivision"),
    ],
)
def test_a_wrong_class_is_named_with_file_and_line(
    make: Make, attributes: str, workload: str, line: int, words: str
) -> None:
    error = refused(make({"b.py": benchmark(attributes, workload)}))
    assert (error.file, error.line) == ("benchmarks/b.py", line)
    assert (error.key or "").startswith("b.B")
    assert words in str(error)


def test_a_workload_with_the_wrong_number_of_parameters_names_the_class(make: Make) -> None:
    error = refused(make({"b.py": benchmark("params = [1]").replace("*params", "")}))
    assert (error.file, error.line, error.key) == ("benchmarks/b.py", 2, "b.B(1)")
    assert "TypeError" in str(error)


def test_two_classes_of_one_name_are_refused(make: Make) -> None:
    text = benchmark() + "First = B\n" + benchmark()
    assert "two classes have this name" in str(refused(make({"b.py": text})))


@pytest.mark.parametrize(("folder", "words"), [("json", "the name of another package"), ("a.b", "can't be the name")])
def test_a_folder_that_cannot_be_the_package_is_refused(make: Make, folder: str, words: str) -> None:
    error = refused(make({}, folder=folder))
    assert words in str(error)
    assert "benchmark_dir" in str(error)


def test_a_loaded_package_of_that_name_is_left_alone(make: Make) -> None:
    import hypothesis

    assert "the name of another package" in str(refused(make({}, folder="hypothesis")))
    assert sys.modules["hypothesis"] is hypothesis


def test_no_folder_and_no_init_are_named(make: Make) -> None:
    suite = make({}, base=False)
    assert refused(suite).file == str(suite.benchmark_dir / "__init__.py")
    suite.benchmark_dir.rmdir()
    assert refused(suite).file == str(suite.benchmark_dir)


# ---------------- select


def test_patterns_are_searched_in_ids(make: Make) -> None:
    suite = make({"psgi.py": STARLET})
    assert ids(discover(suite, ["5.40"])) == ["psgi.Starlet(5.40, close)", "psgi.Starlet(5.40, keepalive)"]
    assert ids(discover(suite, [r"^psgi\.Starlet\(5\.36, k", "40, close"])) == [
        "psgi.Starlet(5.36, keepalive)",
        "psgi.Starlet(5.40, close)",
    ]


def test_what_is_not_selected_is_not_asked(make: Make) -> None:
    suite = make({"a.py": benchmark("", "1 / 0"), "b.py": benchmark()})
    assert ids(discover(suite, ["^b"])) == ["b.B"]
    refused(suite)


def test_a_pattern_may_select_a_skipped_case(make: Make) -> None:
    suite = make({"a.py": benchmark("", "raise NotImplementedError"), "b.py": benchmark()})
    assert discover(suite, ["^a"]).skipped == (("a.B", "not implemented"),)


CASES = ["psgi.Starlet(5.36, close)", "psgi.Starman(5.36, close)", "cgi.Apache(cgi)", "wsgi.Bjoern", "a.X", "a.Y"]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("^starlet$", 'no case matches "^starlet$"; near it: psgi.Starlet(5.36, close)'),
        ("wsgi.Bjorn", "near it: wsgi.Bjoern"),
        (
            "zzzzzz",
            "there are: psgi.Starlet(5.36, close); psgi.Starman(5.36, close); cgi.Apache(cgi); wsgi.Bjoern; and 2",
        ),
        ("(", '"(" is not a regular expression'),
        ("a{99999999999}", "is not a regular expression"),
    ],
)
def test_a_pattern_that_finds_nothing_lists_near_cases(pattern: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        select_ids(CASES, ["psgi", pattern])
    assert words in str(caught.value)


def test_a_pattern_on_an_empty_suite() -> None:
    with pytest.raises(ConfigError, match="the suite has no cases"):
        select_ids([], ["x"])
