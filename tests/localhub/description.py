"""GitHub's own OpenAPI description, trimmed to what is asked of the local GitHub: what fits it, and what does not.

OpenAPI 3.0 is not quite JSON Schema: `nullable` becomes a choice of null here, references become absolute. Requests
are held to more than the letter: a query parameter or a key of the body that the description does not know is
refused, since GitHub would ignore it in silence.
"""

from __future__ import annotations

import copy
import functools
import json
import lzma
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

__all__ = ["FILE", "Description", "Misfit", "Operation", "description"]

FILE = Path(__file__).with_name("description.json.xz")

_ROOT = "urn:github"
_DELETED_FORKS = (
    ("pull-request", "head", "repo"),
    ("pull-request-simple", "head", "repo"),
    ("workflow-run", "head_repository"),
)
"""Where GitHub answers null for a repository that was deleted, though its description does not say so."""
_ERROR = {"$ref": f"{_ROOT}#/components/schemas/basic-error"}
_DEEPEST = 12
_UNKNOWN = object()
_METHODS = ("get", "post", "patch", "put", "delete")

_formats = FormatChecker(formats=())


@_formats.checks("date-time", raises=ValueError)
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@_formats.checks("uri")
def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme and urlsplit(value).netloc)


class Misfit(Exception):
    """A request or an answer that does not fit the description."""


@dataclass(frozen=True)
class Operation:
    """One operation, by GitHub's own id ("issues/create-comment"), and the values in the path of a request for it."""

    id: str
    data: Mapping[str, Any]
    values: Mapping[str, str]


@functools.cache
def description() -> Description:
    """The description that is kept beside this module."""
    document = json.loads(lzma.decompress(FILE.read_bytes()))
    for schema, *keys in _DELETED_FORKS:
        found = document["components"]["schemas"][schema]
        for key in keys[:-1]:
            found = found["properties"][key]
        found["properties"][keys[-1]] = {"nullable": True, "allOf": [found["properties"][keys[-1]]]}
    return Description(document)


