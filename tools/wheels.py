#!/usr/bin/env python3
"""Published releases, each as a small image that a Dockerfile takes its wheel from.

    python tools/wheels.py                      what the targets want and the engine lacks
    python tools/wheels.py gunicorn uvicorn     the same for some packages
    python tools/wheels.py gunicorn==23.0.0     this release, whether a target wants it or not

A target wants releases where its Dockerfile says "FROM localhost/wheels/PACKAGE:${VERSION}"; the values of its axis
`version` are which. pip downloads the wheels on this machine, with this machine's settings, proxies and certificates;
the build that installs them needs no network. Wheels are chosen for the Python of --python [default: 3.11].

Exit codes: 0 all of them are there; 2 usage; 6 some can't be had, each named with its reason.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Release", "main", "wanted"]

TARGETS = Path(__file__).resolve().parent.parent / "targets"

_FROM = re.compile(r"^FROM localhost/wheels/([a-z0-9][a-z0-9._-]*):\$\{VERSION\}", re.MULTILINE)
_RELEASE = re.compile(r"([a-z0-9][a-z0-9._-]*)(?:==([A-Za-z0-9][A-Za-z0-9._-]*))?")
_EPOCH = 315_619_200
"""When every file was changed: 2 January 1980. The same wheel then makes the same layer on every machine."""


@dataclass(frozen=True)
class Release:
    """One version of one package, and the image that holds its wheel."""

    package: str
    version: str

    @property
    def image(self) -> str:
        """Its name is below localhost: no registry elsewhere is ever asked for it."""
        return f"localhost/wheels/{self.package}:{self.version}"

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


class NotToBeHad(Exception):
    """Why there is no image of a release, in one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Get what is missing, and say what can't be had."""
    options = _options(arguments)
    failed = 0
    for release in options.releases:
        try:
            print(f"{release.image}: {_provide(release, options.python)}", flush=True)
        except NotToBeHad as reason:
            print(f"{release}: {reason}", file=sys.stderr, flush=True)
            failed = 6
    return failed


def wanted(targets: Path = TARGETS) -> Iterator[Release]:
    """The releases that the targets in a folder take wheels of."""
    for file in sorted(targets.glob("*/target.toml")):
        dockerfile = file.with_name("Dockerfile")
        package = _FROM.search(dockerfile.read_text("utf-8")) if dockerfile.exists() else None
        if package:
            axes = tomllib.loads(file.read_text("utf-8"))["axes"]
            yield from (Release(package[1], version) for version in axes["version"])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/wheels.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE[==VERSION]", help="by default all that targets want")
    parser.add_argument("--python", default="3.11", metavar="VERSION", help="the Python that they are to run on")
    options = parser.parse_args(arguments)
    options.releases = _chosen(options.packages, parser)
    return options


def _chosen(names: Sequence[str], parser: argparse.ArgumentParser) -> list[Release]:
    known = list(wanted())
    if not names:
        return known
    chosen = []
    for name in names:
        match = _RELEASE.fullmatch(name)
        if match is None:
            parser.error(f'"{name}" is not PACKAGE or PACKAGE==VERSION, in lower case')
        package, version = match.groups()
        found = [Release(package, version)] if version else [one for one in known if one.package == package]
        if not found:
            parser.error(f"no target wants {package}; wanted are {', '.join(sorted({one.package for one in known}))}")
        chosen += found
    return chosen


def _provide(release: Release, python: str) -> str:
    """See to it that the engine has the release's image. What was done."""
    if _docker("image", "inspect", release.image).returncode == 0:
        return "present"
    with tempfile.TemporaryDirectory() as folder:
        wheels = _download(release, python, Path(folder))
        _import(release, _archive(wheels))
        return f"made of {', '.join(wheel.name for wheel in wheels)}"


def _download(release: Release, python: str, folder: Path) -> list[Path]:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    choice = ["--no-deps", "--only-binary=:all:", f"--python-version={python}", f"--dest={folder}"]
    requirement = f"{release.package}=={release.version}"
    done = subprocess.run([*pip, *choice, requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise NotToBeHad(f"pip downloads no wheel for Python {python}: {(said or ['it does not say why'])[-1]}")
    return sorted(folder.iterdir())


def _archive(files: Sequence[Path]) -> bytes:
    """A tar archive of /wheels with these files. The same files make the same bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(_member("wheels", 0o755, tarfile.DIRTYPE))
        for file in files:
            content = file.read_bytes()
            member = _member(f"wheels/{file.name}", 0o644, tarfile.REGTYPE)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _member(name: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.type, member.mtime = mode, kind, _EPOCH
    return member


def _import(release: Release, archive: bytes) -> None:
    label = f"LABEL windtunnel.wheel={release.package}-{release.version}"
    done = _docker("import", "--change", label, "-", release.image, stdin=archive)
    if done.returncode:
        raise NotToBeHad(f"the container engine takes no image: {done.stderr.decode(errors='replace').strip()}")


def _docker(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["docker", *arguments], input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise NotToBeHad("there is no docker client on PATH; run tools/docker-engine first") from None


if __name__ == "__main__":
    sys.exit(main())
