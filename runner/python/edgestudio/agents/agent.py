"""``Agent``: instructions, tools and other agents, run by ``edge agent run`` on a local model."""
from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Generic, Literal, Optional, TypedDict, Union

from edgestudio.agents.exceptions import ModelBehaviorError, UserError
from edgestudio.agents.handoffs import Handoff, enabled, refuse, tool_name_of
from edgestudio.agents.model_settings import ModelSettings
from edgestudio.agents.run_context import RunContextWrapper, TContext
from edgestudio.agents.tool import FunctionTool, default_tool_error_function

if TYPE_CHECKING:
    from edgestudio.agents.items import RunItem


class StopAtTools(TypedDict):
    """A ``tool_use_behavior``: the run ends with the output of the first of these tools that was called."""

    stop_at_tool_names: list[str]


@dataclass
class ToolsToFinalOutputResult:
    """What a function given as ``tool_use_behavior`` decided: whether the run ends, and with what."""

    is_final_output: bool
    final_output: Any = None


@dataclass
class FunctionToolResult:
    """One call's outcome, as a function given as ``tool_use_behavior`` reads it."""

    tool: FunctionTool
    output: Any
    run_item: Optional[RunItem] = None


ToolsToFinalOutputFunction = Callable[
    [RunContextWrapper[Any], "list[FunctionToolResult]"], Union[ToolsToFinalOutputResult, Awaitable[ToolsToFinalOutputResult]]]