class Description:
    """Questions to a description. `document` is OpenAPI 3.0 or 3.1 as read from JSON."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = _as_json_schema(document)
        resource = Resource.from_contents(self._document, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource(_ROOT, resource)

    def operation(self, method: str, path: str) -> Operation:
        """Raises Misfit where there is none."""
        for template, item in self._document["paths"].items():
            match = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template)), path)
            data = item.get(method.lower())
            if match and data:
                values = {name: unquote(value) for name, value in match.groupdict().items()}
                return Operation(data["operationId"], data, values)
        raise Misfit(f"{method} {path}: no such operation is described (or tools/github_openapi.py has to keep it)")

    def ids(self) -> set[str]:
        """All operations that are described."""
        return {
            item[method]["operationId"]
            for item in self._document["paths"].values()
            for method in item
            if method in _METHODS
        }

    # ---------------- what fits

    def check_request(self, operation: Operation, query: Mapping[str, str], body: Any) -> None:
        """Raises Misfit."""
        known: dict[str, set[str]] = {"path": set(), "query": set()}
        for parameter in map(self._resolved, operation.data.get("parameters", ())):
            place, name = parameter["in"], parameter["name"]
            given = {"path": operation.values, "query": query}.get(place)
            if given is None:
                continue
            known[place].add(name)
            if name in given:
                self._fits(f"{place} {name}", parameter["schema"], self._typed(parameter["schema"], given[name]))
            elif parameter.get("required"):
                raise Misfit(f"{operation.id}: {place} {name} is required")
        if strange := set(query) - known["query"]:
            raise Misfit(f"{operation.id}: unknown in the query: {', '.join(sorted(strange))}")
        self._check_body(operation, body)

    def check_answer(self, operation: Operation, status: int, body: Any) -> None:
        """Raises Misfit. What is described for no operation (a 5xx) has to be an error as others are."""
        schema = self._schema(operation, status)
        if schema is None:
            if body is not None:
                raise Misfit(f"{operation.id}: {status} has no body, not {body!r:.100}")
            return
        self._fits(f"{operation.id}: {status}", schema, body)

    def _check_body(self, operation: Operation, body: Any) -> None:
        described = self._resolved(operation.data.get("requestBody", {}))
        if body is None:
            if described.get("required"):
                raise Misfit(f"{operation.id}: a body is required")
            return
        if not described:
            raise Misfit(f"{operation.id}: takes no body")
        self._fits(f"{operation.id}: body", _closed(described["content"]["application/json"]["schema"]), body)

    def _schema(self, operation: Operation, status: int) -> Any:
        answers = operation.data["responses"]
        if str(status) not in answers:
            if status < 400:
                raise Misfit(f"{operation.id}: never answers {status}")
            return _ERROR
        content = self._resolved(answers[str(status)]).get("content", {})
        return content["application/json"]["schema"] if "application/json" in content else None

    def _fits(self, where: str, schema: Any, value: Any) -> None:
        validator = Draft202012Validator(schema, registry=self._registry, format_checker=_formats)
        faults = [f"{error.json_path}: {error.message:.300}" for error in validator.iter_errors(value)]
        if faults:
            raise Misfit(f"{where}: {'; '.join(faults[:5])}")

    def _typed(self, schema: Any, text: str) -> Any:
        """A value of a path or query as what its schema wants; what is no such thing stays text, and won't fit."""
        kind = self._resolved(schema).get("type")
        if kind == "integer" and re.fullmatch(r"-?[0-9]+", text):
            return int(text)
        if kind == "boolean" and text in ("true", "false"):
            return text == "true"
        return text

    def _resolved(self, schema: Any) -> Any:
        while "$ref" in schema:
            schema = self._registry.resolver().lookup(schema["$ref"]).contents
        return schema

    # ---------------- answers in full

    def filled(self, operation: Operation, status: int, known: Any) -> Any:
        """`known` with everything that the description requires beside it, in the most harmless way."""
        schema = self._schema(operation, status)
        return None if schema is None else self._fill(schema, known, 0)

    def _fill(self, schema: Any, known: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise Misfit("the description requires things within things without end")
        schema = self._resolved(schema)
        if "allOf" in schema and known is not None:
            return functools.reduce(lambda made, part: self._fill(part, made, depth + 1), schema["allOf"], known)
        if "properties" not in schema and (branches := schema.get("anyOf") or schema.get("oneOf")):
            return self._fill_choice(branches, known, depth)
        if isinstance(known, dict) or (known is _UNKNOWN and _kind(schema) == "object"):
            return self._fill_object(schema, known, depth)
        if isinstance(known, list):
            return [self._fill(schema.get("items", {}), one, depth + 1) for one in known]
        return _harmless(schema) if known is _UNKNOWN else known

    def _fill_object(self, schema: Any, known: Any, depth: int) -> dict[str, Any]:
        made = {} if known is _UNKNOWN else dict(known)
        properties = schema.get("properties", {})
        for name in (*schema.get("required", ()), *made):
            if name in properties:
                made[name] = self._fill(properties[name], made.get(name, _UNKNOWN), depth + 1)
        return made

    def _fill_choice(self, branches: list[Any], known: Any, depth: int) -> Any:
        resolved = [self._resolved(branch) for branch in branches]
        nullable = any(_kind(branch) == "null" for branch in resolved)
        if known is None or (known is _UNKNOWN and nullable):
            return None
        wanted = "object" if isinstance(known, dict) else "array" if isinstance(known, list) else ""
        fitting = [branch for branch in resolved if _kind(branch) in (wanted, "") or not wanted]
        fitting = [branch for branch in fitting if _kind(branch) != "null"]
        return self._fill(fitting[0], known, depth + 1) if fitting else known


def _kind(schema: Any) -> str:
    """The type that a schema asks for; "" where it is a choice or says nothing."""
    kind = schema.get("type", "object" if "properties" in schema else "")
    return next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else str(kind)


def _harmless(schema: Any) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    text = {"date-time": "2026-01-01T00:00:00Z", "uri": "https://github.test/", "email": "nobody@github.test"}
    return {
        "string": text.get(schema.get("format", ""), "x" * schema.get("minLength", 0)),
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0),
        "boolean": False,
        "array": [],
        "object": {},
    }.get(_kind(schema))


def _as_json_schema(node: Any, *, names: bool = False) -> Any:
    """A part of an OpenAPI document as JSON Schema; `names`: its keys are names of properties, not words."""
    if isinstance(node, list):
        return [_as_json_schema(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {
        key: value if not names and key in ("enum", "required") else _as_json_schema(value, names=_named(key, names))
        for key, value in node.items()
    }
    if names:
        return made
    if isinstance(made.get("$ref"), str):
        made["$ref"] = _ROOT + made["$ref"]
    return {"anyOf": [{"type": "null"}, made]} if made.pop("nullable", False) is True else made


def _named(key: str, names: bool) -> bool:
    return not names and key == "properties"


def _closed(schema: Any) -> Any:
    """The schema of a request's body, taking no other keys than it names."""
    made = copy.deepcopy(schema)
    for part in _objects(made):
        part.setdefault("additionalProperties", False)
    return made


def _objects(schema: Any) -> Iterator[Any]:
    """Schemas of objects below, but not the branches of a choice: those tell only a part."""
    if not isinstance(schema, dict):
        return
    if "properties" in schema:
        yield schema
        for part in schema["properties"].values():
            yield from _objects(part)
    if isinstance(schema.get("items"), dict):
        yield from _objects(schema["items"])
