"""Runner.run: what it has the program edge do, and what it makes of the answer. The program is a script here."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

USAGE = {"prompt_tokens": 10, "cached_tokens": 0, "prefilled_tokens": 10, "generated_tokens": 3, "forced_tokens": 1}


def call(name: str, output: str, run: Any = None) -> dict[str, Any]:
    return {"tool_name": name, "arguments": {}, "status": "ok", "result": {"output": output}, "run": run}


def step(agent: str, answer: str, *calls: dict[str, Any], handoff_to: str = "") -> dict[str, Any]:
    return {"agent": agent, "answer": answer, "answer_source": "model", "tool_calls": list(calls), "handoff_to": handoff_to, "model_replies": 1, "usage": USAGE}


INNER = {"steps": [step("two", "It rains.")]}
ANSWER = {
    "schema": "edge.agent/v1", "ok": True, "final_output": "Take an umbrella.", "finish_reason": "answer", "agent": "one", "last_agent": "two", "pending_action": None,
    "steps": [step("one", "", call("ask_two", "It rains.", INNER), call("transfer_to_two", "two"), handoff_to="two"), step("two", "Take an umbrella.")],
}
FILE = """
from edgestudio.agents import *
two = Agent("two")
one = Agent("one", tools=[two.as_tool("ask_two", "Ask.")], handoffs=[two])
def hidden():
    return Agent("hidden")
if __name__ == "__main__":
    try:
        BODY
    except AgentsException as error:
        print(type(error).__name__, error)
"""


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Runs a file with a body that has edge answer with something, and gives what it printed and what edge was asked."""
    if os.name == "nt":
        (tmp_path / "edge.bat").write_text(f'@"{sys.executable}" "{tmp_path / "edge.py"}" %*')
        edge = tmp_path / "edge.bat"
    else:
        edge = tmp_path / "edge"
        edge.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "edge.py"}" "$@"\n')
        edge.chmod(0o700)
    (tmp_path / "edge.py").write_text("import json, pathlib, sys\nhere = pathlib.Path(__file__).parent\n(here / 'asked').write_text(json.dumps(sys.argv[1:]))\nprint((here / 'answer').read_text())")

    def run(body: str, answer: Any = ANSWER, **environment: str) -> tuple[list[str], list[str]]:
        (tmp_path / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
        (tmp_path / "asked").write_text("[]")
        path = tmp_path / "file.py"
        path.write_text(FILE.replace("BODY", body.replace("\n", "\n        ")))
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env={
            **os.environ, "PYTHONPATH": str(ROOT), "EDGE_BIN": str(edge), **environment})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), json.loads((tmp_path / "asked").read_text())

    return run


def test_an_agent_is_run_by_edge(program: Any, tmp_path: Path) -> None:
    said, asked = program("""result = Runner.run_sync(one, "Weather?", context={"a": 1}, max_turns=5)
print(result.final_output); print(result.last_agent is two, result.context_wrapper.context)
print(result.pending_action, result.final_output_as(str, True))
for item in result.new_items: print(item.type, item.agent.name, getattr(item, "output", ""))
print(ItemHelpers.text_message_outputs(result.new_items)); print(result.context_wrapper.usage)""")
    assert said == [
        "Take an umbrella.", "True {'a': 1}", "None Take an umbrella.",
        "tool_call_item one ", "tool_call_output_item one It rains.", "handoff_call_item one ", "handoff_output_item one ", "message_output_item two ",
        "Take an umbrella.", "Usage(requests=3, input_tokens=30, output_tokens=12, total_tokens=42)"]
    assert asked == ["agent", "run", str(tmp_path / "file.py"), "--agent", "one", "--prompt", "Weather?", "--max-turns", "5", "--json", "--context", '{"a": 1}']


def test_more_arguments_come_from_the_environment(program: Any) -> None:
    assert program("Runner.run_sync(one, 'x')", EDGE_AGENT_ARGS="--with-imprints 'a b.json'")[1][-3:] == ["--json", "--with-imprints", "a b.json"]


def test_an_agent_as_tool_runs_in_a_program_too(program: Any) -> None:
    said, asked = program("""import asyncio
context = RunContextWrapper(None)
print(asyncio.run(one.tools[0].on_invoke_tool(context, '{"input": "Rain?"}')), context.usage.requests)
asyncio.run(one.tools[0].on_invoke_tool(context, '{"question": "Rain?"}'))""")
    assert said == ["Take an umbrella. 3", "ModelBehaviorError Agent('two') as a tool takes a JSON object with the text input"]
    assert asked[3:7] == ["--agent", "two", "--prompt", "Rain?"]


@pytest.mark.parametrize(("body", "says"), [
    ("Runner.run_sync(hidden(), 'x')", "UserError Agent('hidden') is in no variable of a module"),
    ("Runner.run_sync(one, [{'role': 'user'}])", "UserError the input of a run is text, got a list"),
    ("Runner.run_sync(one, 'x', context=object())", "UserError the context goes to another process, so it must be JSON"),
    ("Runner.run_sync(one, 'x', session=object())", "UserError Runner.run: session isn't supported"),
    ("import os; os.environ['EDGE_BIN'] = 'no-such-program'; Runner.run_sync(one, 'x')", "UserError the program no-such-program isn't there"),
])
def test_what_cannot_be_run_is_refused(program: Any, body: str, says: str) -> None:
    said, asked = program(body)
    assert said[-1].startswith(says) and asked == []


@pytest.mark.parametrize(("answer", "says"), [
    ({"schema": "edge.error/v1", "error": {"code": "agent_cycle", "class": "usage", "message": "a circle"}}, "UserError a circle [agent_cycle]"),
    ({"schema": "edge.error/v1", "error": {"code": "model_not_found", "class": "missing", "message": "no model"}}, "AgentsException no model [model_not_found]"),
    ({**ANSWER, "finish_reason": "turn_limit", "final_output": "I stopped."}, "MaxTurnsExceeded I stopped."),
    ("", "AgentsException edge ended with status 0 and without an answer"),
])
def test_a_failure_is_raised(program: Any, answer: Any, says: str) -> None:
    assert program("Runner.run_sync(one, 'x')", answer)[0] == [says]
