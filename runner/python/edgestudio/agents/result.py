"""What ``Runner.run`` gives."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgestudio.agents import items
from edgestudio.agents.run_context import RunContextWrapper, Usage

if TYPE_CHECKING:
    from edgestudio.agents.agent import Agent


@dataclass
class RunResult:
    """``final_output`` is text. ``pending_action`` says how to confirm what the run waits for; None where it waits for nothing.
    ``raw`` is all of ``edge.agent/v1``."""

    input: str
    new_items: list[items.RunItem]
    final_output: Any
    last_agent: Agent
    context_wrapper: RunContextWrapper[Any]
    raw: dict[str, Any]

    @property
    def pending_action(self) -> Any:
        return self.raw.get("pending_action")

    def final_output_as(self, cls: type, raise_if_incorrect_type: bool = False) -> Any:
        """final_output, which is promised to be of a type; TypeError where that is wanted and isn't so."""
        if raise_if_incorrect_type and not isinstance(self.final_output, cls):
            raise TypeError(f"the final output is a {type(self.final_output).__name__}, not a {cls.__name__}")
        return self.final_output

    def __str__(self) -> str:
        return f"RunResult(final_output={self.final_output!r}, last_agent={self.last_agent!r})"


def read_result(raw: dict[str, Any], agents: dict[str, Agent], input: str, context: Any) -> RunResult:
    """The result of edge.agent/v1; agents are those of the file, by name."""
    usage = Usage()
    for step in raw["steps"]:
        _count(step, usage)
    found = [item for step in raw["steps"] for item in _items(step, agents)]
    return RunResult(input, found, raw["final_output"], agents[raw["last_agent"]], RunContextWrapper(context, usage), raw)


def _count(step: dict[str, Any], usage: Usage) -> None:
    """Adds what a step used, and the runs inside it."""
    used = step["usage"]
    out = used["generated_tokens"] + used["forced_tokens"]
    usage.add(Usage(step["model_replies"], used["prompt_tokens"], out, used["prompt_tokens"] + out))
    for call in step["tool_calls"]:
        for inner in (call.get("run") or {}).get("steps", []):
            _count(inner, usage)


def _items(step: dict[str, Any], agents: dict[str, Agent]) -> list[items.RunItem]:
    """A step's calls, with what came of them, and then the handoff or the message that ended it."""
    agent = agents[step["agent"]]
    target = step["handoff_to"]
    found: list[items.RunItem] = []
    for at, call in enumerate(step["tool_calls"]):
        if target and at == len(step["tool_calls"]) - 1:
            found += [items.HandoffCallItem(agent, call), items.HandoffOutputItem(agent, call, agent, agents[target])]
        else:
            result = call["result"]
            output = result["output"] if isinstance(result, dict) and list(result) == ["output"] else result
            found += [items.ToolCallItem(agent, call), items.ToolCallOutputItem(agent, call, output)]
    if not target:
        found.append(items.MessageOutputItem(agent, {"text": step["answer"], "source": step["answer_source"]}))
    return found
