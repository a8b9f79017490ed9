"""A loaded file's function tools and hosted tools: which there are, what a model sees of them, and one's call.

They are values of the file's variables, or stand in the ``tools`` of its agents.
"""
from __future__ import annotations

from edgestudio import _metadata
from edgestudio._agents import is_agent_tool, tools_of_agents
from edgestudio._values import Oversized, Unsupported, canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from edgestudio.agents.hosted import HostedTool
    from edgestudio.agents.tool import FunctionTool

OUTPUT_SCHEMA = {
    "type": "object", "properties": {"output": {"type": "string"}}, "required": ["output"], "additionalProperties": False,
}


class Given:
    """One such tool. ``surface`` is "function" or "hosted", ``bound`` the variable that has it, "" if none does."""

    __slots__ = ("value", "surface", "name", "bound")

    def __init__(self, value: Any, surface: str, bound: str) -> None:
        self.value, self.surface, self.bound = value, surface, bound
        self.name: Any = value.name


def given_tools(namespace: dict[str, Any]) -> list[Given]:
    """Every tool once, in the order of the variables; agents' come last."""
    found: list[Given] = []
    for bound, value in [*namespace.items(), *(("", value) for value in tools_of_agents(namespace))]:
        surface = surface_of(value)
        if surface and not any(value is other.value for other in found):
            found.append(Given(value, surface, bound))
    return found


def surface_of(value: object) -> str:
    from edgestudio.agents.hosted import HostedTool
    from edgestudio.agents.tool import FunctionTool
    if issubclass(type(value), FunctionTool) and not is_agent_tool(value):
        return "function"
    return "hosted" if issubclass(type(value), HostedTool) else ""


def edge_tools_of_agents(namespace: dict[str, Any]) -> list[Any]:
    """What stands in agents' ``tools`` and is neither of the two: functions with @edge_tool."""
    return [value for value in tools_of_agents(namespace) if not surface_of(value)]


def check(tool: Given) -> Iterator[tuple[str, str]]:
    """Every (code, message) that a tool deserves. What its schema may hold is edge's matter, not Python's."""
    invalid = "invalid_tool_metadata"
    if type(tool.name) is not str:
        yield invalid, f"name is {_metadata.kind(tool.name)}, want a str"
    elif not _metadata.valid_name(tool.name):
        yield "invalid_tool_name", (f"{_metadata.shorten(tool.name)!r} isn't a tool name: 1 to 64 ASCII letters, digits and _, "
                                    "the first of them no digit")
    if tool.surface == "hosted":
        yield from json(invalid, "its configuration", tool.value.hosted_config())
        return
    description = tool.value.description
    if type(description) is not str:
        yield invalid, f"description is {_metadata.kind(description)}, want a str"
    else:
        yield from _metadata.text(invalid, "description", description)
    yield from json("unsupported_schema", "params_json_schema", tool.value.params_json_schema)


def json(code: str, what: str, value: object) -> Iterator[tuple[str, str]]:
    if type(value) is not dict:
        yield code, f"{what} is {_metadata.kind(value)}, want a dict"
        return
    try:
        canonical(value, _metadata.MAX_SCHEMA_BYTES, _metadata.LEVELS_AROUND)
    except Unsupported as error:
        yield code, f"{what} isn't JSON: {error.what} at {error.path()}"
    except Oversized:
        yield code, f"{what} is larger than {_metadata.MAX_SCHEMA_BYTES} bytes"


def entry(tool: Given, line: int) -> dict[str, Any]:
    """The tool as edge freezes it."""
    described = hosted_entry(tool.value) if tool.surface == "hosted" else function_entry(tool.value, tool.bound)
    return {**described, "surface": tool.surface, "intent_tags": [], "line": line}


def hosted_entry(tool: HostedTool) -> dict[str, Any]:
    return {"permissions": [], **tool.definition(), "hosted": tool.hosted_config(), "function": type(tool).__name__}


def function_entry(tool: FunctionTool, bound: str) -> dict[str, Any]:
    # Whoever has to approve a call must see it before it runs, and its result goes to them as it is.
    approved = bool(tool.needs_approval)
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.params_json_schema,
        "execution_level": "commit" if approved else "read",
        "return_direct": approved,
        "output_schema": OUTPUT_SCHEMA,
        "permissions": ["read_local"],
        "function": getattr(getattr(tool, "__wrapped__", None), "__qualname__", bound),
    }


def invoke(tool: FunctionTool, arguments: str, context: Any) -> tuple[str, str]:
    """The result as text; and where that is an error which the tool worded for the model, the error's type."""
    from edgestudio._async import finish
    from edgestudio.agents.run_context import ToolContext
    from edgestudio.agents.tracing import span
    about: ToolContext[Any] = ToolContext(context, tool_name=tool.name, tool_call_id="call", tool_arguments=arguments)
    with span() as errors:
        output: Any = tool.on_invoke_tool(about, arguments)
        if hasattr(type(output), "__await__"):
            output = finish(output)
    told = errors[-1].kind if errors and errors[-1].told is output else ""
    return str.__str__(str(output)), told
