"""Tools in your own tests, with the checks that edge makes.

    from edgestudio.testing import call

    def test_fee():
        assert call(calculate_fee, amount=250) == {"fee": 0.75}

``call`` refuses the arguments that edge refuses, gives the function what edge would give it (a float where ``float`` is
annotated), and refuses the results that edge refuses. What the function raises comes through as it is. A refusal is an
:class:`~edgestudio.tools.EdgeToolError` whose ``code`` is the one that edge reports.
"""
from __future__ import annotations

import json

from edgestudio import _metadata
from edgestudio._calling import run
from edgestudio._discovery import own_metadata
from edgestudio._schema import Parameter, Refused, bind, complete, object_schema, parameters, unwrapped
from edgestudio._values import Invalid, Oversized, Unsupported, canonical, wrap
from edgestudio.tools import EdgeToolError, ToolMetadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = ["EdgeToolError", "call", "describe"]

RESULT_BYTES = 65536


def call(function: Callable[..., Any], /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as edge would, and give the result as the model would see it.

    A dict comes back as it is, anything else as ``{"result": value}``. Checking a declared ``output_schema`` takes the
    package ``jsonschema`` (``pip install 'edge-studio[testing]'``).
    """
    metadata = _metadata_of(function)
    found = _parameters_of(metadata)
    validate = _validator(metadata)
    try:
        positional, named = bind(found, json.loads(canonical(arguments, 1 << 23)))
    except Invalid as error:
        raise EdgeToolError("invalid_tool_args", str(error)) from None
    except Unsupported as error:
        raise EdgeToolError("invalid_tool_args", f"arguments{error.path()} holds {error.what}") from None
    result = run(function, positional, named)
    try:
        value: dict[str, Any] = json.loads(canonical(wrap(result), RESULT_BYTES))
    except Oversized:
        raise EdgeToolError("tool_result_oversized", f"the result is larger than {RESULT_BYTES} bytes of JSON") from None
    except Unsupported as error:
        raise EdgeToolError("unsupported_tool_result", f"result{error.path()} holds {error.what}") from None
    validate(value)
    return value


def describe(function: Callable[..., Any], /) -> dict[str, Any]:
    """What ``edge tools inspect`` says of a tool, without its hashes."""
    metadata = _metadata_of(function)
    return {
        "name": _metadata.tool_name(metadata),
        "description": _metadata.description(metadata),
        "parameters": json.loads(canonical(object_schema(_parameters_of(metadata)), 1 << 23)),
        "execution_level": metadata.execution_level,
        "return_direct": metadata.return_direct,
        "output_schema": metadata.output_schema,
        "permissions": list(metadata.permissions or ()),
        "intent_tags": list(metadata.intent_tags or ()),
    }


def _metadata_of(function: Any) -> ToolMetadata:
    for layer in unwrapped(function):
        metadata = own_metadata(layer)
        if metadata is not None:
            return metadata
    raise EdgeToolError("unsupported_function", f"{getattr(function, '__name__', function)!r} has no @edge_tool")


def _parameters_of(metadata: ToolMetadata) -> list[Parameter]:
    try:
        found, owner = parameters(metadata.function)
        for parameter in found:
            try:
                complete(parameter, owner)
            except Refused as error:
                raise Refused(f"parameter {parameter.name!r}: {error}", error.code) from None
    except Refused as error:
        raise EdgeToolError(error.code, str(error)) from None
    return found


def _validator(metadata: ToolMetadata) -> Callable[[object], None]:
    schema = metadata.output_schema
    if schema is None:
        return lambda value: None
    try:
        import jsonschema
    except ImportError:
        raise RuntimeError("the tool declares an output_schema, and checking it takes the package jsonschema: "
                           "pip install 'edge-studio[testing]'") from None
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise EdgeToolError("invalid_output_schema", f"output_schema isn't a JSON Schema: {error.message}") from None

    def validate(value: object) -> None:
        for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
            where = "".join(f"[{step!r}]" for step in error.absolute_path)
            raise EdgeToolError("tool_result_schema_mismatch", f"result{where}: {error.message}")

    return validate
