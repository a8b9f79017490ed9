"""A function's parameters as a JSON Schema: exactly the supported annotations, nothing falls back to Any.

Annotations are resolved one by one, so a name that can't be resolved condemns its own parameter only. inspect, typing
and re are not imported here: they take longer to load than everything else a call does.
"""
from __future__ import annotations

import sys

from edgestudio._values import Invalid, Oversized, Unsupported, accept, canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GENERATOR_VERSION = "1"
MAX_LIST_DEPTH = 16
MAX_DEFAULT_BYTES = 65536
SUPPORTED = "use str, int, float, bool, Literal of one of them, Optional[T] or list[T]"

FunctionType = type(lambda: None)
UnionType = type(int | None)
GenericAlias = type(list[int])
POSITIONAL_ONLY, POSITIONAL, VARIADIC, KEYWORD_ONLY, VARIADIC_KEYWORDS = range(5)  # as inspect.Parameter.kind counts


class Absent:
    """Stands for a missing annotation or default."""


class Parameter:
    __slots__ = ("name", "kind", "annotation", "default", "schema")

    def __init__(self, name: str, kind: int, annotation: Any, default: Any) -> None:
        self.name, self.kind, self.annotation, self.default = name, kind, annotation, default
        self.schema: dict[str, Any] = {}


class Refused(Exception):
    """An annotation, default or function that isn't supported; ``code`` says which."""

    def __init__(self, message: str, code: str = "unsupported_type_hint") -> None:
        super().__init__(message)
        self.code = code


def unwrapped(function: Any) -> list[Any]:
    """function and what functools.wraps says it wraps, innermost last."""
    chain: list[Any] = []
    while not any(function is seen for seen in chain):
        chain.append(function)
        try:
            inner = function.__wrapped__
        except Exception:
            break
        function = inner
    return chain


def parameters(function: Any) -> tuple[list[Parameter], Any]:
    """The declared parameters, and the function whose globals their string annotations mean."""
    chain = unwrapped(function)
    inner = chain[-1]
    if type(inner) is not FunctionType:
        raise Refused(f"it wraps {describe(inner)}, whose parameters can't be read", "unsupported_function")
    for layer in chain:
        declared = getattr(layer, "__signature__", None)
        if declared is not None:
            try:
                return [Parameter(p.name, int(p.kind), Absent if p.annotation is p.empty else p.annotation,
                                  Absent if p.default is p.empty else p.default)
                        for p in declared.parameters.values()], inner
            except Exception:
                raise Refused("its __signature__ can't be read", "unsupported_function") from None
    code = inner.__code__
    names, count, flags = code.co_varnames, code.co_argcount, code.co_flags
    hints = hints_of(inner)
    defaults = inner.__defaults__ or ()
    keyword_defaults = inner.__kwdefaults__ or {}
    found: list[Parameter] = []

    def add(name: str, kind: int, default: Any) -> None:
        found.append(Parameter(name, kind, hints.get(name, Absent), default))

    for index in range(count):
        offset = index - (count - len(defaults))
        add(names[index], POSITIONAL_ONLY if index < code.co_posonlyargcount else POSITIONAL,
            defaults[offset] if offset >= 0 else Absent)
    rest = count + code.co_kwonlyargcount
    if flags & 0x04:
        add(names[rest], VARIADIC, Absent)
        rest += 1
    for name in names[count:count + code.co_kwonlyargcount]:
        add(name, KEYWORD_ONLY, keyword_defaults.get(name, Absent))
    if flags & 0x08:
        add(names[rest], VARIADIC_KEYWORDS, Absent)
    return found, inner


