"""Small projects of every kind that `windtunnel init` knows, and their repositories."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from windtunnel.adapters.git import CommitTree
from windtunnel.build.context import Context, select
from windtunnel.cli.init import initialise
from windtunnel.declare.suite import Suite, load_suite
from windtunnel.declare.targets import load_target, target_names
from windtunnel.model import Target

Files = Mapping[str, str]


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
        "setup.py": "from setuptools import setup\nopen('requirements.txt').read()\nsetup()\n",
        "requirements.txt": "waitress\n",
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
"""The fixture `make`: a repository with one commit of these files."""


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
