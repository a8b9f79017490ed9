"""Handoffs: the conversation's request goes to another agent, which answers it."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Optional

from edgestudio.agents.exceptions import UserError

if TYPE_CHECKING:
    from edgestudio.agents.agent import Agent


@dataclass
class Handoff:
    """A way from one agent to another: to the model, a tool without arguments. Made by :func:`handoff`."""

    tool_name: str
    tool_description: str
    agent: Agent
    input_json_schema: dict[str, Any] = field(default_factory=lambda: {
        "type": "object", "properties": {}, "required": [], "additionalProperties": False})

    @property
    def agent_name(self) -> str:
        return self.agent.name

    @staticmethod
    def default_tool_name(agent: Agent) -> str:
        return tool_name_of("transfer_to_" + agent.name)

    @staticmethod
    def default_tool_description(agent: Agent) -> str:
        return f"Handoff to the {agent.name} agent to handle the request. {agent.handoff_description or ''}".strip()


def handoff(
    agent: Agent,
    *,
    tool_name_override: Optional[str] = None,
    tool_description_override: Optional[str] = None,
    on_handoff: Optional[Callable[..., Any]] = None,
    input_type: Optional[type] = None,
    input_filter: Optional[Callable[..., Any]] = None,
    is_enabled: bool = True,
) -> Optional[Handoff]:
    """A handoff to agent under a name and a description of its own; None, which ``handoffs`` leaves out, if not enabled.

    UserError for what edge doesn't have: callbacks, inputs of the handoff's own, filters of its history.
    """
    refuse("handoff", on_handoff=on_handoff, input_type=input_type, input_filter=input_filter)
    if not enabled("handoff", is_enabled):
        return None
    return Handoff(tool_name_override or Handoff.default_tool_name(agent),
                   tool_description_override or Handoff.default_tool_description(agent), agent)


def tool_name_of(text: str) -> str:
    """text as a tool may be called: lower case, anything but letters, digits and _ as _."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", text).lower()


def refuse(what: str, **given: Any) -> None:
    """Raises UserError for an argument that was given and that edge has nothing for."""
    for name, value in given.items():
        if value is not None and value is not False and value != [] and value != {}:
            raise UserError(f"{what}: {name} isn't supported: edge runs agents on local models, and has nothing that it could do. "
                            "Leave it out")


def enabled(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError(f"{what}: is_enabled is True or False here: a function would be asked in the middle of a run, "
                        "and an agent's tools are frozen before it")
    return value
