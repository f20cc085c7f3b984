"""`windtunnel init`: what it writes has to be a suite that measures the project it was written for."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from containers import Answer, ask, docker, running
from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.git import CommitTree
from windtunnel.build.context import DOCKERFILE, Context, select
from windtunnel.cli.detect import detect
from windtunnel.cli.init import initialise, next_steps
from windtunnel.cli.project import knowledge
from windtunnel.cli.render import example_files
from windtunnel.cli.stacks import choose
from windtunnel.declare.cases import discover
from windtunnel.declare.settings import Settings, SuiteSettings, parse_settings
from windtunnel.declare.suite import Suite, load_suite
from windtunnel.declare.targets import load_target, target_names
from windtunnel.errors import ConfigError
from windtunnel.model import LaunchPlan, Target
from windtunnel.ports import BuildRequest

Files = Mapping[str, str]

# to build an image takes a while; what is particular to these is in another image as well
COVERED = ("python framework user", "python scripts", "python setup.cfg", "perl middleware")

PYPROJECT = """\
[project]
name = "{name}"
version = "1.0"
readme = "README.md"
dependencies = {dependencies}

[build-system]
requires = ["{backend}"]
build-backend = "{hook}"
"""


def pyproject(name: str, *dependencies: str, backend: str = "setuptools", hook: str = "setuptools.build_meta") -> str:
    return PYPROJECT.format(name=name, dependencies=json.dumps(dependencies), backend=backend, hook=hook)


HATCHLING = {"backend": "hatchling", "hook": "hatchling.build"}
SETUP_PY = """\
from setuptools import Extension, find_packages, setup

setup(
    name="quick", version="1", packages=find_packages(), ext_modules=[Extension("quick._quick", ["quick/_quick.c"])]
)
"""
QUICK_C = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_quick", NULL, -1, NULL};
PyMODINIT_FUNC PyInit__quick(void) { return PyModule_Create(&module); }
"""
FLASK_APP = """\
from flask import Flask

app = Flask(__name__)


@app.get("/")
def home():
    return "hello"
"""
HANDLER_PM = """\
package Plack::Handler::Plain;
use strict;
use warnings;
use parent 'HTTP::Server::PSGI';
sub run { my ($self, $app) = @_; $self->SUPER::run($app) }
1;
"""
MIDDLEWARE_PM = """\
package Plack::Middleware::Stamp;
use strict;
use warnings;
use parent 'Plack::Middleware';
sub call { my ($self, $env) = @_; $self->app->($env) }
1;
"""
QUICK_XS = """\
#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"
MODULE = Quick  PACKAGE = Quick
int
one()
  CODE:
    RETVAL = 1;
  OUTPUT:
    RETVAL
"""
QUICK_PM = """\
package Quick;
use strict;
use warnings;
our $VERSION = '1.0';
require XSLoader;
XSLoader::load('Quick', $VERSION);
1;
"""
MAKEFILE_PL = (
    "use ExtUtils::MakeMaker;\nWriteMakefile(NAME => '{name}', VERSION => '1.0', PREREQ_PM => {{{requires}}});\n"
)
OWN_DOCKERFILE = """\
# syntax=docker/dockerfile:1
FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY serve.py \\
     ./www/ /srv/
EXPOSE 9000/tcp
CMD ["python3", "/srv/serve.py"]
"""
SERVE_PY = "from http.server import *\nHTTPServer(('', 9000), SimpleHTTPRequestHandler).serve_forever()\n"

README = {"README.md": "Hello\n", "LICENSE": "do as you like\n"}

