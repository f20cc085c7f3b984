#!/usr/bin/env python3
"""Trims GitHub's OpenAPI description to what the local GitHub of the tests answers.

    npm pack @octokit/openapi@23.0.2
    python tools/github_openapi.py PACKAGE.tgz            write tests/localhub/description.json.xz
    python tools/github_openapi.py PACKAGE.tgz --check    exit code 2 if it is not what would be written

Run by hand, when an operation is added to OPERATIONS below or a newer description is wanted; the tests need neither
npm nor a network. What is kept is as GitHub has it, but for prose, examples and extensions, which check nothing.
"""

from __future__ import annotations

import json
import lzma
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["FILE", "OPERATIONS", "packed", "read_package", "trimmed"]

FILE = Path(__file__).resolve().parent.parent / "tests" / "localhub" / "description.json.xz"

OPERATIONS = frozenset(
    {
        "actions/download-artifact",
        "actions/get-workflow-run",
        "actions/list-workflow-run-artifacts",
        "actions/list-workflow-runs-for-repo",
        "checks/create",
        "checks/list-for-ref",
        "checks/update",
        "issues/create-comment",
        "issues/delete-comment",
        "issues/list-comments",
        "issues/list-events",
        "issues/update-comment",
        "pulls/get",
        "pulls/list",
        "repos/compare-commits-with-basehead",
        "repos/get-collaborator-permission-level",
        "repos/list-pull-requests-associated-with-commit",
        "users/get-authenticated",
    }
)

_DESCRIPTION = "package/generated/api.github.com.json"
_METHODS = ("get", "post", "patch", "put", "delete")
_ALWAYS = ("#/components/schemas/basic-error",)
"""Kept though nothing may point to it: the form of an error that no operation describes."""

_PROSE = frozenset({"description", "summary", "title", "example", "examples", "externalDocs", "tags", "deprecated"})


def read_package(package: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description in npm's package, and where it is from."""
    with tarfile.open(package) as archive:
        about, whole = (_member(archive, name) for name in ("package/package.json", _DESCRIPTION))
    source = {
        "package": about["name"],
        "version": about["version"],
        "license": about["license"],
        "file": _DESCRIPTION.removeprefix("package/"),
    }
    return whole, source


def _member(archive: tarfile.TarFile, name: str) -> Any:
    file = archive.extractfile(name)
    assert file is not None
    return json.load(file)


def trimmed(whole: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """The operations that are asked for, and everything they point to. Raises SystemExit where one is missing."""
    paths = {path: kept for path, item in whole["paths"].items() if (kept := _operations(item))}
    found = {item[method]["operationId"] for item in paths.values() for method in item if method in _METHODS}
    if missing := OPERATIONS - found:
        raise SystemExit(f"not in this description: {', '.join(sorted(missing))}")
    components: dict[str, Any] = {}
    waiting = [*_ALWAYS, *_references(paths)]
    while waiting:
        reference = waiting.pop()
        _, _, kind, name = reference.split("/", 3)
        if name not in components.setdefault(kind, {}):
            components[kind][name] = _plain(whole["components"][kind][name])
            waiting += _references(components[kind][name])
    return {"openapi": whole["openapi"], "source": dict(source), "paths": paths, "components": components}


def _operations(item: Mapping[str, Any]) -> dict[str, Any]:
    """The methods of one path that are kept; {} for none."""
    kept = {
        method: _plain(operation)
        for method, operation in item.items()
        if method in _METHODS and operation["operationId"] in OPERATIONS
    }
    if not kept or "parameters" not in item:
        return kept
    return {**kept, "parameters": _plain(item["parameters"])}


def _plain(node: Any, *, names: bool = False) -> Any:
    """Without prose; `names`: the keys are names of properties, not words of OpenAPI."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _plain(value, names=not names and key in ("properties", "responses", "headers", "content"))
        for key, value in node.items()
        if names or not (key in _PROSE or key.startswith("x-"))
    }


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for one in node:
            yield from _references(one)
    elif isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from _references(value)


def packed(description: Mapping[str, Any]) -> bytes:
    """As it is kept: one line of JSON, keys in order, compressed."""
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    files = [one for one in arguments if not one.startswith("-")]
    if len(files) != 1 or set(arguments) - {*files, "--check"}:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    made = packed(trimmed(*read_package(Path(files[0]))))
    if not check:
        FILE.write_bytes(made)
        return 0
    if FILE.exists() and lzma.decompress(FILE.read_bytes()) == lzma.decompress(made):
        return 0
    sys.stderr.write(
        f"{FILE.name} is not what this package comes to; write it anew: tools/github_openapi.py PACKAGE\n"
    )
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