def hints_of(function: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = function.__annotations__
    except Exception:
        # Python 3.14 evaluates all annotations of a function at once when they are asked for. Asked like this, it leaves
        # a ForwardRef where a name is unknown.
        from annotationlib import Format, get_annotations  # type: ignore[import-not-found,unused-ignore]
        found = get_annotations(function, format=Format.FORWARDREF)
    return found


def complete(parameter: Parameter, function: Any) -> None:
    """Fills in parameter.schema from its annotation and default; raises Refused."""
    if parameter.kind == VARIADIC:
        raise Refused(f"*{parameter.name} takes any number of arguments: name each one")
    if parameter.kind == VARIADIC_KEYWORDS:
        raise Refused(f"**{parameter.name} takes arguments of any name: name each one")
    if parameter.annotation is Absent:
        raise Refused(f"no type annotation; {SUPPORTED}", "missing_parameter_type_hint")
    try:
        schema = schema_of(parameter.annotation, function, 0)
    except Refused:
        raise
    except RecursionError:
        raise Refused("the annotation refers to itself") from None
    except Exception as error:
        raise Refused(f"the annotation can't be read ({type(error).__name__})") from None
    if parameter.default is not Absent:
        schema["default"] = default_of(schema, parameter.default)
    parameter.schema = schema


def schema_of(hint: Any, function: Any, depth: int) -> dict[str, Any]:
    if type(hint) is str:
        return schema_of(resolve(hint, function), function, depth)
    for kind, label in ((str, "string"), (int, "integer"), (float, "number"), (bool, "boolean")):
        if hint is kind:
            return {"type": label}
    typing = sys.modules.get("typing")
    if typing is not None and type(hint) is typing.ForwardRef:
        return schema_of(hint.__forward_arg__, function, depth)
    if isinstance(hint, type) and type(hint) is not GenericAlias:
        raise Refused("list doesn't say of what: write list[str], for example" if hint is list else
                      f"{describe(hint)} isn't a supported type; {SUPPORTED}")
    origin, args = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if typing is not None and hasattr(hint, "__metadata__") and origin is not None:
        return schema_of(origin, function, depth)  # Annotated[T, …] is T; edge doesn't enforce what else it says
    if type(hint) is UnionType or (typing is not None and origin is typing.Union):
        return union(hint, args, function, depth)
    if typing is not None and origin is typing.Literal:
        return literal(args)
    if origin is list and type(args) is tuple:
        if len(args) != 1:
            raise Refused(f"{describe(hint)} doesn't say of what: write list[str], for example")
        if isinstance(args[0], getattr(typing, "TypeVar", ())):
            raise Refused(f"{describe(hint)} doesn't say of what: write list[str], for example")
        if depth == MAX_LIST_DEPTH:
            raise Refused(f"lists are nested deeper than {MAX_LIST_DEPTH}")
        return {"type": "array", "items": schema_of(args[0], function, depth + 1)}
    raise Refused(f"{describe(hint)} isn't a supported type; {SUPPORTED}")


def union(hint: Any, args: tuple[Any, ...], function: Any, depth: int) -> dict[str, Any]:
    none = type(None)
    kinds = [arg for arg in args if arg is not none and arg is not None]
    if len(kinds) != 1:
        raise Refused(f"{describe(hint)} is a union of {len(kinds)} types: only Optional[T] is supported")
    return nullable(schema_of(kinds[0], function, depth))


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if type(schema["type"]) is str:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"].append(None)
    return schema


def literal(args: tuple[Any, ...]) -> dict[str, Any]:
    # Compared by type as well as by value: True == 1 == 1.0 for Python, and they are three things in JSON.
    values = [value for value in args if value is not None]
    if not values:
        raise Refused("Literal[None] allows nothing but None" if args else "the Literal is empty")
    kinds: list[Any] = []
    for value in values:
        if type(value) not in (str, int, float, bool):
            raise Refused(f"{describe(value)} in a Literal isn't a str, int, float or bool")
        if type(value) not in kinds:
            kinds.append(type(value))
        try:
            canonical(value, MAX_DEFAULT_BYTES)
        except Unsupported as error:
            raise Refused(f"{error.what} in a Literal") from None
        except Oversized:
            raise Refused("a string in a Literal is too long") from None
    if len(kinds) > 1:
        raise Refused(f"the Literal mixes {' and '.join(kind.__name__ for kind in kinds)}: use one type")
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    schema: dict[str, Any] = {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[kinds[0]], "enum": distinct}
    return nullable(schema) if len(values) < len(args) else schema


def resolve(text: str, function: Any) -> Any:
    names = {getattr(kind, "__name__", ""): kind for kind in getattr(function, "__type_params__", ())}
    try:
        return eval(compile(text.strip(), "<annotation>", "eval", 0, True), function.__globals__, names)
    except BaseException as error:
        what = getattr(error, "msg", None) if isinstance(error, SyntaxError) else error
        raise Refused(f"the annotation {clip(text)!r} can't be resolved ({type(error).__name__}: {clip(str(what))})") from None


def default_of(schema: dict[str, Any], default: Any) -> Any:
    """The default as JSON, normalised to the annotated type."""
    code = "invalid_parameter_default"
    if default is None and type(schema["type"]) is str:
        raise Refused("the default None isn't of the annotated type: annotate Optional[…]", code)
    try:
        value = accept(schema, default)
        canonical(value, MAX_DEFAULT_BYTES)
    except Invalid as error:
        raise Refused(f"the default isn't of the annotated type: {error}", code) from None
    except Unsupported as error:
        raise Refused(f"the default holds {error.what}", code) from None
    except Oversized:
        raise Refused(f"the default is larger than {MAX_DEFAULT_BYTES} bytes", code) from None
    except RecursionError:
        raise Refused("the default is nested too deeply", code) from None
    return value


def describe(thing: Any) -> str:
    """A name for messages, whatever the thing's own __repr__ does."""
    try:
        if isinstance(thing, type) and type(thing) is not GenericAlias:
            return thing.__qualname__ if thing.__module__ == "builtins" else f"{thing.__module__}.{thing.__qualname__}"
        return clip(repr(thing))
    except Exception:
        return f"a {type(thing).__name__}"


def clip(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def object_schema(found: list[Parameter]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in found},
        "required": [parameter.name for parameter in found if parameter.default is Absent],
        "additionalProperties": False,
    }


def bind(found: list[Parameter], arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Checked arguments, ready for function(*positional, **named); raises Invalid."""
    names = [parameter.name for parameter in found]
    for name in arguments:
        if name not in names:
            raise Invalid(f"there is no parameter {clip(name)!r}; the parameters are {', '.join(names) or 'none'}")
    positional: list[Any] = []
    named: dict[str, Any] = {}
    # What is positional-only goes by position up to the last one that was given; the rest keeps Python's defaults.
    last = max((index for index, parameter in enumerate(found)
                if parameter.kind == POSITIONAL_ONLY and parameter.name in arguments), default=-1)
    for index, parameter in enumerate(found):
        if parameter.name in arguments:
            try:
                value = accept(parameter.schema, arguments[parameter.name])
            except Invalid as error:
                raise Invalid(f"parameter {parameter.name!r}: {error}") from None
        elif parameter.default is Absent:
            raise Invalid(f"parameter {parameter.name!r} is missing")
        elif index < last:
            value = parameter.default
        else:
            continue
        if parameter.kind == POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[parameter.name] = value
    return positional, named


