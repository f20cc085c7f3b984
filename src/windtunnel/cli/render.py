"""The files of a suite, from what the project is and what serves it. Pure but for reading the templates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from windtunnel.cli.project import Project, read
from windtunnel.cli.stacks import Stack

__all__ = ["Place", "example_files", "filled", "suite_files"]

_FIELD = re.compile(r"\{\{(\w+)\}\}")
_DIRECTIVE = re.compile(r"(?:#\s*(?:syntax|escape|check)\s*=.*\n)*", re.IGNORECASE)
_SUFFIX = ".tmpl"
_NAMES_IN_HTTP_PY = {"Expect", "Httpbenchmark", "Workload"}
_AXES = {"python": ("python", "3.11", "3.13"), "perl": ("perl", "5.36", "5.40")}
_NOT_FELT = ("docs", "doc", "tests", "test", "t", "xt", "examples")
_WORKFLOWS = ".github"


@dataclass(frozen=True)
class Place:
    """Where a suite goes.

    Attributes:
        prefix: POSIX path of the suite's folder below the repository's top, "" for the top itself.
        branch: the repository's main branch.
        commit_url: what asv's pages put before a commit's hash, or "".
    """

    prefix: str = ""
    branch: str = "main"
    commit_url: str = ""

    def inside(self, path: str) -> str:
        """`path` of the suite, relative to the repository's top."""
        return f"{self.prefix}/{path}" if self.prefix else path

    @property
    def repository(self) -> str:
        """The repository's top as seen from the suite."""
        return "/".join(".." for _ in self.prefix.split("/")) if self.prefix else "."


def suite_files(project: Project, stack: Stack, place: Place) -> dict[str, str]:
    """Path below the suite's folder -> text."""
    values = _values(project, stack, place)
    folder = f"targets/{project.slug}"
    files = {
        "asv.conf.json": filled("suite/asv.conf.json", values),
        "windtunnel.toml": filled("suite/windtunnel.toml", values),
        "benchmarks/__init__.py": "",
        "benchmarks/http.py": filled("suite/http.py", values),
        f"{folder}/target.toml": filled("suite/target.toml", values),
        f"{folder}/Dockerfile": _dockerfile(project, values),
    }
    if stack.app:
        files[f"{folder}/{stack.app_file}"] = filled(stack.app, values)
    return files


def example_files() -> dict[str, str]:
    """The sample project: path below its folder -> text."""
    root = _templates() / "example"
    files = {path: _tidy(text) for path, text in _below(root)}
    place = {"name": "hello", "repository": ".", "branch": "main", "commit_url": ""}
    for name in ("asv.conf.json", "windtunnel.toml"):
        files[name] = filled(f"suite/{name}", _quoted_names(place))
    files[".gitignore"] = filled("suite/gitignore", {})
    return dict(sorted(files.items()))


def _below(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), entry.read_text("utf-8")


# ---------------- templates


def _templates() -> Traversable:
    return resources.files("windtunnel.cli") / "templates"


def filled(name: str, values: Mapping[str, str]) -> str:
    """A template with ``{{field}}`` replaced; KeyError for a field that has no value is a mistake of ours."""
    text = (_templates() / f"{name}{_SUFFIX}").read_text("utf-8")
    return _tidy(_FIELD.sub(lambda match: values[match[1]], text))


def _tidy(text: str) -> str:
    """No blanks at the ends of lines, never two empty lines where a field was empty, one newline at the end."""
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n{4,}", "\n\n\n", text)
    return f"{text.strip(chr(10))}\n" if text.strip() else ""


def _quoted_names(values: Mapping[str, str]) -> dict[str, str]:
    """The inside of a JSON string, which is that of a TOML one as well."""
    return {key: json.dumps(value, ensure_ascii=False)[1:-1] for key, value in values.items()}


# ---------------- the values