@dataclass(eq=False)
class Agent(Generic[TContext]):
    """An agent. ``instructions`` is text, or a function of (context, agent) that gives it, at once or as an awaitable.

    ``model`` is noted and isn't used: all agents of a run share the model that ``edge agent run`` loads.
    Raises UserError for what edge doesn't have (hooks, guardrails, MCP servers, output types, stored prompts).
    """

    name: str
    handoff_description: Optional[str] = None
    tools: list[Any] = field(default_factory=list)
    mcp_servers: list[Any] = field(default_factory=list)
    mcp_config: dict[str, Any] = field(default_factory=dict)
    instructions: Union[str, Callable[..., Any], None] = None
    prompt: Any = None
    handoffs: list[Any] = field(default_factory=list)
    model: Any = None
    model_settings: Any = field(default_factory=ModelSettings)
    input_guardrails: list[Any] = field(default_factory=list)
    output_guardrails: list[Any] = field(default_factory=list)
    output_type: Any = None
    hooks: Any = None
    tool_use_behavior: Union[Literal["run_llm_again", "stop_on_first_tool"], StopAtTools, ToolsToFinalOutputFunction] = "run_llm_again"
    reset_tool_choice: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise UserError(f"an agent's name is text, got {self.name!r}")
        if self.instructions is not None and not isinstance(self.instructions, str) and not callable(self.instructions):
            raise UserError(f"{self!r}: instructions are text, a function or None, got a {type(self.instructions).__name__}")
        for what in ("tools", "handoffs"):
            if not isinstance(getattr(self, what), list):
                raise UserError(f"{self!r}: {what} is a list, got a {type(getattr(self, what)).__name__}")
        if self.handoff_description is not None and not isinstance(self.handoff_description, str):
            raise UserError(f"{self!r}: handoff_description is text or None, got a {type(self.handoff_description).__name__}")
        refuse(repr(self), mcp_servers=self.mcp_servers, mcp_config=self.mcp_config, prompt=self.prompt,
               input_guardrails=self.input_guardrails, output_guardrails=self.output_guardrails, hooks=self.hooks,
               output_type=None if self.output_type is str else self.output_type)
        if isinstance(self.model_settings, dict):
            self.model_settings = ModelSettings(**self.model_settings)
        if not isinstance(self.model_settings, ModelSettings):
            raise UserError(f"{self!r}: model_settings are ModelSettings, got a {type(self.model_settings).__name__}")
        behaviour = self.tool_use_behavior
        if behaviour not in ("run_llm_again", "stop_on_first_tool") and not callable(behaviour) and not (
                isinstance(behaviour, dict) and list(behaviour) == ["stop_at_tool_names"] and all(isinstance(name, str) for name in behaviour["stop_at_tool_names"])):
            raise UserError(f"{self!r}: tool_use_behavior is 'run_llm_again', 'stop_on_first_tool', StopAtTools or a function, got {behaviour!r}")

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    def clone(self, **changes: Any) -> Agent[TContext]:
        """A copy with some arguments changed; its lists are the same objects unless new ones are given."""
        return replace(self, **changes)

    def as_tool(
        self,
        tool_name: Optional[str] = None,
        tool_description: Optional[str] = None,
        custom_output_extractor: Optional[Callable[..., Any]] = None,
        is_enabled: bool = True,
        *,
        max_turns: Optional[int] = None,
        failure_error_function: Optional[Callable[..., Any]] = default_tool_error_function,
        needs_approval: bool = False,
        parameters: Optional[type] = None,
        input_builder: Optional[Callable[..., Any]] = None,
        hooks: Any = None,
        run_config: Any = None,
        session: Any = None,
        on_stream: Optional[Callable[..., Any]] = None,
    ) -> AgentTool:
        """This agent as a tool of another: ``input``, a text, goes to it, and its final output is the tool's.

        ``max_turns`` bounds the model's replies of one such run. With ``failure_error_function=None`` a run that fails
        ends its caller's, too; otherwise the caller's model reads why it failed.
        UserError for what edge doesn't have: other functions in the loop, inputs of other types, sessions.
        """
        what = f"{self!r}.as_tool"
        refuse(what, custom_output_extractor=custom_output_extractor, needs_approval=needs_approval, parameters=parameters,
               input_builder=input_builder, hooks=hooks, run_config=run_config, session=session, on_stream=on_stream)
        if failure_error_function is not default_tool_error_function:
            refuse(what, failure_error_function=failure_error_function)
        if max_turns is not None and (type(max_turns) is not int or max_turns < 1):
            raise UserError(f"{what}: max_turns is a whole number from 1, got {max_turns!r}")
        return AgentTool(
            name=tool_name or tool_name_of(self.name), description=tool_description or "",
            params_json_schema={"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
            on_invoke_tool=_run_as_tool(self, max_turns), agent=self, max_turns=max_turns,
            tells_failures=failure_error_function is not None, is_enabled=enabled(what, is_enabled))

    async def get_system_prompt(self, context: RunContextWrapper[TContext]) -> Optional[str]:
        """The instructions; asks the function if they are one. UserError where it doesn't give text."""
        if self.instructions is None or isinstance(self.instructions, str):
            return self.instructions
        text = self.instructions(context, self)
        if hasattr(type(text), "__await__"):
            text = await text
        if not isinstance(text, str):
            raise UserError(f"{self!r}: the function of its instructions gave a {type(text).__name__}, not text")
        return text


@dataclass
class AgentTool(FunctionTool):
    """An agent as a tool. ``edge agent run`` runs it itself; in a Python program on_invoke_tool has edge run it."""

    agent: Any = None
    max_turns: Optional[int] = None
    tells_failures: bool = True
    is_enabled: bool = True


def _run_as_tool(agent: Agent[Any], max_turns: Optional[int]) -> Callable[[RunContextWrapper[Any], str], Awaitable[Any]]:
    async def on_invoke_tool(context: RunContextWrapper[Any], input: str) -> Any:
        from edgestudio.agents.run import DEFAULT_MAX_TURNS, Runner
        try:
            text = json.loads(input)["input"]
        except (ValueError, TypeError, KeyError) as error:
            raise ModelBehaviorError(f"{agent!r} as a tool takes a JSON object with the text input") from error
        result = await Runner.run(agent, text, context=context.context, max_turns=max_turns or DEFAULT_MAX_TURNS)
        context.usage.add(result.context_wrapper.usage)
        return result.final_output

    return on_invoke_tool
