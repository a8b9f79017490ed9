"""Which tools a loaded file offers, and which object is called for each.

A tool counts if its function was defined in the file, or is among the file's names (imported from a sibling by name), or
among the tools of an agent. Tools that a sibling module defines for itself don't. A decorator above @edge_tool that uses
functools.wraps is part of the tool; one that hides what it wraps is refused, since nobody could say which of the two
functions was meant.
"""
from __future__ import annotations

import sys

from edgestudio._schema import Refused, describe, unwrapped
from edgestudio.tools import FunctionType, ToolMetadata, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator


class Tool:
    """One tool of the file: what is called, and whose parameters it has."""

    __slots__ = ("metadata", "call", "name", "bound")

    def __init__(self, metadata: ToolMetadata, bound: str) -> None:
        self.metadata = metadata
        self.call = metadata.function
        self.name = metadata.name if metadata.name is not None else getattr(metadata.function, "__name__", "")
        self.bound = bound  # the name it has in the file, "" if none


def discover(namespace: dict[str, Any], module: str, collected: list[ToolMetadata]) -> list[Tool]:
    chains = list(wrappers(namespace))
    if uses_agents():
        from edgestudio._functions import edge_tools_of_agents
        chains += [("", unwrapped(value)) for value in edge_tools_of_agents(namespace)]
    found = [metadata for metadata in collected if getattr(metadata.function, "__module__", None) == module]
    for _, chain in chains:
        for layer in chain:
            metadata = own_metadata(layer)
            if metadata is not None and not any(metadata is other for other in found):
                found.append(metadata)
    return [Tool(metadata, bound_name(metadata.function, chains)) for metadata in found]


def uses_agents() -> bool:
    """Whether the file has anything of edgestudio.agents. If not, nothing that deals with it is loaded: that takes time."""
    return "edgestudio.agents" in sys.modules


def wrappers(namespace: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for name, value in list(namespace.items()):
        # Only what functools.wraps could have made: other objects may do anything when an attribute is asked for.
        if type(value) is FunctionType or "__wrapped__" in attributes(value):
            yield name, unwrapped(value)


def attributes(value: Any) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return found if isinstance(found, dict) else {}


def own_metadata(function: Any) -> ToolMetadata | None:
    """The metadata that was attached to this very object: functools.wraps copies it to others."""
    metadata = attributes(function).get("__edge_tool__")
    return metadata if isinstance(metadata, ToolMetadata) and metadata.function is function else None


def bound_name(function: Any, chains: list[tuple[str, list[Any]]]) -> str:
    return next((name for name, chain in chains if any(layer is function for layer in chain)), "")


def settle(tool: Tool, namespace: dict[str, Any], tools: list[Tool]) -> None:
    """Finds the object to call for the tool; raises Refused where that isn't plain."""
    function = tool.metadata.function
    outer: list[Any] = []
    for _, chain in wrappers(namespace):
        if chain[0] is function:
            return
        if any(layer is function for layer in chain) and not any(chain[0] is other for other in outer):
            outer.append(chain[0])
    name = function.__name__
    named = namespace.get(name) if "<locals>" not in function.__qualname__ else None
    if len(outer) > 1:
        outer = [layer for layer in outer if layer is named]
        if not outer:
            raise Refused(f"{name} is wrapped by several functions of the file: put @edge_tool above all other decorators",
                          "unsupported_function")
    if outer:
        refused = refusal(outer[0]) if type(outer[0]) is FunctionType else None
        if refused is not None:
            raise Refused(refused[1], refused[0])
        tool.call = outer[0]
        return
    if named is not None and not any(layer is other.metadata.function for other in tools for layer in unwrapped(named)):
        raise Refused(f"{name} is {describe_binding(named)} by the time the file is loaded: put @edge_tool above all other "
                      "decorators, and give later definitions another name", "unsupported_function")


def describe_binding(value: Any) -> str:
    if type(value) is FunctionType:
        return f"another function ({value.__qualname__}, line {value.__code__.co_firstlineno})"
    return describe(value)
