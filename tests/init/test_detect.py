"""What `windtunnel init` makes of a repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sample_projects import (
    MAKEFILE_PL,
    OWN_DOCKERFILE,
    PROJECTS,
    Files,
    Make,
    commit,
    git,
    pyproject,
    suite_in,
    target_of,
)

from windtunnel.cli.detect import detect
from windtunnel.cli.init import next_steps
from windtunnel.cli.project import knowledge
from windtunnel.cli.stacks import choose
from windtunnel.declare.cases import discover


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


PERL_PROJECTS: dict[str, Files] = {
    "Mojolicious": {"script/mojo": "use Mojolicious::Commands;\n", "lib/Mojolicious.pm": ""},
    "Plack": {"lib/Plack/Handler/Apache1.pm": "", "lib/Plack/Middleware/AccessLog.pm": ""},
    "Starman": {"lib/Plack/Handler/Starman.pm": "", "lib/Starman.pm": ""},
}


@pytest.mark.parametrize(
    ("name", "server", "application"),
    [
        ("Mojolicious", "Mojolicious' own server", "mojo"),
        ("Plack", "Starlet", "middleware"),
        ("Starman", "Starman", "server"),
    ],
)
def test_frameworks_and_servers_of_perl_serve_themselves(
    make: Make, name: str, server: str, application: str
) -> None:
    stack = choose(detect(make({"Makefile.PL": MAKEFILE_PL.format(name=name, requires=""), **PERL_PROJECTS[name]})))

    assert (stack.server, Path(stack.app).stem) == (server, application)
    assert not {f"lib{name.lower()}-perl", name.lower()} & set(stack.packages)


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
