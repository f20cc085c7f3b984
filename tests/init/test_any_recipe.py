"""Recipes are others' files: whatever is in them, the answer is a suite or a sentence."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from windtunnel.cli.detect import detect
from windtunnel.cli.project import slug
from windtunnel.cli.render import Place, suite_files
from windtunnel.cli.stacks import choose
from windtunnel.declare.target import parse_target
from windtunnel.errors import ConfigError

RECIPES = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "cpanfile",
    "Makefile.PL",
    "META.json",
    "Dockerfile",
)

# pieces that get past the first look, in any order and with anything between them
PIECES = st.sampled_from(
    [
        *("[project]\n", "[build-system]\n", "[tool.poetry.dependencies]\n", "[metadata]\n", "[options]\n"),
        *("name = ", "dependencies = ", "requires = ", "readme = ", "license = ", "license-files = "),
        *(
            "install_requires =\n",
            "setup(",
            "name=",
            "ext_modules=",
            "install_requires=",
            ")\n",
            "{[]: 1}",
            "3",
            "{}",
        ),
        *(
            '"a"',
            "'../b'",
            '["flask", 1]',
            "{file = 1}",
            '{file = "/etc"}',
            '["**/../x"]',
            "[\n",
            "]\n",
            "\n",
            "%(x)s",
        ),
        *("requires 'Plack';\n", "on test => sub {", "}\n", "PREREQ_PM => {", "'A::B' => 1,", "NAME => 'A::B'"),
        *('{"name": 3}', '{"prereqs": {"runtime": {"requires": []}}}', "[]", "null"),
        *(
            "FROM x\n",
            "COPY ",
            "COPY --from=y a b\n",
            "COPY . ../.. /a/\n",
            'COPY ["a", "b"]\n',
            "EXPOSE $P\n",
            "EXPOSE 99999\n",
        ),
        *("CMD x\n", "\\\n", "# syntax=x\n", "\x00", "é", "-r other.txt\n", "flask ; python_version < 'x'\n"),
    ]
)
TEXT = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map("".join))


@given(
    recipes=st.dictionaries(st.sampled_from(RECIPES), TEXT, min_size=1, max_size=4),
    prefix=st.sampled_from(["", "perf"]),
)
@example({"setup.py": "setup(name={[]: 1})"}, "")
@example({"pyproject.toml": 'project = "x"\n[build-system]\nrequires = "y"\n', "a.py": ""}, "")
@example(
    {"pyproject.toml": '[project]\nreadme = ""\nlicense-files = ["", ".", "..", "x/../module.py", "/etc"]\n'}, ""
)
@example({"Dockerfile": "FROM x\nCOPY . .\nEXPOSE 99999\nCMD x\n"}, "")
def test_a_suite_or_a_sentence(recipes: dict[str, str], prefix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "module.py").write_text("")
        for name, text in recipes.items():
            (top / name).write_text(text, encoding="utf-8", errors="replace")
        try:
            project = detect(top, prefix)
        except ConfigError as error:
            assert error.file in {str(top / name) for name in recipes}
            return
        files = suite_files(project, choose(project), Place(prefix))

    own = f"targets/{project.slug}"
    paths = {f"{prefix}/{path}" if prefix else path for path in files}
    where = f"{prefix}/{own}" if prefix else own
    target = parse_target(
        files[f"{own}/target.toml"], name=project.slug, folder=where, file="target.toml", exists=paths.__contains__
    )
    assert target.context == "/"
    compile(files["benchmarks/http.py"], "http.py", "exec")


@given(st.text())
def test_a_slug_is_a_name_for_anything(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(name))
