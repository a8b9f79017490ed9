"""Canonical JSON (RFC 8785) and the strict types of arguments, in this process."""
from __future__ import annotations

import json
import math
import random
import struct

import pytest
from edgestudio._values import Invalid, Oversized, Unsupported, accept, canonical, number, wrap

LARGE = 1 << 24

# IEEE 754 bits → text: the samples of RFC 8785, appendix B, without those that are integers beyond ±(2^53−1).
NUMBERS = {
    "0000000000000000": "0", "8000000000000000": "0", "0000000000000001": "5e-324", "8000000000000001": "-5e-324", "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308", "44b52d02c7e14af5": "9.999999999999997e+22", "44b52d02c7e14af6": "1e+23", "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef50": "1e+21", "3eb0c6f7a0b5ed8c": "9.999999999999997e-7", "3eb0c6f7a0b5ed8d": "0.000001", "41b3de4355555553": "333333333.3333332", "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333", "41b3de4355555556": "333333333.3333334", "41b3de4355555557": "333333333.33333343", "becbf647612f3696": "-0.0000033333333333333333",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers(bits: str, text: str) -> None:
    assert number(struct.unpack(">d", bytes.fromhex(bits))[0]) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2.0**53, -(2.0**53), 1e20, 295147905179352830000.0])
def test_numbers_that_are_refused(value: float) -> None:
    with pytest.raises(Unsupported):
        number(value)


def test_random_numbers_read_back_the_same() -> None:
    source, count = random.Random(8785), 0
    while count < 5000:
        value = struct.unpack(">d", source.randbytes(8))[0] if count % 2 else source.uniform(-1, 1) * 10 ** source.randint(-9, 15)
        try:
            text = number(value)
        except Unsupported:
            continue
        count += 1
        assert float(text) == value and text == shortest(value), (value, text)


def shortest(value: float) -> str:
    """ECMAScript's Number::toString, step by step from its definition."""
    if value == 0:
        return "0"
    digits, exponent = shortest_digits(abs(value))
    k, n = len(digits), exponent + 1
    if k <= n <= 21:
        text = digits + "0" * (n - k)
    elif 0 < n <= 21:
        text = digits[:n] + "." + digits[n:]
    elif -6 < n <= 0:
        text = "0." + "0" * -n + digits
    else:
        text = digits[0] + ("." + digits[1:] if k > 1 else "") + f"e{n - 1:+d}"
    return ("-" if value < 0 else "") + text


def shortest_digits(value: float) -> tuple[str, int]:
    text = next(text for text in (f"{value:.{precision}e}" for precision in range(17)) if float(text) == value)
    mantissa, _, exponent = text.partition("e")
    return mantissa.replace(".", "").rstrip("0"), int(exponent)


def test_strings_are_escaped_as_rfc_8785_says() -> None:
    text = "€$\x0f\nA'B\"\\\\\"/\x08\t\r\x0c\x7f\u2028 \U0001f600"
    assert canonical(text, LARGE).decode() == "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\t\\r\\f\x7f\u2028 \U0001f600\""


def test_keys_are_sorted_by_utf_16() -> None:
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7, "": 8}
    assert list(json.loads(canonical(value, LARGE))) == ["", "\r", "1", "\x80", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_canonical_text() -> None:
    assert canonical({"b": [1.0, True, None, 1.5, -0.0], "a": {"y": {}, "x": []}}, LARGE) == b'{"a":{"x":[],"y":{}},"b":[1,true,null,1.5,0]}'


@pytest.mark.parametrize("value", ["é" * 10, [1.5] * 7, {"a": "b", "c": [None, {}]}, 12345, "\x01", {}])
def test_the_limit_is_exact(value: object) -> None:
    size = len(canonical(value, LARGE))
    assert len(canonical(value, size)) == size
    with pytest.raises(Oversized):
        canonical(value, size - 1)


def test_the_path_to_what_is_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        canonical({"a": [0, {"b": {1}}]}, LARGE)
    assert caught.value.path() == "['a'][1]['b']" and caught.value.what == "a value of type set"


def test_wrap() -> None:
    given = {"a": 1}
    assert wrap(given) is given and wrap([1]) == {"result": [1]} and wrap(None) == {"result": None}


@pytest.mark.parametrize(("schema", "value", "want"), [
    ({"type": "number"}, 3, 3.0), ({"type": ["number", "null"]}, None, None), ({"type": ["number", "null"]}, 3, 3.0), ({"type": "integer"}, 3, 3), ({"type": "boolean"}, True, True),
    ({"type": "array", "items": {"type": "number"}}, [1], [1.0]), ({"type": ["array", "null"], "items": {"type": ["array", "null"], "items": {"type": "number"}}}, [[1], None], [[1.0], None]),
    ({"type": "number", "enum": [1.0]}, 1, 1.0), ({"type": ["string", "null"], "enum": ["a", None]}, None, None),
])
def test_accept(schema: dict, value: object, want: object) -> None:
    assert repr(accept(schema, value)) == repr(want)


@pytest.mark.parametrize(("schema", "value"), [
    ({"type": "number"}, True), ({"type": "number"}, "1"), ({"type": "number"}, None), ({"type": "number"}, math.nan), ({"type": "number"}, 10**400), ({"type": "integer"}, 1.0), ({"type": "integer"}, True),
    ({"type": "integer"}, 2**53), ({"type": "boolean"}, 1), ({"type": "string"}, 1), ({"type": "string"}, b""), ({"type": "array", "items": {"type": "integer"}}, (1,)),
    ({"type": "integer", "enum": [1]}, True), ({"type": "boolean", "enum": [True]}, 1), ({"type": "string", "enum": ["a"]}, "b"), ({"type": "string", "enum": ["a"]}, None), ({"type": ["string", "null"], "enum": ["a", None]}, "None"),
])
def test_accept_coerces_nothing_else(schema: dict, value: object) -> None:
    with pytest.raises(Invalid):
        accept(schema, value)
