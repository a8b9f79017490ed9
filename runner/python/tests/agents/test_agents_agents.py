"""Agents: what they take and refuse, how a file's are described, and what of them runs in Python."""
from __future__ import annotations

import asyncio
from typing import Any

import pytest
from edgestudio import _agents
from edgestudio.agents import (
    Agent,
    FunctionTool,
    FunctionToolResult,
    ModelSettings,
    RunContextWrapper,
    StopAtTools,
    ToolsToFinalOutputResult,
    UserError,
    function_tool,
    handoff,
)
from edgestudio.tools import edge_tool


@function_tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@edge_tool(description="Subtract.", name="minus")
def subtract(a: int, b: int) -> int:
    return a - b


def described(**agents: Agent) -> dict[str, Any]:
    return {entry["name"]: entry for entry in _agents.describe_agents(agents)}


def test_an_agent_holds_its_tools_and_shows_them() -> None:
    agent = Agent(name="Sums", instructions="You add.", tools=[add])
    assert [(tool.name, tool.description, list(tool.params_json_schema["properties"])) for tool in agent.tools if isinstance(tool, FunctionTool)] == [("add", "Add.", ["a", "b"])]
    assert repr(agent) == "Agent('Sums')"


def test_a_file_s_agents_are_described() -> None:
    sums = Agent(name="Sums", instructions="You add.", tools=[add, subtract], handoff_description="adds numbers", model="gpt-4o",
                 model_settings=ModelSettings(temperature=0.5, max_tokens=64, tool_choice="required", top_p=0.1))
    boss = Agent("Boss", tools=[sums.as_tool("ask_sums", "Ask for sums.", max_turns=3)], handoffs=[sums], reset_tool_choice=False)
    found = described(boss=boss)
    assert list(found) == ["Boss", "Sums"]  # also what no variable holds
    assert found["Sums"] == {
        "name": "Sums", "variable": "", "instructions": "You add.", "dynamic": False, "handoff_description": "adds numbers",
        "tools": ["add", "minus"], "agent_tools": [], "handoffs": [], "model": "gpt-4o",
        "settings": {"tool_choice": "required", "temperature": 0.5, "max_tokens": 64}, "unused_settings": ["top_p"],
        "tool_use_behavior": {"kind": "run_llm_again", "names": []}, "reset_tool_choice": True, "problems": []}
    assert found["Boss"]["agent_tools"] == [{"name": "ask_sums", "description": "Ask for sums.", "agent": "Sums", "max_turns": 3, "tells_failures": True}]
    assert found["Boss"]["handoffs"] == [{"name": "transfer_to_sums", "description": "Handoff to the Sums agent to handle the request. adds numbers", "agent": "Sums"}]
    assert found["Boss"]["variable"] == "boss" and found["Boss"]["instructions"] is None and found["Boss"]["reset_tool_choice"] is False
    assert _agents.tools_of_agents({"boss": boss}) == [add, subtract]


def test_of_several_variables_the_one_that_begins_counts() -> None:
    one = Agent("one")
    assert described(one=one, agent=one)["one"]["variable"] == "agent"
    assert described(one=one, agent=Agent("two"))["one"]["variable"] == "one"


