from __future__ import annotations

import asyncio
import functools
import sys
from typing import Literal, Optional

import pytest
from edgestudio.testing import EdgeToolError, call, describe
from edgestudio.tools import edge_tool

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}


@edge_tool(name="fee_quote", description="Quote.", intent_tags=["billing"])
def fee(amount: float, tier: Literal["basic", "pro"] = "basic", /, *, note: Optional[str] = None, ids: list[int] = []) -> dict:
    return {"amount": amount, "kind": type(amount).__name__, "tier": tier, "note": note, "ids": ids}


def refused(code: str, function: object, **arguments: object) -> EdgeToolError:
    with pytest.raises(EdgeToolError) as caught:
        call(function, **arguments)
    assert caught.value.code == code
    return caught.value


def test_call() -> None:
    assert call(fee, amount=250) == {"amount": 250, "kind": "float", "tier": "basic", "note": None, "ids": []}
    assert call(fee, amount=1.0, tier="pro", note="x", ids=[1]) == {"amount": 1, "kind": "float", "tier": "pro", "note": "x", "ids": [1]}


def test_scalars_are_wrapped() -> None:
    @edge_tool
    def f(a: int) -> int:
        return a
    assert call(f, a=3) == {"result": 3}
    assert repr(call(f, a=3.0)) == "{'result': 3}"  # 3.0 is 3 in the JSON that a model writes


@pytest.mark.parametrize("arguments", [{}, {"amount": "250"}, {"amount": True}, {"amount": 1, "tier": "gold"}, {"amount": 1, "note": 5}, {"amount": 1, "zz": 2}, {"amount": 1, "ids": (1,)},
                                       {"amount": 1, "ids": ["1"]}, {"amount": float("nan")}, {"amount": 2**53}, {"amount": 1, "note": "\ud800"}, {"amount": object()}], ids=str)
def test_arguments_that_edge_refuses(arguments: dict) -> None:
    refused("invalid_tool_args", fee, **arguments)


def test_results_that_edge_refuses() -> None:
    values = {"set": {1}, "large": "x" * 70000}

    @edge_tool
    def f(key: str):
        return values[key]
    assert "['a']" not in str(refused("unsupported_tool_result", f, key="set")) and refused("tool_result_oversized", f, key="large")
    values["set"] = {"a": {1}}
    assert "result['a'] holds a value of type set" in str(refused("unsupported_tool_result", f, key="set"))


def test_what_the_function_raises_comes_through() -> None:
    @edge_tool
    def f() -> int:
        raise LookupError("mine")
    with pytest.raises(LookupError, match="mine"):
        call(f)


def test_output_schema() -> None:
    @edge_tool(output_schema=SCHEMA)
    def f(value: str) -> dict:
        return {"good": {"ok": True}, "type": {"ok": 1}, "missing": {}, "more": {"ok": True, "b": 1}, "scalar": True}[value]
    assert call(f, value="good") == {"ok": True}
    for value in ("type", "missing", "more", "scalar"):
        refused("tool_result_schema_mismatch", f, value=value)


def test_an_output_schema_that_is_none() -> None:
    @edge_tool(output_schema={"type": "nonsense"})
    def f() -> dict:
        return {}
    refused("invalid_output_schema", f)


def test_without_jsonschema_an_output_schema_is_never_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    @edge_tool(output_schema=SCHEMA)
    def f() -> dict:
        ran.append(1)
        return {"ok": True}
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(RuntimeError, match="jsonschema"):
        call(f)
    assert not ran


def test_async_tools() -> None:
    @edge_tool
    async def f(a: int) -> int:
        await asyncio.sleep(0)
        return a + 1
    assert call(f, a=1) == {"result": 2}


def test_wrapped_tools() -> None:
    def double(function):
        @functools.wraps(function)
        def wrapper(*a, **k):
            return 2 * function(*a, **k)
        return wrapper

    @edge_tool
    @double
    def below(a: int) -> int:
        return a

    @double
    @edge_tool
    def above(a: int) -> int:
        return a
    assert call(below, a=2) == call(above, a=2) == {"result": 4}


def test_functions_that_are_no_tools() -> None:
    refused("unsupported_function", len)
    refused("unsupported_function", lambda: 1)


def test_signatures_that_edge_refuses() -> None:
    @edge_tool
    def f(a: dict, b: int = 1) -> int:
        return b
    assert "'a'" in str(refused("unsupported_type_hint", f, a={}))

    @edge_tool
    def g(a) -> int:
        return a
    refused("missing_parameter_type_hint", g, a=1)


def test_describe() -> None:
    assert describe(fee) == {
        "name": "fee_quote", "description": "Quote.", "execution_level": "read", "return_direct": False, "output_schema": None, "permissions": [], "intent_tags": ["billing"],
        "parameters": {"type": "object", "required": ["amount"], "additionalProperties": False, "properties": {
            "amount": {"type": "number"}, "tier": {"type": "string", "enum": ["basic", "pro"], "default": "basic"}, "note": {"type": ["string", "null"], "default": None},
            "ids": {"type": "array", "items": {"type": "integer"}, "default": []}}}}