PROJECTS: dict[str, Files] = {
    "python library": README
    | {"pyproject.toml": pyproject("plain"), "plain/__init__.py": "", "tests/__init__.py": ""},
    "python application": README
    | {"pyproject.toml": pyproject("Web.App", "flask>=2", **HATCHLING), "src/web_app/__init__.py": FLASK_APP},
    "python framework user": README
    | {"pyproject.toml": pyproject("plug", "starlette"), "plug/__init__.py": "", "plug/deep/__init__.py": ""},
    "python factory": README
    | {
        "pyproject.toml": pyproject("made", "Flask", "gunicorn", **HATCHLING),
        "made/__init__.py": "",
        "made/web.py": "def create_app(config=None):\n    from flask import Flask\n    app = Flask('made')\n"
        "    app.get('/')(lambda: 'made')\n    return app\n",
    },
    "python scripts": {"requirements.txt": "aiohttp>=3\n-r more.txt\n", "main.py": "", "README.md": "x"},
    "python extension": README | {"setup.py": SETUP_PY, "quick/__init__.py": "", "quick/_quick.c": QUICK_C},
    "python setup.cfg": README
    | {
        "setup.py": "from setuptools import setup\nsetup()\n",
        "setup.cfg": "[metadata]\nname = old\nversion = 1\n"
        "[options]\npackages = find:\ninstall_requires =\n  waitress\n",
        "old/__init__.py": "",
    },
    "perl server": README
    | {
        "Makefile.PL": MAKEFILE_PL.format(name="Plack::Handler::Plain", requires="'Plack' => 0, 'perl' => '5.10'"),
        "lib/Plack/Handler/Plain.pm": HANDLER_PM,
    },
    "perl middleware": README
    | {
        "cpanfile": "requires 'Plack', '1.0';\non 'test' => sub {\n    requires 'Test::Obscure';\n};\n",
        "lib/Plack/Middleware/Stamp.pm": MIDDLEWARE_PM,
    },
    "perl psgi": {"cpanfile": "requires 'Plack';\nrequires 'Starman';\n", "app.psgi": "sub { [200, [], ['x']] };\n"},
    "perl mojolicious": README
    | {"cpanfile": "requires 'Mojolicious';\n", "lib/Mine.pm": "package Mine;\nuse Mojo::Base -base;\n1;\n"},
    "perl extension": README
    | {
        "Makefile.PL": MAKEFILE_PL.format(name="Quick", requires=""),
        "lib/Quick.pm": QUICK_PM,
        "Quick.xs": QUICK_XS,
    },
    "docker": {
        "Dockerfile": OWN_DOCKERFILE,
        "serve.py": SERVE_PY,
        "www/index.html": "x",
        "pyproject.toml": "[tool.x]",
    },
    "unknown": {"main.zig": "pub fn main() void {}\n", "README.md": "x"},
}


def git(top: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", "-C", str(top), *identity, *arguments), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(top: Path, files: Files = {}) -> str:  # noqa: B006 - never changed
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "add", "-A")
    git(top, "commit", "--allow-empty", "-m", "a commit")
    return git(top, "rev-parse", "HEAD")