def _values(project: Project, stack: Stack, place: Place) -> dict[str, str]:
    name = re.sub(r"[^\w .@+-]", "", project.name) or project.slug
    return {
        **_quoted_names({"branch": place.branch, "repository": place.repository}),
        "name": name,
        "slug": project.slug,
        "class": _class_name(project.slug),
        "server": stack.server,
        "description": f"{name}, served by {stack.server}",
        "commit_url": f'\n    "show_commit_url": {json.dumps(place.commit_url)},' if place.commit_url else "",
        "port": str(stack.port),
        "workers": _workers(stack.workers),
        "axes": _axes(project.language),
        "sources": "\n".join(f"    {json.dumps(one)}," for one in _sources(project, place)),
        "build_only": _build_only(project),
        "edit": " edit: serve your own application instead." if stack.guess else "",
        "folder": place.inside(f"targets/{project.slug}"),
        "app_file": stack.app_file,
        "packages": " \\\n".join(f"      {package}" for package in stack.packages),
        "command": json.dumps(stack.command),
        **_language_values(project, stack, place),
    }


def _class_name(slug: str) -> str:
    name = "".join(word.capitalize() for word in slug.split("-"))
    return name if name[0].isalpha() and name not in _NAMES_IN_HTTP_PY else f"Server{name}"


def _workers(workers: int | None) -> str:
    if workers is None:
        return ""
    return f"workers = {workers}                            # as in the command; each holds one connection\n"


def _axes(language: str) -> str:
    if language not in _AXES:
        return ""
    axis, old, new = _AXES[language]
    return "\n" + filled("suite/axes", {"axis": axis, "old": old, "new": new})


def _sources(project: Project, place: Place) -> list[str]:
    """Patterns of the measured files. Who names everything does not mean the suite, save the target's own folder."""
    if "**" not in project.sources:
        return [_anchored(pattern) for pattern in project.sources]
    suite = [place.inside(path) for path in ("benchmarks/", "targets/", "asv.conf.json", "windtunnel.toml")]
    own = place.inside(f"targets/{project.slug}/**")
    return ["**", *(f"!/{path}" for path in suite), f"/{own}"]


def _anchored(pattern: str) -> str:
    return pattern if pattern.startswith(("/", "!")) else f"/{pattern}"


def _build_only(project: Project) -> str:
    folders: list[str] = []
    if "**" in project.sources:  # workflows may come later, and a change of them is no change of what is served
        folders = [*(name for name in _NOT_FELT if (project.top / name).is_dir()), _WORKFLOWS]
    patterns = [_anchored(one) for one in (*project.build_only, *(f"{name}/**" for name in folders))]
    return f"build_only = {json.dumps(patterns)}\n" if patterns else ""


def _language_values(project: Project, stack: Stack, place: Place) -> dict[str, str]:
    if project.language == "python":
        return _python_values(project, stack, place)
    return _perl_values(project, stack, place) if project.language == "perl" else {}


# ---------------- the Dockerfile


def _dockerfile(project: Project, values: Mapping[str, str]) -> str:
    if project.language == "docker":
        # directives for the builder count in the first lines only
        text = read(project.top / project.found)
        head = _DIRECTIVE.match(text)
        start = head.end() if head else 0
        return f"{text[:start]}{filled('docker/note', {})}{text[start:]}"
    return filled(f"{_FOLDERS.get(project.language, 'unknown')}/Dockerfile", values)


_FOLDERS: Mapping[str, str] = {"python": "python", "perl": "perl"}


def _copies(project: Project, place: Place) -> str:
    """COPY instructions for the sources. Wildcards where an older commit may lack the file."""
    if "**" in project.sources:
        own = place.inside("targets")
        return f"COPY . /src/\nRUN rm -rf /src/{own}"
    names = [one for one in project.sources if not one.endswith("/**")]
    folders = [one.removesuffix("/**") for one in project.sources if one.endswith("/**")]
    needed = project.build_only if project.installable else ()
    flat = [f"{one.partition('.')[0]}*" for one in needed if "/" not in one]
    deep = [one for one in needed if "/" in one]
    lines = [f"COPY {' '.join(dict.fromkeys((*names, *flat)))} /src/"] if names else []
    lines += [f"COPY {one} /src/{one.rpartition('/')[0]}/" for one in deep]
    lines += [f"COPY {one}/ /src/{one}/" for one in folders]
    return "\n".join(lines)


