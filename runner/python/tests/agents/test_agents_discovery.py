"""Function tools and hosted tools among a file's names: what an inspection says of them, and a call in the runner."""
from __future__ import annotations

import conftest
import pytest

HEAD = "from edgestudio.agents import Agent, FileSearchTool, FunctionTool, RunContextWrapper, ToolContext, function_tool\nfrom edgestudio.tools import edge_tool\n"


def write(runner: conftest.Runner, text: str) -> conftest.Runner:
    runner.write(HEAD, head=False)
    runner.path.write_text(HEAD + conftest.textwrap.dedent(text), encoding="utf-8")
    return runner


def test_a_function_tool_is_described(runner: conftest.Runner) -> None:
    found = write(runner, """
        @function_tool
        def f(a: int) -> str:
            '''Do f.'''
            return str(a)
        """).inspect().tools
    assert found["f"] == {
        "name": "f", "description": "Do f.", "execution_level": "read", "return_direct": False, "permissions": ["read_local"],
        "intent_tags": [], "line": 5, "function": "f", "surface": "function",
        "parameters": {"type": "object", "title": "f_args", "properties": {"a": {"title": "A", "type": "integer"}}, "required": ["a"], "additionalProperties": False},
        "output_schema": {"type": "object", "properties": {"output": {"type": "string"}}, "required": ["output"], "additionalProperties": False},
    }


def test_all_surfaces_in_the_order_of_the_file(runner: conftest.Runner) -> None:
    runner.write("from edgestudio.agents import function_tool\n@function_tool\ndef near() -> int:\n    'd'\n    return 1\n@function_tool\ndef unused() -> int:\n    'd'\n    return 1\n", name="near.py", head=False)
    found = write(runner, """
        from near import near
        import near as module

        docs = FileSearchTool(folder="docs")

        @edge_tool
        def e(a: int) -> int:
            'd'
            return a

        made = also = FunctionTool("by_hand", "d", {}, None)
        """).inspect().tools
    assert {name: (tool.get("surface"), tool["line"]) for name, tool in found.items()} == {
        "near": ("function", 4), "file_search": ("hosted", 7), "e": (None, 10), "by_hand": ("function", 14)}
    assert found["file_search"]["hosted"] == {"kind": "file_search", "folders": ["docs"], "max_num_results": 8, "include_search_results": False}


def test_tools_of_an_agent_count(runner: conftest.Runner) -> None:
    runner.write("from edgestudio.agents import function_tool\nfrom edgestudio.tools import edge_tool\n@function_tool\ndef far() -> int:\n    'd'\n    return 2\n@edge_tool\ndef other() -> int:\n    'd'\n    return 3\n", name="far.py", head=False)
    answer = write(runner, """
        import far
        helper = Agent(name="helper")
        boss = Agent(name="boss", tools=[far.far, far.other, helper.as_tool()])
        """).inspect()
    assert sorted(answer.tools) == ["far", "other"]
    assert [agent["name"] for agent in answer.json["agents"]] == ["helper", "boss"]
    assert runner.call("far").result == {"output": "2"} and runner.call("other").result == {"result": 3}


def test_names_are_unique_across_surfaces(runner: conftest.Runner) -> None:
    errors = write(runner, """
        @edge_tool
        def f(a: int) -> int:
            'd'
            return a
        other = FunctionTool("f", "d", {}, None)
        """).inspect().errors
    assert [(error["code"], error["line"], error["message"]) for error in errors] == [
        ("duplicate_tool_name", 8, "the name 'f' is taken by the tool in line 5")]
    assert runner.call("f", {"a": 1}).code == "duplicate_tool_name"


@pytest.mark.parametrize(("tool", "code", "message"), [
    ("FunctionTool('no name', 'd', {}, None)", "invalid_tool_name", "'no name' isn't a tool name"),
    ("FunctionTool(3, 'd', {}, None)", "invalid_tool_metadata", "name is an int, want a str"),
    ("FunctionTool('f', None, {}, None)", "invalid_tool_metadata", "description is None, want a str"),
    ("FunctionTool('f', 'd', None, None, strict_json_schema=False)", "unsupported_schema", "params_json_schema is None, want a dict"),
    ("FunctionTool('f', 'd', {'type': 'object', 'default': {1}}, None, strict_json_schema=False)", "unsupported_schema", "params_json_schema isn't JSON: a value of type set at ['default']"),
])
def test_what_is_wrong_with_a_tool_made_by_hand(runner: conftest.Runner, tool: str, code: str, message: str) -> None:
    error, = write(runner, f"t = {tool}\n").inspect().errors
    assert error["code"] == code and error["message"].startswith(message) and error["line"] == 3