Make = Callable[[Files], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def repository(files: Files) -> Path:
        top = tmp_path / "project"
        top.mkdir()
        git(top, "init", "-b", "trunk")
        commit(top, files)
        return top

    return repository


def suite_in(top: Path, prefix: str = "") -> Suite:
    initialise(top / prefix, example=False, force=False)
    return load_suite(top / prefix / "asv.conf.json")


def target_of(suite: Suite, revision: str = "HEAD") -> Target:
    tree = CommitTree(suite.repository, git(suite.repository, "rev-parse", revision))
    (name,) = target_names(suite.targets_folder, tree)
    return load_target(name, folder=suite.targets_folder, project=tree, harness=tree)


def context_of(suite: Suite, revision: str) -> Context:
    """The build context of a commit, under the harness of the newest one: as `asv` and `compare` have it."""
    harness = CommitTree(suite.repository, git(suite.repository, "rev-parse", "HEAD"))
    return select(CommitTree(suite.repository, revision), harness, target_of(suite))


# ---------------- whatever the project is


@pytest.mark.parametrize("prefix", ["", "perf", "tools/perf"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_the_suite_is_one_that_windtunnel_takes(make: Make, kind: str, prefix: str) -> None:
    top = make(PROJECTS[kind])

    suite = suite_in(top, prefix)
    commit(top)

    assert suite.repository == top
    assert suite.branches == ("trunk",)
    assert suite.settings == Settings()
    target = target_of(suite)
    assert (target.context, target.harness) == ("/", "head")
    cases = discover(suite).cases
    assert {case.workload.keepalive for case in cases} == {True, False}
    assert {case.variant.target for case in cases} == {target.name}
    assert all(target.workers is None or case.workload.concurrency <= target.workers for case in cases)


@pytest.mark.parametrize("prefix", ["", "perf"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_everything_that_is_copied_reaches_the_build(make: Make, kind: str, prefix: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top, prefix)

    context = context_of(suite, commit(top))

    paths = {file.path for file in (*context.files, *context.build_only)}
    for word in copied(context.dockerfile):
        assert word == "." or any(fits(path, word) for path in paths), f"COPY {word}: {sorted(paths)}"


def copied(dockerfile: str) -> Iterator[str]:
    for line in re.sub(r"\\\n", " ", dockerfile).splitlines():
        if line.startswith("COPY "):
            words = line.split()[1:-1]
            # a file of packaging's may come and go with the commits
            yield from (word for word in words if "*" not in word)


def fits(path: str, word: str) -> bool:
    folder = word.removeprefix("./").rstrip("/")
    return fnmatchcase(path, folder) or path.startswith(f"{folder}/")


@pytest.mark.parametrize("prefix", ["", "perf"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_each_source_is_measured_and_no_paper_is(make: Make, kind: str, prefix: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top, prefix)
    before = context_of(suite, commit(top))
    papers = {name for name in PROJECTS[kind] if name in ("README.md", "LICENSE") or name.startswith("tests/")}
    measured = set(PROJECTS[kind]) - papers - {"Dockerfile"} - ({"pyproject.toml"} if kind == "docker" else set())

    assert not papers & {file.path for file in before.files}
    for name in measured:
        after = context_of(suite, commit(top, {name: f"{PROJECTS[kind][name]}\n"}))
        assert after.files != before.files, name
        commit(top, {name: PROJECTS[kind][name]})


@pytest.mark.parametrize("kind", PROJECTS)
def test_the_suite_itself_is_not_what_is_measured(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top)
    before = context_of(suite, commit(top))

    changed = {
        "benchmarks/http.py": "# other\n",
        "windtunnel.toml": "# other\n",
        "targets/other/Dockerfile": "FROM x\n",
    }
    after = context_of(suite, commit(top, changed))

    assert after.files == before.files


@pytest.mark.parametrize("kind", PROJECTS)
def test_no_field_of_a_template_is_left(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])

    for path in initialise(top, example=False, force=False):
        text = path.read_text()
        assert not re.search(r"\{\{\w*\}\}", text), path
        assert not re.search(r"[ \t]$", text, re.MULTILINE), path
        if path.suffix == ".py":
            ast.parse(text)


@pytest.mark.parametrize("kind", PROJECTS)
def test_a_second_look_at_a_repository_with_a_suite_finds_the_same(make: Make, kind: str) -> None:
    top = make(PROJECTS[kind])
    first = detect(top)

    initialise(top, example=False, force=False)

    assert detect(top) == first


# ---------------- what is recognised


@pytest.mark.parametrize(
    ("kind", "server", "application"),
    [
        ("python library", "waitress", "wsgi-library"),
        ("python application", "waitress", "entry"),
        ("python framework user", "uvicorn", "starlette"),
        ("python factory", "gunicorn", "entry"),
        ("python scripts", "its own server", "aiohttp"),
        ("python setup.cfg", "waitress", "wsgi-library"),
        ("perl server", "Plain", "server"),
        ("perl middleware", "Starlet", "middleware"),
        ("perl psgi", "Starman", ""),
        ("perl mojolicious", "Mojolicious' own server", "mojo"),
        ("docker", "its own Dockerfile", ""),
        ("unknown", "waitress", "placeholder"),
    ],
)
def test_server_and_application_fit_the_project(make: Make, kind: str, server: str, application: str) -> None:
    stack = choose(detect(make(PROJECTS[kind])))

    assert stack.server == server
    assert Path(stack.app).stem == application


@pytest.mark.parametrize("name", [*knowledge("python")["servers"], *knowledge("python")["frameworks"]])
def test_a_project_that_is_a_server_or_framework_comes_from_the_commit_alone(make: Make, name: str) -> None:
    top = make({"pyproject.toml": pyproject(name, "jinja2"), f"{name}/__init__.py": ""})

    stack = choose(detect(top))

    known = knowledge("python")
    kind = "servers" if name in known["servers"] else "frameworks"
    assert known[kind][name]["package"] not in stack.packages
    assert "python3-jinja2" in stack.packages
    assert not stack.guess


def test_dependencies_become_packages_and_the_rest_is_said(make: Make) -> None:
    dependencies = (
        "PyYAML",
        "zope.interface>=5",
        "pywin32; sys_platform == 'win32'",
        "not-in-debian[x]<2; python_version > '3'",
    )
    top = make({"pyproject.toml": pyproject("needy", *dependencies), "needy.py": ""})

    stack = choose(detect(top))
    suite = suite_in(top)

    assert {"python3-yaml", "python3-zope.interface"} <= set(stack.packages)
    assert stack.others == ("not-in-debian[x]<2",)
    assert 'pip install "not-in-debian[x]<2"' in (top / "targets/needy/Dockerfile").read_text()
    assert "not-in-debian" in next_steps(suite.root, example=False)


def test_a_version_that_comes_from_git_is_given(make: Make) -> None:
    text = pyproject("tagged", backend="hatchling", hook="hatchling.build").replace(
        '"hatchling"]', '"hatchling", "hatch-vcs"]'
    )
    top = make({"pyproject.toml": text, "tagged/__init__.py": ""})

    suite_in(top)

    assert "SETUPTOOLS_SCM_PRETEND_VERSION=" in (top / "targets/tagged/Dockerfile").read_text()


@pytest.mark.parametrize(
    ("pyproject_more", "warned"),
    [("", True), ('[tool.setuptools]\npackages = ["flat"]\n', False)],
)
def test_setuptools_is_told_of_where_it_would_stop(make: Make, pyproject_more: str, warned: bool) -> None:
    top = make({"pyproject.toml": pyproject("flat") + pyproject_more, "flat/__init__.py": ""})
    suite = suite_in(top)

    assert ("setuptools looks for packages by itself" in next_steps(suite.root, example=False)) is warned


def test_a_dockerfile_that_does_not_serve_gives_way_to_the_language(make: Make) -> None:
    files = {
        "Dockerfile": "FROM debian\nCOPY . /src\nRUN make test\n",
        "pyproject.toml": pyproject("lib"),
        "lib.py": "",
    }

    assert detect(make(files)).language == "python"


def test_directives_of_a_dockerfile_stay_in_front(make: Make) -> None:
    suite = suite_in(make(PROJECTS["docker"]))

    text = (suite.root / "targets/project/Dockerfile").read_text()
    assert text.startswith("# syntax=docker/dockerfile:1\n# The repository's Dockerfile")
    assert text.endswith(OWN_DOCKERFILE.partition("\n")[2])


@pytest.mark.parametrize("name", ['"quoted" \\ name', "Ünï", "-", "Workload", "3d", "a" * 80])
def test_any_name_makes_a_suite(make: Make, name: str) -> None:
    top = make({"setup.py": f"from setuptools import setup\nsetup(name={name!r})\n", "thing.py": ""})

    suite = suite_in(top)
    commit(top)

    assert len(discover(suite).cases) == 2
    assert target_of(suite).port == 8080


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("git@github.com:owner/name.git", "https://github.com/owner/name/commit/"),
        ("https://github.com/owner/name", "https://github.com/owner/name/commit/"),
        ("../elsewhere", None),
    ],
)
def test_commits_are_linked_where_the_remote_is_known(make: Make, url: str, expected: str | None) -> None:
    top = make(PROJECTS["unknown"])
    git(top, "remote", "add", "origin", url)

    suite_in(top)

    found = re.search(r'"show_commit_url": "(.*)"', (top / "asv.conf.json").read_text())
    assert (found and found[1]) == expected


def test_the_remotes_main_branch_is_the_one_asv_looks_at(make: Make) -> None:
    top = make(PROJECTS["unknown"])
    git(top, "update-ref", "refs/remotes/origin/develop", "HEAD")
    git(top, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")

    assert suite_in(top).branches == ("develop",)


# ---------------- what is in the way


def test_nothing_is_overwritten_and_nothing_is_left_half_done(make: Make) -> None:
    top = make(PROJECTS["unknown"] | {"asv.conf.json": "mine", "benchmarks/http.py": "mine too"})

    with pytest.raises(ConfigError) as caught:
        initialise(top, example=False, force=False)

    assert caught.value.file == str(top / "asv.conf.json")
    assert "benchmarks/http.py" in str(caught.value)
    assert "--force" in str(caught.value)
    assert (top / "asv.conf.json").read_text() == "mine"
    assert not git(top, "status", "--short")


def test_force_overwrites_all_but_the_gitignore(make: Make) -> None:
    top = make(PROJECTS["unknown"] | {"asv.conf.json": "mine", ".gitignore": "mine\n"})

    written = initialise(top, example=False, force=True)

    assert load_suite(top / "asv.conf.json").branches == ("trunk",)
    assert (top / ".gitignore").read_text() == "mine\n"
    assert top / ".gitignore" not in written
    assert "Add .asv/" in next_steps(top, example=False)


def test_a_link_that_leads_nowhere_is_in_the_way_too(make: Make) -> None:
    top = make(PROJECTS["unknown"])
    (top / "asv.conf.json").symlink_to(top.parent / "elsewhere")

    with pytest.raises(ConfigError):
        initialise(top, example=False, force=False)

    assert not (top.parent / "elsewhere").exists()


def test_a_file_where_the_folder_should_be(make: Make) -> None:
    with pytest.raises(ConfigError, match="name a folder"):
        initialise(make(PROJECTS["unknown"]) / "main.zig", example=False, force=False)


def test_without_a_repository_there_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="git init"):
        initialise(tmp_path, example=False, force=False)

    assert not list(tmp_path.iterdir())


def test_a_recipe_that_is_no_toml_is_named(make: Make) -> None:
    with pytest.raises(ConfigError, match=r"pyproject\.toml: not valid TOML.*line 1"):
        initialise(make({"pyproject.toml": "[project\n"}), example=False, force=False)


# ---------------- settings


def test_the_settings_file_shows_every_default(make: Make) -> None:
    text = (suite_in(make(PROJECTS["unknown"])).root / "windtunnel.toml").read_text()
    shown = "\n".join(re.sub(r"^# (?=[a-z_]+ = |\[)", "", line) for line in text.splitlines())

    settings = parse_settings(shown)

    keys = tomllib.loads(shown)
    assert set(keys) == set(Settings.__dataclass_fields__) - {"launches"}
    assert set(keys["launch"]) == {"launches", *LaunchPlan.__dataclass_fields__}
    assert set(keys["suites"]["quick"]) == set(SuiteSettings.__dataclass_fields__)
    # these three have no default to show
    for name in set(Settings.__dataclass_fields__) - {"budget", "registry", "suites"}:
        assert getattr(settings, name) == getattr(Settings(), name), name


# ---------------- the sample project


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    folder = tmp_path / "sample"
    initialise(folder, example=True, force=False)
    git(folder, "init", "-b", "main")
    commit(folder)
    return folder


def test_the_sample_is_a_suite_of_two_cases(sample: Path) -> None:
    suite = load_suite(sample / "asv.conf.json")

    assert len(discover(suite).cases) == 2
    assert suite.branches == ("main",)
    assert target_of(suite).sources == ("/hello/**",)


def test_the_sample_measures_its_application(sample: Path) -> None:
    suite = load_suite(sample / "asv.conf.json")
    before = context_of(suite, git(sample, "rev-parse", "HEAD"))

    application = (sample / "hello/app.py").read_text()
    after = context_of(suite, commit(sample, {"hello/app.py": application + "# slower\n"}))

    assert after.files != before.files


def test_the_sample_does_not_overwrite_either(sample: Path) -> None:
    with pytest.raises(ConfigError, match="is there already"):
        initialise(sample, example=True, force=False)


def test_the_steps_after_the_sample_are_commands_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "T")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "t@example.org")
    initialise(Path("sample"), example=True, force=False)
    first = next(line for line in next_steps(Path("sample"), example=True).splitlines() if "git init" in line)

    subprocess.run(("sh", "-e", "-c", first), check=True, capture_output=True)

    assert git(tmp_path / "sample", "status", "--short") == ""
    assert set(git(tmp_path / "sample", "ls-files").splitlines()) == set(example_files())


# ---------------- in the tunnel


@pytest.fixture
def built() -> Iterator[Callable[[Context], str]]:
    """Builds images, as windtunnel does, and removes their tags at the end."""
    engine = DockerEngine()
    tags: list[str] = []

    def build(context: Context) -> str:
        tags.append(f"windtunnel-test-init:{len(tags)}")
        engine.build(
            BuildRequest(tags[-1], context.tar(), DOCKERFILE, {}, {"windtunnel.test": "init"}), lambda line: None
        )
        return tags[-1]

    yield build
    for tag in tags:
        engine.remove_image(tag)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in PROJECTS if kind not in ("docker", *COVERED)])
