"""Values on their way in and out of a tool: strict types in, canonical JSON (RFC 8785) out.

Refused, never repaired: NaN and infinities, integers beyond ±(2^53−1), lone surrogates, nesting deeper than 64, cycles,
dict keys that aren't str, and every type that isn't JSON's own; subclasses too, as their JSON would lose what they are.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_INTEGER = (1 << 53) - 1
MAX_DEPTH = 64

try:
    from _json import encode_basestring as quote
except ImportError:
    from json.encoder import encode_basestring as quote


class Unsupported(Exception):
    """A value that isn't JSON. ``where`` is the path to it, innermost step first."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.where: list[object] = []

    def path(self) -> str:
        return "".join(f"[{step!r}]" for step in reversed(self.where))


class Oversized(Exception):
    """The canonical JSON is longer than the limit."""


class Invalid(Exception):
    """A value that doesn't follow a parameter's schema."""


def wrap(result: object) -> object:
    """A dict is the result as it is; anything else becomes ``{"result": value}``."""
    return result if isinstance(result, dict) else {"result": result}


def canonical(value: Any, limit: int, depth: int = 0) -> bytes:
    """The RFC 8785 form of value, at most limit bytes; raises Unsupported or Oversized.

    depth counts the levels that will stand around it.
    """
    pieces: list[str] = []
    left = limit
    open_ids: set[int] = set()

    def put(text: str) -> None:
        nonlocal left
        left -= len(text) if text.isascii() else len(text.encode("utf-8"))
        if left < 0:
            raise Oversized
        pieces.append(text)

    def string(text: str) -> None:
        if len(text) + 2 > left:
            raise Oversized
        try:
            put(quote(text))
        except UnicodeEncodeError:
            raise Unsupported("a lone surrogate in a string") from None

    def write(value: Any, depth: int) -> None:
        kind = type(value)
        if kind is str:
            string(value)
        elif value is None:
            put("null")
        elif kind is bool:
            put("true" if value else "false")
        elif kind is int:
            if not -MAX_INTEGER <= value <= MAX_INTEGER:
                raise Unsupported("an integer beyond ±(2^53−1)")
            put(str(value))
        elif kind is float:
            put(number(value))
        elif kind is list or kind is dict or is_plain_dict(kind):
            if depth >= MAX_DEPTH:
                raise Unsupported(f"nesting deeper than {MAX_DEPTH}")
            if id(value) in open_ids:
                raise Unsupported(f"a {kind.__name__} that contains itself")
            open_ids.add(id(value))
            write_list(value, depth + 1) if kind is list else write_dict(value, depth + 1)
            open_ids.discard(id(value))
        else:
            raise Unsupported(f"a value of type {kind.__name__}")

    def write_list(value: list[Any], depth: int) -> None:
        put("[")
        for index, item in enumerate(value):
            if index:
                put(",")
            try:
                write(item, depth)
            except Unsupported as error:
                error.where.append(index)
                raise
        put("]")

    def write_dict(value: dict[str, Any], depth: int) -> None:
        # Each member takes at least four bytes, so a huge dict is refused before it is sorted.
        if len(value) * 4 > left:
            raise Oversized
        for key in value:
            if type(key) is not str:
                raise Unsupported(f"a dict key of type {type(key).__name__}")
        try:
            keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        except UnicodeEncodeError:
            raise Unsupported("a lone surrogate in a dict key") from None
        put("{")
        for index, key in enumerate(keys):
            if index:
                put(",")
            string(key)
            put(":")
            try:
                write(value[key], depth)
            except Unsupported as error:
                error.where.append(key)
                raise
        put("}")

    write(value, depth)
    return "".join(pieces).encode("utf-8")


def is_plain_dict(kind: type) -> bool:
    """OrderedDict, defaultdict and Counter are dicts that JSON loses nothing of; a user's subclass may be anything."""
    return issubclass(kind, dict) and kind.__module__ == "collections"


def number(value: float) -> str:
    """A float as ECMAScript writes it."""
    if value != value or value in (float("inf"), float("-inf")):
        raise Unsupported("NaN" if value != value else "an infinity")
    if value.is_integer() and abs(value) < 1e21:
        if abs(value) > MAX_INTEGER:
            raise Unsupported("an integer beyond ±(2^53−1)")
        return str(int(value))
    mantissa, exponential, exponent = repr(value).partition("e")
    if not exponential:
        return mantissa
    power = int(exponent)
    if -6 <= power < 0:
        sign = "-" if value < 0 else ""
        return sign + "0." + "0" * (-power - 1) + mantissa.lstrip("-").replace(".", "")
    return f"{mantissa}e{power:+d}"


def accept(schema: dict[str, Any], value: Any) -> object:
    """value as the annotation promises it (an int becomes a float where float is annotated); raises Invalid."""
    kind = schema["type"]
    if type(kind) is list:
        if value is None:
            return None
        kind = kind[0]
    given = type(value)
    if kind == "number":
        if given is not float and given is not int:
            raise Invalid(f"got {name(value)}, want a number")
        try:
            value = float(value)
        except OverflowError:
            raise Invalid("the number is too large for a float") from None
        if value - value != 0:
            raise Invalid("NaN and infinities aren't JSON")
    elif kind == "array":
        if given is not list:
            raise Invalid(f"got {name(value)}, want a list")
        out: list[object] = []
        for index, item in enumerate(value):
            try:
                out.append(accept(schema["items"], item))
            except Invalid as error:
                raise Invalid(f"item {index}: {error}") from None
        return out
    elif given is not {"string": str, "integer": int, "boolean": bool}[kind]:
        raise Invalid(f"got {name(value)}, want {'an' if kind == 'integer' else 'a'} {kind}")
    elif kind == "integer" and not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise Invalid("the integer is beyond ±(2^53−1)")
    # The type was compared above, so True never passes for 1 here.
    if "enum" in schema and value not in [item for item in schema["enum"] if item is not None]:
        raise Invalid("the value isn't one of the Literal's")
    return value


def name(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
