"""What strict mode makes of a JSON Schema, and what it refuses."""
from __future__ import annotations

import copy
from typing import Any

import pytest
from edgestudio.agents import UserError, ensure_strict_json_schema, strict_schema

TEXT = {"type": "string"}
CLOSED = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": TEXT}}


def within(part: Any, **more: Any) -> dict:
    return {"type": "object", "properties": {"v": part}, **more}


def strict(part: Any, **more: Any) -> Any:
    return ensure_strict_json_schema(within(part, **more))["properties"]["v"]


def test_an_empty_schema_is_an_empty_closed_object() -> None:
    first = ensure_strict_json_schema({})
    assert first == {"additionalProperties": False, "type": "object", "properties": {}, "required": []}
    first["properties"]["x"] = TEXT
    assert ensure_strict_json_schema({})["properties"] == {}


@pytest.mark.parametrize(("part", "want"), [
    (OPEN, CLOSED), ({"properties": {"a": TEXT}}, CLOSED), ({"type": "array", "items": OPEN}, {"type": "array", "items": CLOSED}),
    ({"type": "array", "prefixItems": [OPEN]}, {"type": "array", "prefixItems": [CLOSED]}),
    ({"anyOf": [OPEN, TEXT]}, {"anyOf": [CLOSED, TEXT]}), ({"oneOf": [OPEN, TEXT]}, {"anyOf": [CLOSED, TEXT]}),
    ({"allOf": [OPEN, {"title": "t"}]}, {"allOf": [CLOSED, {"title": "t"}]}), ({"allOf": [OPEN]}, CLOSED),
    ({"required": ["b"], "allOf": [{**OPEN, "required": []}]}, CLOSED),
    ({"description": "mine", "allOf": [{**OPEN, "description": "its", "title": "t"}]}, {**CLOSED, "description": "mine", "title": "t"}),
    ({"type": ["object", "null"], "properties": {"a": TEXT}}, {**CLOSED, "type": ["object", "null"]}),
    ({**OPEN, "required": []}, CLOSED), ({"type": "string", "default": None}, TEXT), ({"type": "string", "default": ""}, {"type": "string", "default": ""}),
    ({"const": {"b": [1.0]}, "allOf": [{"const": {"b": [1]}}]}, {"const": {"b": [1]}}),
])
def test_every_part_is_made_strict(part: dict, want: dict) -> None:
    assert strict(part) == want


@pytest.mark.parametrize("key", ["$defs", "definitions"])
def test_definitions_are_made_strict(key: str) -> None:
    schema = ensure_strict_json_schema(within({"$ref": f"#/{key}/D"}, **{key: {"D": OPEN}}))
    assert schema[key]["D"] == CLOSED and schema["properties"]["v"] == {"$ref": f"#/{key}/D"}


@pytest.mark.parametrize(("part", "want"), [
    ({"$ref": "#/$defs/D", "description": "mine"}, {**CLOSED, "description": "mine"}),
    ({"$ref": "#/$defs/Alias", "title": "t"}, {**CLOSED, "title": "t", "description": "alias"}),
    ({"$ref": "#/$defs/D", "default": None}, {"$ref": "#/$defs/D"}),
    ({"allOf": [{"$ref": "#/$defs/Alias"}]}, {**CLOSED, "description": "alias"}),
    ({"$ref": "#/$defs/a~1b%20c", "title": "t"}, {"type": "string", "title": "t"}),
])
def test_a_reference_with_company_is_replaced_by_what_it_points_to(part: dict, want: dict) -> None:
    assert strict(part, **{"$defs": {"D": OPEN, "Alias": {"$ref": "#/$defs/D", "description": "alias"}, "a/b c": TEXT}}) == want


def test_a_recursive_schema_keeps_its_references() -> None:
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}], "default": None}}}
    made = ensure_strict_json_schema(within({"$ref": "#/$defs/N"}, **{"$defs": {"N": node}}))
    assert made["$defs"]["N"]["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}


@pytest.mark.parametrize(("schema", "message"), [
    (within({**OPEN, "additionalProperties": True}), "strict_mode=False"), (within({**OPEN, "additionalProperties": {}}), "strict_mode=False"),
    (within({"additionalProperties": TEXT}), "strict_mode=False"), ({"anyOf": [OPEN, TEXT]}, "root"), ({"oneOf": [OPEN, TEXT]}, "root"),
    ({"type": ["object", "null"], "properties": {}}, "root"),
    (within({"$ref": "#/$defs/D", "minLength": 1}, **{"$defs": {"D": TEXT}}), "incompatible sibling minLength"),
    (within({"type": "integer", "allOf": [TEXT]}), "`allOf` and its parent both have type"),
    (within({"const": True, "allOf": [{"const": 1}]}), "both have const"), (within({"const": [1, 2], "allOf": [{"const": [1]}]}), "both have const"),
    (within({"type": "object", "additionalProperties": False, "allOf": [OPEN]}), "both have properties"),
    (within({"allOf": [{"$ref": "#/$defs/A"}]}, **{"$defs": {"A": {"$ref": "#/$defs/A"}}}), "circular"),
    (within({"$ref": "#/$defs/A", "title": "t"}, **{"$defs": {"A": within({"$ref": "#/$defs/A", "title": "t"})}}), "go round"),
    (within({"$ref": "elsewhere", "title": "t"}), "begin with #/"), (within({"$ref": "#/$defs/No", "title": "t"}), "leads to no schema"),
    (within({"$id": "x", "$ref": "#/$defs/D", "$defs": {"D": TEXT}}, **{"$defs": {"D": OPEN}}), r"nested `\$id`"),
    (within({"$ref": "#/$defs/D", "title": "t"}, **{"$defs": {"D": {"$id": "x", **TEXT}}}), r"nested `\$id`"),
])
def test_what_cannot_be_strict_is_refused(schema: dict, message: str) -> None:
    before = copy.deepcopy(schema)
    with pytest.raises(UserError, match=message):
        ensure_strict_json_schema(schema)
    assert schema == before


def test_a_schema_is_a_dict() -> None:
    for schema in ([], within([]), within({"allOf": [1]})):
        with pytest.raises(TypeError, match="expected a schema to be a dict"):
            ensure_strict_json_schema(schema)


def test_what_is_given_stays_as_it_is() -> None:
    schema = within({"allOf": [{"$ref": "#/$defs/D"}], "default": None}, **{"$defs": {"D": copy.deepcopy(OPEN)}})
    before = copy.deepcopy(schema)
    made = ensure_strict_json_schema(schema)
    assert schema == before and ensure_strict_json_schema(made) == made


def test_depth_and_size_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: dict = dict(TEXT)
    for _ in range(1000):
        deep = within(deep)
    with pytest.raises(UserError, match="too deeply nested"):
        ensure_strict_json_schema(deep)
    monkeypatch.setattr(strict_schema, "_MAX_SCHEMA_NODES", 1000)
    ladder = {f"L{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/L{n + 1}", "title": "t"} for side in "ab"}} for n in range(20)}
    with pytest.raises(UserError, match="too large"):
        ensure_strict_json_schema(within({"$ref": "#/$defs/L0", "title": "t"}, **{"$defs": {**ladder, "L20": TEXT}}))