def test_the_image_builds_and_serves(make: Make, built: Callable[[Context], str], kind: str) -> None:
    top = make(PROJECTS[kind])
    suite = suite_in(top, "perf")
    context = context_of(suite, commit(top))
    target = target_of(suite)

    with running(built(context)) as container:
        answer = ask(container, target.port, target.ready.path)

        assert answer.status == target.ready.status
        assert answer.length > 0


@pytest.mark.engine
@pytest.mark.slow
def test_its_own_dockerfile_builds_and_serves_as_it_is(make: Make, built: Callable[[Context], str]) -> None:
    plain = OWN_DOCKERFILE.replace("# syntax=docker/dockerfile:1\n", "")  # a frontend would have to be pulled
    suite = suite_in(make(PROJECTS["docker"] | {"Dockerfile": plain}))

    with running(built(context_of(suite, commit(suite.root)))) as container:
        assert ask(container, 9000).status == 200


@pytest.mark.engine
@pytest.mark.slow
def test_what_is_installed_is_the_commits_own(make: Make, built: Callable[[Context], str]) -> None:
    """Debian has a Flask of its own, and the dependencies of this project pull it in."""
    top = make({"pyproject.toml": pyproject("flask", "werkzeug"), "flask/__init__.py": "class Flask: mine = 1\n"})
    suite = suite_in(top)
    more = {
        "targets/flask/Dockerfile": (top / "targets/flask/Dockerfile")
        .read_text()
        .replace("python3-werk", "python3-flask python3-werk")
    }
    image = built(context_of(suite, commit(top, more)))

    with running(image, "sleep", "60") as container:
        assert docker("exec", container, "python3", "-c", "import flask; print(flask.Flask.mine)") == "1"


