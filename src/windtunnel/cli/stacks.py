"""From what a project is to what its image holds: server, application, Debian packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from windtunnel.cli.project import Entry, Project, knowledge

__all__ = ["Stack", "choose"]

_PORT = 8080
_COMPILER = ("gcc", "libc6-dev", "make")


@dataclass(frozen=True)
class Stack:
    """What serves the project in its image.

    Attributes:
        server: the server's name, for people.
        app: the application's template below `templates/`, or "" where the project's own files are started.
        app_file: what the application is called in the target's folder.
        command: the container's command.
        packages: Debian packages.
        others: what the project needs and Debian's packages, as far as they are known here, do not have.
        environment: settings in the image, NAME=VALUE.
        port: where it listens.
        workers: processes that hold one connection each, or None where they are not held.
        guess: what was taken for granted, and what to write instead where that is wrong; "" where all is known.
    """

    server: str
    app: str
    app_file: str
    command: tuple[str, ...]
    packages: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    port: int = _PORT
    workers: int | None = None
    guess: str = ""


def choose(project: Project) -> Stack:
    """The stack that fits `project`, or a plain guess that says of itself what to edit."""
    match project.language:
        case "python":
            return _Python(project).stack()
        case "perl":
            return _Perl(project).stack()
        case "docker":
            return _docker(project)
        case _:
            return _unknown()


def _docker(project: Project) -> Stack:
    guess = "" if project.port else f"the Dockerfile has no EXPOSE: port {_PORT} in target.toml is a guess"
    return Stack("its own Dockerfile", "", "", (), port=project.port or _PORT, guess=guess)


def _unknown() -> Stack:
    server = knowledge("python")["servers"]["waitress"]
    return Stack(
        server="waitress",
        app="python/placeholder.py",
        app_file="app.py",
        command=tuple(server["command"]),
        packages=("python3", server["package"]),
        guess="nothing was recognised here: the Dockerfile runs a placeholder; install and start your server there",
    )


# ---------------- Python


class _Python:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._known = knowledge("python")
        self._own = project.slug

    def stack(self) -> Stack:
        framework = self._first("frameworks")
        interface = self._interface(framework)
        server, known = self._server(interface)
        app, guess = self._app(framework, interface)
        packages, others = self._packages(framework, known)
        return Stack(
            server=server,
            app=f"python/{app}.py",
            app_file="app.py",
            command=tuple(known.get("command", ("python3", "app.py"))),
            packages=packages,
            others=others,
            environment=self._environment(),
            guess=guess,
        )

    def _first(self, kind: str, *interfaces: str) -> str | None:
        """The first server or framework that the project is, or else needs."""
        table: Mapping[str, Any] = self._known[kind]
        fits = [name for name, known in table.items() if not interfaces or known["interface"] in interfaces]
        if self._own in fits:
            return self._own
        return next((name for name in fits if name in self._project.requires), None)

    def _interface(self, framework: str | None) -> str:
        servers = self._known["servers"]
        if self._own in servers:
            return str(servers[self._own]["interface"])
        if framework:
            return str(self._known["frameworks"][framework]["interface"])
        server = self._first("servers")
        return str(servers[server]["interface"]) if server else "wsgi"

    def _server(self, interface: str) -> tuple[str, Mapping[str, Any]]:
        if interface == "own":
            return "its own server", {}
        server = self._first("servers", interface) or {"wsgi": "waitress", "asgi": "uvicorn"}[interface]
        return server, self._known["servers"][server]

    def _app(self, framework: str | None, interface: str) -> tuple[str, str]:
        """The application's template, and what is uncertain about it."""
        project = self._project
        if self._own in self._known["servers"]:
            return interface, ""
        if project.entry:
            what = f"{project.entry.module}:{project.entry.name}"
            return "entry", f"app.py serves {what} and the workload asks for /: give it what it needs to start"
        if framework:
            own = framework == self._own
            guess = "" if own else f"app.py is a small {framework} application: serve your own there"
            return str(self._known["frameworks"][framework]["app"]), guess
        return f"{interface}-library", "app.py only imports the project: call there what is to be measured"

    def _packages(self, framework: str | None, server: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        project = self._project
        dependencies, others = self._debian(project.requires)
        build, unknown = self._built_with()
        pip = ("python3-pip",) if project.installable or others or unknown else ()
        compiler = (*_COMPILER, "g++", "python3-dev") if project.compiled else ()
        wanted = [server, self._known["frameworks"][framework] if framework else {}]
        needed = [one["package"] for one in wanted if "package" in one]
        found = dict.fromkeys(("python3", *pip, *compiler, *build, *sorted({*needed, *dependencies})))
        found.pop(f"python3-{self._own}", None)  # what is measured comes from the commit
        return tuple(found), (*others, *unknown)

    def _built_with(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not self._project.installable:
            return (), ()
        table = self._known["build"]
        known = tuple(table[name] for name in self._project.build if name in table)
        return known, tuple(name for name in self._project.build if name not in table)

    def _debian(self, requires: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
        same, other = self._known["dependencies"]["same"], self._known["dependencies"]["other"]
        packages = {name: f"python3-{name}" for name in same} | other
        frameworks = {
            name: known["package"] for kind in ("servers", "frameworks") for name, known in self._known[kind].items()
        }
        packages |= frameworks
        known = [packages[name] for name in requires if name in packages]
        return known, tuple(text for name, text in requires.items() if name not in packages)

    def _environment(self) -> tuple[str, ...]:
        table = self._known["environment"]
        return tuple(dict.fromkeys(table[name] for name in self._project.build if name in table))


# ---------------- Perl


class _Perl:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._known = knowledge("perl")
        self._main = project.name.replace("-", "::")

    def stack(self) -> Stack:
        entry = self._project.entry
        framework = next((name for name in self._known["frameworks"] if self._needs(name)), None)
        if entry and self._main != framework:  # a framework's scripts are not what it serves
            return self._entry(entry)
        if framework == "Mojolicious":
            return replace(self._mojo("perl/mojo.pl", "app.pl"), guess=self._small(framework, "app.pl"))
        if framework:
            return self._plackup("perl/dancer2.psgi", "app.psgi", self._small(framework, "app.psgi"))
        return self._library()

    def _entry(self, entry: Entry) -> Stack:
        path, guess = f"/src/{entry.name}", "the workload asks for /: name the path that matters"
        return replace(self._mojo("", path) if entry.module == "script" else self._plackup("", path, ""), guess=guess)

    def _small(self, framework: str, file: str) -> str:
        return "" if self._main == framework else f"{file} is a small {framework} application: serve your own there"

    def _needs(self, module: str) -> bool:
        return module == self._main or module in self._project.requires

    def _library(self) -> Stack:
        """A server or a middleware of Plack tells what it is by its place; any other module is only loaded."""
        modules = self._project.modules
        if self._handler():
            return self._plackup("perl/server.psgi", "app.psgi", "")
        if any(module.startswith("Plack::Middleware::") for module in modules):
            guess = "app.psgi enables the middleware without options: add those that it needs"
            return self._plackup("perl/middleware.psgi", "app.psgi", guess)
        guess = "app.psgi only loads the project: call there what is to be measured"
        return self._plackup("perl/library.psgi", "app.psgi", guess)

    def _plackup(self, app: str, path: str, guess: str) -> Stack:
        server, known = self._server()
        options = known.get("options", ())
        command = ("plackup", "-E", "production", "-s", server, "--host", "0.0.0.0", "--port", str(_PORT))  # noqa: S104
        packages, others = self._packages(known.get("package", ""), "libplack-perl", "libhttp-parser-xs-perl")
        return Stack(
            server=server,
            app=app,
            app_file="app.psgi" if app else "",
            command=(*command, *options, "-a", path),
            packages=packages,
            others=others,
            workers=known.get("workers"),
            guess=guess,
        )

    def _handler(self) -> str | None:
        """What `plackup -s` calls the project, if it is a server. Plack itself has a handler for each of many."""
        prefix = "Plack::Handler::"
        own = [module.removeprefix(prefix) for module in self._project.modules if module.startswith(prefix)]
        return own[0] if own and self._main != "Plack" else None

    def _server(self) -> tuple[str, Mapping[str, Any]]:
        """The project's own, else one that it needs, else Starlet."""
        table: Mapping[str, Mapping[str, Any]] = self._known["servers"]
        own = self._handler()
        if own:
            return own, {key: value for key, value in table.get(own, {}).items() if key != "package"}
        server = next((name for name in table if name in self._project.requires), "Starlet")
        return server, table[server]

    def _mojo(self, app: str, path: str) -> Stack:
        packages, others = self._packages("" if self._main == "Mojolicious" else "libmojolicious-perl")
        return Stack(
            server="Mojolicious' own server",
            app=app,
            app_file="app.pl" if app else "",
            command=("perl", path, "daemon", "-m", "production", "-l", f"http://*:{_PORT}"),
            packages=packages,
            others=others,
        )

    def _packages(self, *needed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        project = self._project
        modules = [*project.requires, *(project.build if project.compiled else ())]
        known = {module: self._debian(module) for module in modules}
        others = tuple(
            module for module, package in known.items() if package is None and module not in project.modules
        )
        cpanm = ("cpanminus",) if others else ()
        compiler = _COMPILER if project.compiled or others else ()
        headers = ("libperl-dev",) if project.compiled else ()
        own = {self._debian(self._main), self._debian(self._main.replace("::", "-"))}
        found = dict.fromkeys(
            ("perl", *cpanm, *compiler, *headers, *sorted({*needed, *_texts(known.values())} - own - {""}))
        )
        return tuple(found), others

    def _debian(self, module: str) -> str | None:
        """The package of a module; "" for one that comes with perl, None for one that is not known."""
        table = self._known["modules"]
        if module in table["core"]:
            return ""
        if module in table["same"]:
            return f"lib{module.lower().replace('::', '-').replace('_', '-')}-perl"
        found: str | None = table["other"].get(module)
        return found


def _texts(values: Iterable[str | None]) -> set[str]:
    return {value for value in values if value}
