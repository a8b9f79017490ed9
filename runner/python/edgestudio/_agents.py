"""The agents of a loaded file, as the inspection describes them, and what of them runs in Python.

Agents are the values of the file's variables, and all that these reach as tools or by handoff. What is wrong with one is
part of its description: the file may still be good for its tools.
"""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from edgestudio.agents.agent import Agent


def find_agents(namespace: dict[str, Any]) -> list[Agent]:
    """Every agent once, those of variables first. Nothing is imported: who has agents has imported them."""
    if "edgestudio.agents.agent" not in sys.modules:
        return []
    from edgestudio.agents.agent import Agent
    found: list[Agent] = []
    waiting = [value for value in list(namespace.values()) if isinstance(value, Agent)]
    while waiting:
        agent = waiting.pop(0)
        if not any(agent is other for other in found):
            found.append(agent)
            waiting += [other for _, _, other in [*_as_tools(agent), *_handoffs(agent)]]
    return found


def tools_of_agents(namespace: dict[str, Any]) -> list[Any]:
    """The tools that agents name, other agents left out, each once."""
    found: list[Any] = []
    for agent in find_agents(namespace):
        for tool in agent.tools:
            if not is_agent_tool(tool) and not any(tool is other for other in found):
                found.append(tool)
    return found


def is_agent_tool(value: object) -> bool:
    """Whether a tool is an agent: edge runs those itself, so they are no tools of the file."""
    if "edgestudio.agents.agent" not in sys.modules:
        return False
    from edgestudio.agents.agent import AgentTool
    return isinstance(value, AgentTool)


def describe_agents(namespace: dict[str, Any]) -> list[dict[str, Any]]:
    return [_describe(agent, namespace) for agent in find_agents(namespace)]


def _describe(agent: Agent, namespace: dict[str, Any]) -> dict[str, Any]:
    settings = agent.model_settings
    problems: list[str] = []
    names: list[str] = []
    for tool in agent.tools:
        name = _name(tool)
        if name is None:
            problems.append(f"a tool is {_what(tool)}: function tools, hosted tools, functions with @edge_tool and agents as tools can be used")
        elif not is_agent_tool(tool):
            names.append(name)
    problems += [f"its model settings: {name} is {value!r}" for name, value, fits in (
        ("temperature", settings.temperature, lambda v: isinstance(v, (int, float)) and 0 <= v <= 10),
        ("max_tokens", settings.max_tokens, lambda v: type(v) is int and v > 0),
        ("tool_choice", settings.tool_choice, lambda v: isinstance(v, str)),
    ) if value is not None and not fits(value)]
    for entry in agent.handoffs:
        if entry is not None and _target(entry) is None:
            problems.append(f"a handoff is a {type(entry).__name__}: agents and handoff(…) can be used")
    return {
        "name": agent.name,
        # Of several variables the one that says which agent begins counts.
        "variable": "agent" if namespace.get("agent") is agent else next((name for name, value in namespace.items() if value is agent), ""),
        "instructions": agent.instructions if isinstance(agent.instructions, str) else None,
        "dynamic": callable(agent.instructions),
        "handoff_description": agent.handoff_description,
        "tools": names,
        "agent_tools": [{"name": tool.name, "description": tool.description, "agent": other.name,
                         "max_turns": tool.max_turns or 0, "tells_failures": tool.tells_failures} for _, tool, other in _as_tools(agent)],
        "handoffs": [{"name": name, "description": description, "agent": other.name} for name, description, other in _handoffs(agent)],
        "model": agent.model if isinstance(agent.model, str) else "" if agent.model is None else type(agent.model).__name__,
        "settings": {} if problems else {"tool_choice": settings.tool_choice, "temperature": settings.temperature, "max_tokens": settings.max_tokens},
        "unused_settings": settings.unused(),
        "tool_use_behavior": _behaviour(agent.tool_use_behavior),
        "reset_tool_choice": agent.reset_tool_choice,
        "problems": problems,
    }


def _as_tools(agent: Agent) -> list[tuple[str, Any, Agent]]:
    return [(tool.name, tool, tool.agent) for tool in agent.tools if is_agent_tool(tool) and tool.is_enabled]


def _handoffs(agent: Agent) -> list[tuple[str, str, Agent]]:
    """Name, description and target of each; handoff(is_enabled=False) left a None."""
    from edgestudio.agents.handoffs import Handoff
    found = []
    for entry in agent.handoffs:
        target = _target(entry)
        if target is None:
            continue
        if isinstance(entry, Handoff):
            found.append((entry.tool_name, entry.tool_description, target))
        else:
            found.append((Handoff.default_tool_name(target), Handoff.default_tool_description(target), target))
    return found


def _target(entry: Any) -> Any:
    from edgestudio.agents.agent import Agent
    from edgestudio.agents.handoffs import Handoff
    if isinstance(entry, Handoff):
        entry = entry.agent
    return entry if isinstance(entry, Agent) else None


def _name(tool: Any) -> str | None:
    """The name under which the file has a tool; None for what isn't one."""
    metadata = getattr(tool, "__edge_tool__", None)
    if metadata is not None:
        return metadata.name if metadata.name is not None else getattr(metadata.function, "__name__", "")
    name = getattr(tool, "name", None)
    return name if isinstance(name, str) and (hasattr(tool, "on_invoke_tool") or hasattr(tool, "hosted_config")) else None


def _what(value: Any) -> str:
    """A value in a message: most often a function whose decorator was forgotten, or an agent without as_tool."""
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    return f"a {type(value).__name__}" + (f" ({name})" if isinstance(name, str) else "")


def _behaviour(behaviour: Any) -> dict[str, Any]:
    if isinstance(behaviour, str):
        return {"kind": behaviour, "names": []}
    if isinstance(behaviour, dict):
        return {"kind": "stop_at_tools", "names": list(behaviour["stop_at_tool_names"])}
    return {"kind": "function", "names": []}


def decide(namespace: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Asks an agent's own function. With results: whether they end the run (tool_use_behavior). Without any: its instructions."""
    from edgestudio._async import finish
    from edgestudio.agents.agent import FunctionToolResult, ToolsToFinalOutputResult
    from edgestudio.agents.exceptions import UserError
    from edgestudio.agents.items import ToolCallOutputItem
    from edgestudio.agents.run_context import RunContextWrapper
    agent = next((agent for agent in find_agents(namespace) if agent.name == request["agent"]), None)
    if agent is None:
        raise UserError(f"the file has no agent {request['agent']!r}")
    context = RunContextWrapper(request.get("context"))
    if not request["results"]:
        return {"is_final_output": True, "final_output": finish(agent.get_system_prompt(context))}
    if not callable(agent.tool_use_behavior):
        raise UserError(f"{agent!r}: its tool_use_behavior isn't a function")
    results = []
    for given in request["results"]:
        tool = next((tool for tool in agent.tools if _name(tool) == given["tool"]), None)
        results.append(FunctionToolResult(tool, given["output"], ToolCallOutputItem(agent, given, given["output"])))
    decision = agent.tool_use_behavior(context, results)
    if hasattr(type(decision), "__await__"):
        decision = finish(decision)
    if not isinstance(decision, ToolsToFinalOutputResult):
        raise UserError(f"{agent!r}: the function given as tool_use_behavior returned a {type(decision).__name__}, not a ToolsToFinalOutputResult")
    output = decision.final_output
    return {"is_final_output": decision.is_final_output is True, "final_output": None if output is None else str(output)}