@pytest.fixture(scope="module")
def frameworks() -> Iterator[str]:
    """One image with every server and framework that is known."""
    known = knowledge("python")
    packages = " ".join(one["package"] for kind in ("servers", "frameworks") for one in known[kind].values())
    image = "windtunnel-test-frameworks"
    install = f"RUN apt-get update && apt-get install -y --no-install-recommends {packages}"
    docker(
        "build",
        "--quiet",
        "--tag",
        image,
        "-",
        stdin=f"FROM debian:trixie-slim\n{install}\nRUN mkdir /app\nWORKDIR /app\n",
    )
    yield image
    docker("rmi", image)


def serving(make: Make, name: str) -> tuple[str, tuple[str, ...]]:
    """The application and the command for a project that is `name`."""
    top = make({"pyproject.toml": pyproject(name), f"{name}/__init__.py": ""})
    stack = choose(detect(top))
    initialise(top, example=False, force=False)
    return (top / "targets" / name / "app.py").read_text(), stack.command


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("name", [*knowledge("python")["servers"], *knowledge("python")["frameworks"]])
def test_every_server_and_framework_answers(make: Make, frameworks: str, name: str) -> None:
    application, command = serving(make, name)

    with running(
        frameworks, "sh", "-c", f"cat > app.py <<'END'\n{application}\nEND\nexec {' '.join(command)}"
    ) as container:
        answer = ask(container, 8080)

    assert answer.status == 200
    assert answer == Answer(200, 128) or name in knowledge("python")["frameworks"]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "perl"])
def test_every_package_that_is_named_is_in_debian(language: str) -> None:
    packages = sorted(_packages(knowledge(language)))
    simulate = "apt-get update -qq && apt-get install --simulate --no-install-recommends -qq"

    docker("run", "--rm", "debian:trixie-slim", "sh", "-c", f"{simulate} {' '.join(packages)} > /dev/null")


def _packages(known: Mapping[str, object]) -> Iterator[str]:
    """Every Debian package in a table of `knowledge`."""
    for key, value in known.items():
        if key in ("package",) or (isinstance(value, str) and key not in ("interface", "app") and "=" not in value):
            yield str(value)
        elif key == "same":
            assert isinstance(value, list)
            yield from (_same(name) for name in value)
        elif isinstance(value, dict):
            yield from _packages(value)


def _same(name: str) -> str:
    if name == name.lower() and "::" not in name and name not in ("namespace::clean",):
        return f"python3-{name}"
    return f"lib{re.sub('::|_', '-', name).lower()}-perl"