_UNKNOWN_NEEDS = """
# Not among the Debian packages that `windtunnel init` knows. Where builds have no network, put a Debian package into
# the list above instead, or {files} into {folder}/ and install from there.
RUN {command}
"""


def _others(others: Iterable[str], command: str, files: str, place: Place, project: Project) -> str:
    wanted = " ".join(json.dumps(one) for one in others)
    if not wanted:
        return ""
    folder = place.inside(f"targets/{project.slug}")
    return _UNKNOWN_NEEDS.format(files=files, folder=folder, command=f"{command} {wanted}")


def _python_values(project: Project, stack: Stack, place: Place) -> dict[str, str]:
    environment = ["PYTHONDONTWRITEBYTECODE=1"] if not project.installable else []
    pip = ["PIP_BREAK_SYSTEM_PACKAGES=1", "PIP_ROOT_USER_ACTION=ignore", "PIP_DISABLE_PIP_VERSION_CHECK=1"]
    settings = [*(pip if "python3-pip" in stack.packages else environment), *stack.environment]
    install = "RUN python3 -m pip install --no-deps --no-build-isolation --ignore-installed /src"
    return {
        "environment": " \\\n    ".join(settings),
        "others": _others(stack.others, "python3 -m pip install", "wheels", place, project),
        "copies": _copies(project, place),
        "install": install if project.installable else "ENV PYTHONPATH=/src",
        "imports": _imports(project, "import {}", "# edit: import {}"),
        "uses": _uses(
            project, stack, "\n\nimport {}  # noqa: F401 - so that it is in the application at all; make use of it"
        ),
        "entry": _python_entry(project),
    }


def _imports(project: Project, form: str, absent: str) -> str:
    return form.format(project.modules[0]) if project.modules else absent.format("the project here")


def _uses(project: Project, stack: Stack, form: str) -> str:
    """The import of a project that is not itself the framework of its sample application."""
    return form.format(project.modules[0]) if stack.guess and project.modules else ""


def _python_entry(project: Project) -> str:
    entry = project.entry
    if entry is None:
        return ""
    if entry.factory:
        return f"from {entry.module} import {entry.name}\n\napplication = {entry.name}()"
    renamed = "" if entry.name == "application" else " as application"
    return f"from {entry.module} import {entry.name}{renamed}"


def _perl_values(project: Project, stack: Stack, place: Place) -> dict[str, str]:
    copy_app = f"COPY {place.inside(f'targets/{project.slug}')}/{stack.app_file} /app/\nWORKDIR /app\n"
    return {
        "others": _others(stack.others, "cpanm --notest", "archives", place, project),
        "copies": _copies(project, place),
        "install": _perl_install(project),
        "copy_app": copy_app if stack.app_file else "WORKDIR /src\n",
        "imports": _imports(project, "use {};", "# edit: use {}"),
        "uses": _uses(project, stack, "\nuse {};    # so that it is in the application at all; make use of it"),
        "enable": "\n".join(_middleware(project)),
    }


def _perl_install(project: Project) -> str:
    if not project.installable:
        return "ENV PERL5LIB=/src/lib"
    if (project.top / "Makefile.PL").is_file():
        return "RUN cd /src && perl Makefile.PL && make && make install"
    return "RUN cd /src && perl Build.PL && ./Build && ./Build install"


def _middleware(project: Project) -> list[str]:
    prefix = "Plack::Middleware::"
    found = [module.removeprefix(prefix) for module in project.modules if module.startswith(prefix)]
    return [f"    enable '{module}';" for module in found[:1]]
