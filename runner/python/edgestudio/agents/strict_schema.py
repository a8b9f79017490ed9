"""Strict JSON Schemas: closed objects whose properties are all required, without a reference that says more than itself.

A schema that couldn't be closed without changing what it accepts is refused, never bent.
"""
from __future__ import annotations

from typing import Any, NoReturn
from urllib.parse import unquote

from edgestudio.agents.exceptions import UserError

# A schema may come from elsewhere, and references that fan out would grow without end.
_MAX_SCHEMA_NODES = 100_000
_MAX_SCHEMA_DEPTH = 100

# What may stand beside a $ref, or differ between an allOf and its parent: it constrains no value.
_ANNOTATIONS = frozenset({
    "$anchor", "$comment", "$defs", "$schema", "contentEncoding", "contentMediaType", "contentSchema", "default",
    "definitions", "deprecated", "description", "examples", "readOnly", "title", "writeOnly",
})


class BadReference(UserError, ValueError):
    """A ``$ref`` that leads nowhere."""


def ensure_strict_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A strict schema made of schema, which stays as it is.

    Raises UserError where it can't be made strict, TypeError where a schema isn't a dict.
    """
    if schema == {}:
        return {"additionalProperties": False, "type": "object", "properties": {}, "required": []}
    strict = _Conversion(schema).convert(schema, 1, at_root=True)
    if "anyOf" in strict:
        raise UserError("the root of a strict JSON schema must be an object, not anyOf or oneOf")
    if strict.get("type") == ["object"]:
        strict["type"] = "object"
    elif isinstance(strict.get("type"), list) and "object" in strict["type"]:
        raise UserError(f"the root of a strict JSON schema must be an object and nothing else, got {strict['type']}")
    return strict


class _Conversion:
    """One schema's conversion. References are always looked up in the schema as it was given."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.left = _MAX_SCHEMA_NODES

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise UserError("the JSON schema is too large, or its references multiply: simplify it")

    def convert(self, given: Any, depth: int, nested: bool = False, at_root: bool = False) -> dict[str, Any]:
        """nested: inside a part that has an $id of its own, against which its references would count."""
        schema = _as_dict(given)
        if depth > _MAX_SCHEMA_DEPTH:
            raise UserError("the JSON schema is too deeply nested, or its references go round: flatten it")
        self.spend()
        nested = nested or (not at_root and _has_id(schema))
        if "default" in schema and schema["default"] is None:
            del schema["default"]  # a null that may be left out says nothing new
        if "$ref" in schema:
            return self.reference(schema, depth, nested, at_root)
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return self.convert(self.merged(schema, nested), depth + 1, nested, at_root)
        _close(schema)

        def each(value: Any) -> dict[str, Any]:
            return self.convert(value, depth + 1, nested)

        if isinstance(schema.get("oneOf"), list):
            others = schema.get("anyOf")
            schema["anyOf"] = (others if isinstance(others, list) else []) + schema.pop("oneOf")
        for key in ("$defs", "definitions", "properties"):
            if isinstance(schema.get(key), dict):
                schema[key] = {name: each(value) for name, value in schema[key].items()}
        if isinstance(schema.get("properties"), dict):
            schema["required"] = list(schema["properties"])
        for key in ("anyOf", "allOf", "prefixItems"):
            if isinstance(schema.get(key), list):
                schema[key] = [each(value) for value in schema[key]]
        if isinstance(schema.get("items"), dict):
            schema["items"] = each(schema["items"])
        return schema

    def reference(self, schema: dict[str, Any], depth: int, nested: bool, at_root: bool) -> dict[str, Any]:
        """A reference alone stays one; with anything beside it, what it points to takes its place."""
        if nested:
            _refuse_nested()
        others = {key: value for key, value in schema.items() if key != "$ref"}
        wrong = set(others) - _ANNOTATIONS - ({"$id"} if at_root else set())
        if wrong:
            raise UserError(f"a $ref has the incompatible sibling {', '.join(sorted(wrong))}: both would count, "
                            "and only one can be kept")
        if not others:
            return schema
        return self.convert({**self.resolve(schema["$ref"]), **others}, depth + 1, nested, at_root)

    def merged(self, schema: dict[str, Any], nested: bool) -> dict[str, Any]:
        """schema with the one entry of its allOf taken in."""
        parent = {key: value for key, value in schema.items() if key != "allOf"}
        entry = self.followed(schema["allOf"][0], nested)
        differing = [key for key in parent if key in entry and key != "required" and key not in _ANNOTATIONS
                     and not (key == "properties" and parent[key] == {}) and not _same(parent[key], entry[key])]
        if parent.get("additionalProperties") is False and not parent.get("properties") and entry.get("properties"):
            differing.append("properties")  # the parent accepts none of them
        if differing:
            raise UserError(f"a singleton `allOf` and its parent both have {', '.join(sorted(set(differing)))}")
        return {**parent, **entry, **{key: value for key, value in parent.items() if key in _ANNOTATIONS}}

    def followed(self, entry: Any, nested: bool) -> dict[str, Any]:
        """What a chain of references that constrain nothing themselves ends in; the outer annotations win."""
        seen: set[str] = set()
        while isinstance(entry, dict) and "$ref" in entry and not set(entry) - _ANNOTATIONS - {"$ref"}:
            if nested:
                _refuse_nested()
            if entry["$ref"] in seen:
                raise UserError(f"the JSON schema has a circular $ref: {entry['$ref']}")
            seen.add(entry["$ref"])
            self.spend()
            entry = {**self.resolve(entry["$ref"]), **{key: value for key, value in entry.items() if key != "$ref"}}
        return _as_dict(entry)

    def resolve(self, ref: Any) -> dict[str, Any]:
        """What ref points to, in the schema as it was given."""
        if not isinstance(ref, str) or not ref.startswith("#/"):
            raise BadReference(f"a $ref must point into its own schema and begin with #/, got {ref!r}")
        found: Any = self.root
        for step in unquote(ref[2:], errors="strict").split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
            if not isinstance(found, dict):
                raise BadReference(f"the $ref {ref!r} leads to no schema")
            if _has_id(found):
                _refuse_nested()
        return dict(found)


def _as_dict(schema: Any) -> dict[str, Any]:
    """A copy of a schema, to be changed at its top."""
    if not isinstance(schema, dict):
        raise TypeError(f"expected a schema to be a dict, got a value of type {type(schema).__name__}")
    return dict(schema)


def _close(schema: dict[str, Any]) -> None:
    """Makes an object's schema say that it holds nothing else."""
    kind = schema.get("type")
    if kind is None and isinstance(schema.get("properties"), dict):
        kind = schema["type"] = "object"
    is_object = "object" in kind if isinstance(kind, list) else kind == "object"
    if is_object:
        schema.setdefault("additionalProperties", False)
    if (is_object or kind is None) and schema.get("additionalProperties", False) is not False:
        raise UserError("additionalProperties: a strict JSON schema can't let an object hold more than its properties; "
                        "name them, or switch strict mode off for this tool (strict_mode=False)")


def _has_id(schema: dict[str, Any]) -> bool:
    return isinstance(schema.get("$id"), str)


def _refuse_nested() -> NoReturn:
    raise UserError("a $ref belongs to a nested `$id` resource, or leads into one: only references of the whole schema are followed")


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, and true is neither."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(isinstance(one, bool) == isinstance(other, bool) and one == other)