def test_each_behaviour_is_described() -> None:
    def decide(context: RunContextWrapper[Any], results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:
        return ToolsToFinalOutputResult(True, results[0].output)

    for behaviour, want in (
        ("run_llm_again", {"kind": "run_llm_again", "names": []}), ("stop_on_first_tool", {"kind": "stop_on_first_tool", "names": []}),
        (StopAtTools(stop_at_tool_names=["add"]), {"kind": "stop_at_tools", "names": ["add"]}), (decide, {"kind": "function", "names": []}),
    ):
        assert described(a=Agent("a", tools=[add], tool_use_behavior=behaviour))["a"]["tool_use_behavior"] == want


def test_agents_that_refer_to_each_other_are_found_once() -> None:
    one, two = Agent("one"), Agent("two")
    one.handoffs.append(two)
    two.handoffs.append(one)
    assert list(described(one=one, two=two, again=one)) == ["one", "two"]


def test_as_tool() -> None:
    tool = Agent(name="Translate to Latin!").as_tool(tool_name=None, tool_description="Translate.")
    assert isinstance(tool, FunctionTool) and _agents.is_agent_tool(tool) and not _agents.is_agent_tool(add)
    assert (tool.name, tool.description) == ("translate_to_latin_", "Translate.")
    assert tool.params_json_schema == {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"], "additionalProperties": False}
    assert described(a=Agent("a", tools=[Agent("b").as_tool("t", "", failure_error_function=None)]))["a"]["agent_tools"][0]["tells_failures"] is False
    assert described(a=Agent("a", tools=[Agent("b").as_tool("t", "", is_enabled=False)]))["a"]["agent_tools"] == []


def test_handoffs_have_names_of_their_own() -> None:
    found = described(a=Agent("a", handoffs=[handoff(Agent("Big Boss"), tool_name_override="up", tool_description_override="Go up."), Agent("Big Boss 2"), handoff(Agent("c"), is_enabled=False)]))
    assert [(link["name"], link["description"], link["agent"]) for link in found["a"]["handoffs"]] == [
        ("up", "Go up.", "Big Boss"), ("transfer_to_big_boss_2", "Handoff to the Big Boss 2 agent to handle the request.", "Big Boss 2")]
    assert list(found) == ["a", "Big Boss", "Big Boss 2"]


def test_clone_changes_what_is_named() -> None:
    one = Agent("one", instructions="Be kind.", tools=[add])
    two = one.clone(name="two", instructions="Be brief.")
    assert (two.name, two.instructions, two.tools) == ("two", "Be brief.", [add]) and one.name == "one" and two is not one


@pytest.mark.parametrize("wrong", [
    {"name": ""}, {"name": 5}, {"instructions": 5}, {"tools": add}, {"handoffs": ()}, {"model_settings": "hot"}, {"tool_use_behavior": "stop"},
    {"tool_use_behavior": {"names": []}}, {"tool_use_behavior": {"stop_at_tool_names": [1]}}, {"handoff_description": 5}, {"hooks": object()}, {"output_type": int}, {"input_guardrails": [1]}, {"output_guardrails": [1]},
    {"mcp_servers": [1]}, {"prompt": {"id": "p"}},
])
def test_what_an_agent_cannot_have_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError) as refused:
        Agent(**{"name": "a", **wrong})
    assert next(iter(wrong)).split("_")[0] in str(refused.value)


@pytest.mark.parametrize("wrong", [
    {"custom_output_extractor": str}, {"needs_approval": True}, {"parameters": dict}, {"on_stream": print}, {"failure_error_function": str},
    {"is_enabled": lambda context, agent: True}, {"max_turns": 0},
])
def test_what_an_agent_as_tool_cannot_have_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        Agent("a").as_tool("t", "", **wrong)


@pytest.mark.parametrize("wrong", [{"on_handoff": print}, {"input_type": dict}, {"input_filter": print}, {"is_enabled": print}])
def test_what_a_handoff_cannot_have_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        handoff(Agent("a"), **wrong)


def test_what_is_no_tool_and_no_handoff_is_a_problem_of_its_agent() -> None:
    assert described(a=Agent("a", tools=[len], handoffs=["b"]))["a"]["problems"] == [
        "a tool is a builtin_function_or_method (len): function tools, hosted tools, functions with @edge_tool and agents as tools can be used",
        "a handoff is a str: agents and handoff(…) can be used"]


def test_settings_that_no_model_takes_are_a_problem_of_their_agent() -> None:
    settings = ModelSettings(temperature=float("nan"), max_tokens=0, tool_choice={"name": "add"})
    assert described(a=Agent("a", model_settings=settings))["a"]["problems"] == [
        "its model settings: temperature is nan", "its model settings: max_tokens is 0", "its model settings: tool_choice is {'name': 'add'}"]


def test_settings_may_be_a_dict_and_are_resolved() -> None:
    assert Agent("a", model_settings={"temperature": 1}).model_settings == ModelSettings(temperature=1)
    assert ModelSettings(temperature=1, max_tokens=5).resolve(ModelSettings(max_tokens=7)) == ModelSettings(temperature=1, max_tokens=7)
    assert ModelSettings(temperature=1).resolve(None) == ModelSettings(temperature=1)


def test_instructions_may_be_a_function() -> None:
    async def slow(context: RunContextWrapper[Any], agent: Agent) -> str:
        return f"{agent.name} serves {context.context}"

    for function in (lambda context, agent: f"{agent.name} serves {context.context}", slow):
        agent = Agent("Bo", instructions=function)
        assert asyncio.run(agent.get_system_prompt(RunContextWrapper("Ana"))) == "Bo serves Ana"
        entry = described(a=agent)["Bo"]
        assert (entry["dynamic"], entry["instructions"]) == (True, None)
        assert _agents.decide({"a": agent}, {"agent": "Bo", "results": [], "context": "Ana"}) == {"is_final_output": True, "final_output": "Bo serves Ana"}
    with pytest.raises(UserError, match="gave a int, not text"):
        asyncio.run(Agent("Bo", instructions=lambda context, agent: 5).get_system_prompt(RunContextWrapper(None)))


def test_a_function_decides_whether_results_end_the_run() -> None:
    async def custom_tool_use_behavior(context: RunContextWrapper[Any], results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:
        return ToolsToFinalOutputResult(is_final_output=results[0].tool is add, final_output=f"{results[0].output} {context.context['unit']}")

    def ask(agent: Agent, tool: str) -> dict[str, Any]:
        return _agents.decide({"x": agent}, {"op": "decide", "agent": agent.name, "results": [{"tool": tool, "output": "7"}], "context": {"unit": "m"}})

    agent = Agent("a", tools=[add, subtract], tool_use_behavior=custom_tool_use_behavior)
    assert ask(agent, "add") == {"is_final_output": True, "final_output": "7 m"}
    assert ask(agent, "minus") == {"is_final_output": False, "final_output": "7 m"}
    assert ask(agent.clone(tool_use_behavior=lambda context, results: ToolsToFinalOutputResult(False)), "add") == {"is_final_output": False, "final_output": None}
    with pytest.raises(UserError, match="returned a str, not a ToolsToFinalOutputResult"):
        ask(agent.clone(tool_use_behavior=lambda context, results: "done"), "add")
    with pytest.raises(UserError, match="its tool_use_behavior isn't a function"):
        ask(agent.clone(tool_use_behavior="run_llm_again"), "add")
    with pytest.raises(UserError, match="the file has no agent 'gone'"):
        _agents.decide({"x": agent}, {"agent": "gone", "results": []})
