"""Trimming GitHub's description, and what is made of OpenAPI: on small ones that were written for it."""

from __future__ import annotations

import copy
import importlib.util
import io
import json
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from localhub.description import FILE, Description, Misfit

TOOL = Path(__file__).resolve().parent.parent.parent / "tools" / "github_openapi.py"


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("github_openapi", TOOL)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def answer(schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "Response", "content": {"application/json": {"schema": schema}}}}


def whole() -> dict[str, Any]:
    """A description that has every operation that is asked for, and more than that."""
    paths: dict[str, Any] = {
        f"/{name}": {"get": {"operationId": name, "summary": "prose", "tags": ["x"], "x-github": {}, "responses": {}}}
        for name in tool().OPERATIONS
    }
    thing = {
        "type": "object",
        "title": "Thing",
        "description": "prose",
        "required": ["title", "description"],
        "properties": {
            "title": {"type": "string", "example": "x"},
            "description": {"type": "string", "nullable": True},
            "x-odd": {"type": "string"},
            "part": {"$ref": "#/components/schemas/part"},
        },
    }
    paths["/pulls/get"]["get"]["responses"] = answer({"$ref": "#/components/schemas/thing"})
    paths["/unwanted"] = {
        "get": {"operationId": "unwanted", "responses": answer({"$ref": "#/components/schemas/unused"})}
    }
    schemas = {"thing": thing, "part": {"type": "integer"}, "unused": {}, "basic-error": {"type": "object"}}
    return {"openapi": "3.0.3", "paths": paths, "components": {"schemas": schemas}}


SOURCE = {"name": "@octokit/openapi", "version": "1.2.3", "license": "MIT"}


def package(path: Path, description: dict[str, Any]) -> Path:
    members = {"package/package.json": SOURCE, "package/generated/api.github.com.json": description}
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            data = json.dumps(content).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def test_only_what_is_asked_for_is_kept() -> None:
    kept = tool().trimmed(whole(), {})
    assert "/unwanted" not in kept["paths"]
    assert set(kept["components"]["schemas"]) == {"thing", "part", "basic-error"}


def test_prose_goes_and_properties_of_that_name_stay() -> None:
    thing = tool().trimmed(whole(), {})["components"]["schemas"]["thing"]
    assert set(thing) == {"type", "required", "properties"}
    assert set(thing["properties"]) == {"title", "description", "x-odd", "part"}
    assert thing["properties"]["title"] == {"type": "string"}


def test_an_operation_that_is_not_there_is_named() -> None:
    less = whole()
    del less["paths"]["/pulls/get"]
    with pytest.raises(SystemExit, match="pulls/get"):
        tool().trimmed(less, {})


def test_a_package_is_read_and_the_result_says_where_from(tmp_path: Path) -> None:
    made = tool().trimmed(*tool().read_package(package(tmp_path / "p.tgz", whole())))
    assert made["source"]["version"] == "1.2.3"
    assert json.loads(lzma.decompress(tool().packed(made))) == made


def test_check_sees_another_description(tmp_path: Path) -> None:
    before = FILE.read_bytes()
    other = package(tmp_path / "p.tgz", whole())
    done = subprocess.run([sys.executable, TOOL, other, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "not what this package comes to" in done.stderr
    assert FILE.read_bytes() == before


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "--chek"]], ids=str)
def test_a_wrong_call_shows_how(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "npm pack" in done.stderr


def test_what_is_kept_says_its_source_as_the_readme_does() -> None:
    source = json.loads(lzma.decompress(FILE.read_bytes()))["source"]
    readme = FILE.with_name("README.md").read_text()
    assert (source["package"], source["license"]) == ("@octokit/openapi", "MIT")
    assert f"version {source['version']}" in readme
    assert source["file"] in readme


# ---------------- OpenAPI


def described(schema: dict[str, Any], **schemas: Any) -> Description:
    operation = {"operationId": "x/get", "responses": answer(schema)}
    components = {"schemas": {"basic-error": {"type": "object", "required": ["message"]}, **schemas}}
    return Description({"openapi": "3.0.3", "paths": {"/x/{y}": {"get": operation}}, "components": components})


def fits(made: Description, body: Any, status: int = 200) -> bool:
    try:
        made.check_answer(made.operation("GET", "/x/1"), status, body)
    except Misfit:
        return False
    return True


NULLABLE = {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (NULLABLE, [{"a": None}, {"a": "x"}], [{"a": 1}, {}]),
        ({"nullable": True, "allOf": [{"$ref": "#/components/schemas/s"}]}, [None, {"b": 1}], [{}, {"b": "x"}]),
        ({"type": "string", "enum": ["a", None], "nullable": True}, ["a", None], ["b"]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"type": "string", "format": "date-time"}, ["2026-12-01T00:00:00Z"], ["2026-12-01T00:00:00", "x", "2026"]),
        ({"type": "string", "format": "uri"}, ["https://x.test/{y}"], ["x.test/y", ""]),
        (
            {"type": "object", "properties": {"nullable": {"type": "boolean"}, "enum": {"type": "string"}}},
            [{"nullable": True, "enum": "x"}],
            [{"nullable": 1}, {"enum": 1}],
        ),
    ],
)
def test_what_fits_a_schema(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    before = copy.deepcopy(schema)
    made = described(schema, s={"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]})
    assert [one for one in good if not fits(made, one)] == []
    assert [one for one in bad if fits(made, one)] == []
    assert schema == before


def test_an_error_that_is_described_nowhere_has_the_form_of_all() -> None:
    made = described({})
    assert fits(made, {"message": "x"}, 503)
    assert not fits(made, {}, 503)
    assert not fits(made, {}, 204)


def test_what_is_required_is_filled_in_and_fits() -> None:
    schema = {
        "type": "object",
        "required": ["text", "time", "link", "number", "none", "kind", "list", "part", "choice", "known"],
        "properties": {
            "text": {"type": "string", "minLength": 2},
            "time": {"type": "string", "format": "date-time"},
            "link": {"type": "string", "format": "uri"},
            "number": {"type": "integer", "minimum": 3},
            "none": {"type": "string", "nullable": True},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "list": {"type": "array", "items": {"$ref": "#/components/schemas/s"}},
            "part": {"$ref": "#/components/schemas/s"},
            "choice": {"oneOf": [{"type": "string"}, {"$ref": "#/components/schemas/s"}]},
            "known": {"type": "string"},
            "more": {"type": "string"},
        },
    }
    made = described(schema, s={"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]})
    operation = made.operation("GET", "/x/1")
    body = made.filled(operation, 200, {"known": "k", "list": [{}, {"b": 7}], "choice": {}})
    made.check_answer(operation, 200, body)
    assert (body["known"], body["list"], body["choice"]) == ("k", [{"b": 0}, {"b": 7}], {"b": 0})
    assert body["none"] is None
    assert "more" not in body


def test_a_schema_that_requires_itself_has_no_end() -> None:
    endless = {"type": "object", "properties": {"s": {"$ref": "#/components/schemas/s"}}, "required": ["s"]}
    made = described({"$ref": "#/components/schemas/s"}, s=endless)
    with pytest.raises(Misfit, match="without end"):
        made.filled(made.operation("GET", "/x/1"), 200, {})