def test_an_approval_makes_a_commit_call(runner: conftest.Runner) -> None:
    found = write(runner, """
        async def sometimes(context, arguments, call):
            return False

        @function_tool(needs_approval=True)
        def f() -> int:
            'd'
            return 1

        @function_tool(needs_approval=sometimes)
        def g() -> int:
            'd'
            return 1
        """).inspect().tools
    assert [(tool["execution_level"], tool["return_direct"]) for tool in found.values()] == [("commit", True)] * 2


def test_no_tools_are_no_tools(runner: conftest.Runner) -> None:
    assert write(runner, "").inspect().codes == ["no_tools_found"]
    assert write(runner, "a = Agent(name='a')\n").inspect().codes == []


def test_a_result_is_text(runner: conftest.Runner) -> None:
    write(runner, """
        class Odd:
            def __str__(self): raise ZeroDivisionError

        @function_tool
        async def f(ctx: ToolContext, kind: str) -> object:
            'd'
            return {"none": None, "dict": {"a": 1}, "odd": Odd(), "long": "x" * 70000, "torn": "\\ud800",
                    "context": [ctx.context, ctx.tool_name, ctx.tool_arguments]}[kind]
        """)
    assert runner.call(arguments={"kind": "none"}).result == {"output": "None"}
    assert runner.call(arguments={"kind": "dict"}).result == {"output": "{'a': 1}"}
    assert runner.call(arguments={"kind": "context"}, context={"u": 1}).result == {"output": "[{'u': 1}, 'f', '{\"kind\":\"context\"}']"}
    assert runner.call(arguments={"kind": "odd"}).code == "tool_raised"
    assert runner.call(arguments={"kind": "long"}).code == "tool_result_oversized"
    assert runner.call(arguments={"kind": "torn"}).code == "unsupported_tool_result"


def test_an_error_in_words_is_told_from_a_result(runner: conftest.Runner) -> None:
    write(runner, """
        def words(ctx, error):
            return 7

        @function_tool(failure_error_function=words)
        def f(n: int) -> str:
            'd'
            if n: raise KeyError("hidden")
            return "fine"

        @function_tool
        async def outer(n: int) -> str:
            'd'
            inner = await f.on_invoke_tool(RunContextWrapper(None), '{"n": 1}')
            return inner if n else "made good"

        @function_tool
        def leaves() -> str:
            'd'
            raise SystemExit
        """)
    told = runner.call("f", {"n": 1}).json
    assert told["told"] == {"kind": "KeyError"} and told["result"] == {"output": "7"} and "hidden" not in str(told)
    assert "told" not in runner.call("f", {"n": 0}).json
    assert runner.call("f", {"n": "x"}).json["told"] == {"kind": "ModelBehaviorError"}
    assert "told" not in runner.call("outer", {"n": 0}).json
    assert runner.call("outer", {"n": 1}).json["told"] == {"kind": "KeyError"}  # passed on, it is the error still
    assert runner.call("leaves").code == "tool_raised"


def test_without_words_it_fails_closed(runner: conftest.Runner) -> None:
    write(runner, """
        @function_tool(failure_error_function=None)
        def f(n: int) -> str:
            'd'
            raise KeyError("hidden")
        """)
    raised, wrong = runner.call("f", {"n": 1}), runner.call("f", {"n": "x"})
    assert raised.code == "tool_raised" and raised.json["error"]["message"] == "KeyError" and raised.json["error"]["line"] == 7
    assert wrong.code == "invalid_tool_args" and wrong.json["error"]["message"] == "ModelBehaviorError"


def test_a_hosted_tool_is_not_called_here(runner: conftest.Runner) -> None:
    answer = write(runner, "docs = FileSearchTool(folder='docs')\n").call("file_search", {"query": "x"})
    assert answer.code == "unknown_tool" and "edge runs it itself" in answer.json["error"]["message"]


def test_what_a_file_imports_is_noted_for_the_next_process(runner: conftest.Runner) -> None:
    assert write(runner, "t = FunctionTool('t', 'd', {}, None)\n").inspect().json["preload"] == ["edgestudio.agents"]
    assert write(runner, "@function_tool\ndef f() -> int:\n    'd'\n").inspect().json["preload"] == ["edgestudio.agents", "pydantic", "griffe"]
    assert "preload" not in runner.inspect("@edge_tool\ndef f():\n    'd'\n").json
