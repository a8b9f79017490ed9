"""What a function's parameters become, and how checked arguments reach it."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Callable, Literal, Optional, Tuple

import pytest
from edgestudio.agents import ModelBehaviorError, RunContextWrapper, ToolContext, UserError, function_schema
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict


class Address(BaseModel):
    street: str
    number: int = 1


class Range(TypedDict):
    low: int
    high: int


@dataclass
class Point:
    x: float
    y: float


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


def properties(function: Any, **options: Any) -> dict:
    return function_schema(function, **options).params_json_schema["properties"]


def call(function: Any, arguments: dict, **options: Any) -> Any:
    schema = function_schema(function, **options)
    positional, named = schema.to_call_args(schema.params_pydantic_model(**arguments))
    return function(*positional, **named)


@pytest.mark.parametrize(("annotation", "schema", "good", "bad"), [
    (str, {"type": "string"}, "a", 1), (int, {"type": "integer"}, 3, 3.5), (float, {"type": "number"}, 0.5, "x"),
    (bool, {"type": "boolean"}, True, "maybe"), (list[int], {"type": "array", "items": {"type": "integer"}}, [1], ["x"]),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, "x"),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "c"),
    (Address, {"$ref": "#/$defs/Address"}, {"street": "s", "number": 2}, {"number": 2}),
    (Range, {"$ref": "#/$defs/Range"}, {"low": 1, "high": 2}, {"low": 1}),
    (Point, {"$ref": "#/$defs/Point"}, {"x": 1.0, "y": 2.0}, {"x": 1.0}),
    (Colour, {"$ref": "#/$defs/Colour"}, "red", "green"),
])
def test_types_are_described_and_checked(annotation: Any, schema: dict, good: Any, bad: Any) -> None:
    def f(value):
        return value
    f.__annotations__ = {"value": annotation}
    whole = function_schema(f)
    assert {key: item for key, item in whole.params_json_schema["properties"]["value"].items() if key != "title"} == schema
    validator = Draft202012Validator(whole.params_json_schema)
    assert validator.is_valid({"value": good}) and not validator.is_valid({"value": bad})
    call(f, {"value": good})
    with pytest.raises(ValidationError):
        call(f, {"value": bad})


def test_values_arrive_as_the_annotated_types() -> None:
    def f(address: Address, range: Range, point: Point, colour: Colour) -> tuple:
        return address, range, point, colour
    given = {"address": {"street": "s"}, "range": {"low": 1, "high": 2}, "point": {"x": 1, "y": 2}, "colour": "blue"}
    assert call(f, given) == (Address(street="s"), {"low": 1, "high": 2}, Point(1.0, 2.0), Colour.BLUE)


def test_everything_is_required_and_closed_in_strict_mode_only() -> None:
    def f(a: int, b: int = 5, c: Optional[str] = None) -> None: ...
    strict, loose = function_schema(f).params_json_schema, function_schema(f, strict_json_schema=False).params_json_schema
    assert strict["required"] == ["a", "b", "c"] and strict["additionalProperties"] is False
    assert "default" not in strict["properties"]["c"] and strict["properties"]["b"]["default"] == 5
    assert loose["required"] == ["a"] and "additionalProperties" not in loose and loose["properties"]["c"]["default"] is None


def test_defaults_are_used_whatever_the_schema_requires() -> None:
    def f(a: int, b: int = 5) -> int:
        return a + b
    assert call(f, {"a": 1}) == 6


def test_a_parameter_without_annotation_takes_anything() -> None:
    def f(a): return a
    assert properties(f)["a"] == {"title": "A"}
    assert call(f, {"a": {"x": [1]}}) == {"x": [1]}


def test_parameters_are_passed_by_their_kind() -> None:
    def f(a: int, /, b: int, *rest: int, c: int, d: int = 4, **more: int) -> tuple:
        return a, b, rest, c, d, more
    given = {"a": 1, "b": 2, "rest": [7, 8], "c": 3, "more": {"x": 9}}
    assert call(f, given, strict_json_schema=False) == (1, 2, (7, 8), 3, 4, {"x": 9})


@pytest.mark.parametrize(("annotation", "items"), [
    (int, {"type": "integer"}), (tuple[int, ...], {"type": "integer"}), (tuple, {}), (Tuple, {}), (Any, {}), (list[str], {"type": "array", "items": {"type": "string"}}),
    (Annotated[int, Field(ge=0, le=10)], {"type": "integer", "minimum": 0, "maximum": 10}),
])
def test_star_args_are_a_list(annotation: Any, items: dict) -> None:
    def f(*rest): return rest
    f.__annotations__ = {"rest": annotation}
    assert properties(f)["rest"] == {"items": items, "title": "Rest", "type": "array"}
    assert call(f, {}) == ()


def test_star_args_without_annotation_are_a_list_of_anything() -> None:
    def f(*rest): return rest
    assert properties(f)["rest"] == {"items": {}, "title": "Rest", "type": "array"}
    assert call(f, {"rest": [1, "a"]}) == (1, "a")


def test_what_is_said_of_a_tuple_holds_for_the_list() -> None:
    def f(*rest: Annotated[tuple[int, ...], Field(min_length=2)]): return rest
    assert properties(f)["rest"] == {"items": {"type": "integer"}, "minItems": 2, "title": "Rest", "type": "array"}


def test_star_args_of_a_fixed_tuple_are_refused() -> None:
    def f(*rest: tuple[int, str]) -> None: ...
    with pytest.raises(UserError, match=r"f: tuple\[int, str\] can't say"):
        function_schema(f)


def test_star_kwargs_are_a_nested_object_outside_strict_mode() -> None:
    def f(**more: int): return more
    schema = function_schema(f, strict_json_schema=False)
    assert schema.params_json_schema["properties"]["more"]["additionalProperties"] == {"type": "integer"}
    assert call(f, {}, strict_json_schema=False) == {}
    with pytest.raises(ValidationError):
        schema.params_pydantic_model(x=1)
    with pytest.raises(UserError, match=r"\*\*more .* strict_mode=False .* nested object more"):
        function_schema(f)


def test_star_kwargs_without_annotation_take_anything() -> None:
    def f(**more): return more
    assert call(f, {"more": {"a": [1], "b": "x"}}, strict_json_schema=False) == {"a": [1], "b": "x"}


def test_an_extra_keyword_never_replaces_a_parameter() -> None:
    def f(a: int, *, b: int = 1, **more: int): return a, b, more
    for taken in ("a", "b"):
        with pytest.raises(ModelBehaviorError, match=f"tool f: '{taken}' is a parameter"):
            call(f, {"a": 1, "more": {taken: 2}}, strict_json_schema=False)

    def g(a: int, /, **more: int): return a, more
    assert call(g, {"a": 1, "more": {"a": 2}}, strict_json_schema=False) == (1, {"a": 2})


@pytest.mark.parametrize("context", [RunContextWrapper, RunContextWrapper[str], ToolContext[str], Annotated[RunContextWrapper[str], "note"]])
def test_the_first_parameter_may_be_the_context(context: Any) -> None:
    def f(ctx, a: int): return ctx, a
    f.__annotations__["ctx"] = context
    schema = function_schema(f)
    assert schema.takes_context and list(schema.params_json_schema["properties"]) == ["a"]
    assert schema.to_call_args(schema.params_pydantic_model(a=1)) == ([1], {})


def late(a: int, ctx: RunContextWrapper) -> None: ...
def by_keyword(*, ctx: RunContextWrapper) -> None: ...
def spread(*ctx: RunContextWrapper) -> None: ...
def twice(ctx: RunContextWrapper, other: RunContextWrapper) -> None: ...


@pytest.mark.parametrize("function", [late, by_keyword, spread, twice])
def test_a_context_anywhere_else_is_refused(function: Callable) -> None:
    with pytest.raises(UserError, match=f"{function.__name__}: RunContextWrapper is taken by the first parameter"):
        function_schema(function)


@pytest.mark.parametrize("name", ["ctf", "CTF", "Ctf"])
def test_ctf_is_left_out_and_keeps_its_default(name: str) -> None:
    names: dict = {}
    exec(f"def f(a: int, {name}='flag', b: int = 2, *rest: int): return a, {name}, b, rest\n"
         f"def g(*, {name}=None, a: int): return {name}, a\n"
         f"def h({name}, a: int): ...", names)
    assert list(properties(names["f"])) == ["a", "b", "rest"]
    assert call(names["f"], {"a": 1, "b": 3, "rest": [4]}) == (1, "flag", 3, (4,))
    assert list(properties(names["g"])) == ["a"] and call(names["g"], {"a": 1}) == (None, 1)
    with pytest.raises(UserError, match=f"h: the parameter {name} is left out of every call, so it needs a default"):
        function_schema(names["h"])


def test_fields_set_constraints_defaults_and_names() -> None:
    def f(a: Annotated[int, Field(ge=1, description="In A")], b: int = Field(default=3, le=9, description="In B"),
          c: Annotated[int, Field(alias="see"), "Note C"] = 1, d: Annotated[float, Field(default=0.5)] = Field()) -> tuple:
        return a, b, c, d
    found = properties(f)
    assert found["a"]["minimum"] == 1 and found["a"]["description"] == "In A"
    assert found["b"]["maximum"] == 9 and found["b"]["description"] == "In B" and found["b"]["default"] == 3
    assert found["see"]["description"] == "Note C" and found["d"]["default"] == 0.5
    assert call(f, {"a": 1, "see": 7}) == (1, 3, 7, 0.5)


def test_a_parameter_may_be_called_like_a_property_of_the_model() -> None:
    def f(model_extra: str): return model_extra
    with pytest.warns(UserWarning, match="model_extra"):
        assert call(f, {"model_extra": "x"}) == "x"


def hidden(_a: int) -> None: ...
def unknown(a: Nowhere) -> None: ...  # noqa: F821
def callback(a: Callable[[], int]) -> None: ...
def thing(a: object.__class__.__subclasses__) -> None: ...


@pytest.mark.parametrize(("function", "message"), [
    (hidden, "hidden: a parameter can't be called _a"), (unknown, "unknown: an annotation can't be resolved.*Nowhere"),
    (callback, "callback: its parameters have no JSON schema"), (thing, "thing: no model can be made of its parameters"),
])
def test_what_no_schema_can_describe_is_refused_by_name(function: Callable, message: str) -> None:
    with pytest.raises(UserError, match=message):
        function_schema(function)


def test_a_mapping_can_not_be_strict() -> None:
    def f(a: dict[str, int]) -> None: ...
    with pytest.raises(UserError, match="f: additionalProperties.*strict_mode=False"):
        function_schema(f)
    assert properties(f, strict_json_schema=False)["a"]["additionalProperties"] == {"type": "integer"}


def test_methods_have_the_parameters_that_are_left() -> None:
    class A:
        def plain(self, a: int) -> int: return a
        @classmethod
        def of_class(cls, ctx: RunContextWrapper, a: int) -> int: return a
        @staticmethod
        def static(a: int) -> int: return a
    for function in (A().plain, A.of_class, A.static):
        assert list(properties(function)) == ["a"]
    assert function_schema(A.of_class).takes_context


def test_names_and_titles() -> None:
    def f(a: int) -> None: ...
    assert function_schema(f).name == "f" and function_schema(f).params_json_schema["title"] == "f_args"
    other = function_schema(f, name_override="g", description_override="does g")
    assert (other.name, other.description, other.params_json_schema["title"]) == ("g", "does g", "g_args")
