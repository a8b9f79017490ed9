"""Making tools, calling them, and what becomes of errors."""
from __future__ import annotations

import asyncio
import copy
import dataclasses
import functools
import json
import logging
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from edgestudio.agents import (
    FunctionTool, ModelBehaviorError, RunContextWrapper, ToolContext, Usage, UserError, default_tool_error_function, function_tool,
)
from edgestudio.agents import _debug
from edgestudio.agents.logger import truncate_for_logging
from edgestudio.agents.tracing import SpanError, span
from pydantic import BaseModel
from typing_extensions import TypedDict

CONTEXT: RunContextWrapper = RunContextWrapper({"user": "Ann"})


class Weather(BaseModel):
    city: str


def invoke(tool: FunctionTool, arguments: Any = "", context: Any = CONTEXT) -> Any:
    return asyncio.run(tool.on_invoke_tool(context, arguments if isinstance(arguments, str) else json.dumps(arguments)))


def test_bare_and_with_arguments() -> None:
    @function_tool
    def read_log(path: str) -> str:
        """Read a log.

        Args:
            path: Where it lies.
        """
        return path

    assert isinstance(read_log, FunctionTool)
    assert (read_log.name, read_log.description, read_log.strict_json_schema) == ("read_log", "Read a log.", True)
    assert read_log.params_json_schema == {
        "title": "read_log_args", "type": "object", "properties": {"path": {"title": "Path", "type": "string", "description": "Where it lies."}},
        "required": ["path"], "additionalProperties": False}

    def sphinx(path: str = "x") -> str:
        """Read.

        :param path: Where.
        """
        return path

    named = function_tool(name_override="rl", description_override="Reads.", docstring_style="sphinx", strict_mode=False)(sphinx)
    assert (named.name, named.description, named.strict_json_schema) == ("rl", "Reads.", False)
    assert named.params_json_schema["properties"]["path"]["description"] == "Where." and "required" not in named.params_json_schema
    silent = function_tool(sphinx, use_docstring_info=False)
    assert silent.description == "" and "description" not in silent.params_json_schema["properties"]["path"]
    assert "description" not in function_tool(sphinx, docstring_style="numpy").params_json_schema["properties"]["path"]
    assert invoke(named, "") == "x"


def test_a_tool_made_by_hand_is_called_as_it_is() -> None:
    class Args(BaseModel):
        username: str
        age: int

    async def run(ctx: RunContextWrapper[Any], args: str) -> str:
        parsed = Args.model_validate_json(args)
        return f"{parsed.username} is {parsed.age}"

    schema = Args.model_json_schema()
    tool = FunctionTool(name="process_user", description="Processes.", params_json_schema=schema, on_invoke_tool=run)
    assert tool.strict_json_schema and tool.params_json_schema == {**schema, "additionalProperties": False}
    assert "additionalProperties" not in schema
    assert invoke(tool, {"username": "Ann", "age": 3}) == "Ann is 3"
    with pytest.raises(ValueError):  # its errors are its own
        invoke(tool, "{}")
    loose = FunctionTool("process_user", "Processes.", schema, run, strict_json_schema=False)
    assert loose.params_json_schema is schema and invoke(loose, {"username": "Ann", "age": 3, "bar": "baz"}) == "Ann is 3"


def test_a_plain_function_runs_in_a_thread_and_an_async_one_in_the_loop() -> None:
    place: ContextVar[str] = ContextVar("place")

    @function_tool
    def plain() -> tuple:
        return threading.current_thread() is threading.main_thread(), place.get()

    @function_tool
    async def waiting() -> tuple:
        await asyncio.sleep(0)
        return threading.current_thread() is threading.main_thread(), place.get()

    place.set("here")
    assert invoke(plain) == (False, "here") and invoke(waiting) == (True, "here")


def test_plain_functions_do_not_hold_up_the_loop() -> None:
    met = threading.Barrier(2, timeout=20)

    @function_tool(failure_error_function=None)
    def meet() -> int:
        return met.wait()

    async def both() -> list:
        return await asyncio.gather(*(meet.on_invoke_tool(CONTEXT, "") for _ in range(2)))

    assert sorted(asyncio.run(both())) == [0, 1]


def test_the_context_arrives_and_is_not_shown() -> None:
    @function_tool
    def who(ctx: RunContextWrapper[dict], greeting: str) -> str:
        return f"{greeting} {ctx.context['user']}"

    @function_tool
    async def which(ctx: ToolContext[dict]) -> str:
        return f"{ctx.tool_name} {ctx.tool_call_id} {ctx.tool_arguments} {ctx.usage.requests}"

    assert list(who.params_json_schema["properties"]) == ["greeting"] and invoke(who, {"greeting": "Hi"}) == "Hi Ann"
    assert invoke(which, "", ToolContext(None, Usage(requests=2), tool_name="t", tool_call_id="1", tool_arguments="{}")) == "t 1 {} 2"
    with pytest.raises(TypeError, match="tool_name"):
        ToolContext(None)


class IPAddress(TypedDict):
    ip: str


def test_the_seeds_examples() -> None:
    @function_tool
    async def check_ip_reputation(ip_data: IPAddress) -> str:
        """Check if an IP address has a bad reputation.

        Args:
            ip_data: A dictionary with the IP address to check.
        """
        return "malicious" if ip_data["ip"].startswith("192.168") else "clean"

    @function_tool(name_override="read_log_file")
    def read(ctx: RunContextWrapper[Any], path: str, directory: str | None = None) -> str:
        """Read the contents of a log file.

        Args:
            path: The path to the log file.
            directory: The optional directory to search in.
        """
        return f"{directory}/{path}"

    assert check_ip_reputation.params_json_schema["properties"]["ip_data"] == {
        "type": "object", "title": "IPAddress", "description": "A dictionary with the IP address to check.",
        "properties": {"ip": {"title": "Ip", "type": "string"}}, "required": ["ip"], "additionalProperties": False}
    assert invoke(check_ip_reputation, {"ip_data": {"ip": "192.168.0.1"}}) == "malicious"
    assert (read.name, invoke(read, {"path": "a"}), invoke(read, {"path": "a", "directory": "b"})) == ("read_log_file", "None/a", "b/a")


def test_usage_adds_up() -> None:
    usage = RunContextWrapper(None).usage
    usage.add(Usage(1, 2, 3, 5))
    usage.add(Usage(1, 1, 1, 2))
    assert usage == Usage(2, 3, 4, 7) and RunContextWrapper(None).usage == Usage()


def test_results_are_whatever_the_function_returns() -> None:
    @function_tool
    def weather(city: str) -> Weather:
        return Weather(city=city)

    assert invoke(weather, {"city": "Porto"}) == Weather(city="Porto")


def fails(a: int, b: int = 5) -> int:
    raise ValueError(f"no {a}")


async def fails_later(a: int, b: int = 5) -> int:
    raise ValueError(f"no {a}")


WRONG = ["", "{}", "{not json", "[]", "null", '"a"', '{"a": "x"}', '{"a": NaN}', '{"a": 1, "b": null}', "[" * 100_000]


@pytest.mark.parametrize("function", [fails, fails_later])
def test_the_models_mistakes_are_told_from_the_tools(function: Any) -> None:
    strict = function_tool(function, failure_error_function=None)
    for text in WRONG:
        with pytest.raises(ModelBehaviorError, match=f"Invalid JSON input for tool {function.__name__}"):
            invoke(strict, text)
    with pytest.raises(ValueError, match="no 1"):
        invoke(strict, {"a": 1})


@pytest.mark.parametrize(("text", "message"), [
    ("{not json", "Invalid JSON input for tool fails: {not json"), ("[]", "Invalid JSON input for tool fails: expected a JSON object"),
    ("null", "Invalid JSON input for tool fails: expected a JSON object"),
    ('{"a": "x", "b": null}', "Invalid JSON input for tool fails: a: Input should be a valid integer, unable to parse string as an integer; b: Input should be a valid integer"),
])
def test_the_message_says_what_to_correct(text: str, message: str) -> None:
    with pytest.raises(ModelBehaviorError) as caught:
        invoke(function_tool(fails, failure_error_function=None), text)
    assert str(caught.value) == caught.value.message == message


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_only_numbers_of_json_are_numbers(text: str) -> None:
    tool = function_tool(lambda a: a, name_override="same", failure_error_function=None)
    with pytest.raises(ModelBehaviorError, match=f'tool same: {{"a": {text}}}'):
        invoke(tool, f'{{"a": {text}}}')


def test_by_default_the_model_reads_the_error() -> None:
    start = "An error occurred while running the tool. Please try again. Error: "
    assert invoke(function_tool(fails), {"a": 1}) == start + "no 1" == default_tool_error_function(CONTEXT, ValueError("no 1"))
    assert invoke(function_tool(fails), "[]") == start + "Invalid JSON input for tool fails: expected a JSON object"


def test_a_function_of_ones_own_words_the_error() -> None:
    def at_once(ctx: RunContextWrapper[Any], error: Exception) -> str:
        return f"{ctx.context['user']}: {type(error).__name__}"

    async def later(ctx: RunContextWrapper[Any], error: Exception) -> str:
        await asyncio.sleep(0)
        return at_once(ctx, error)

    for word in (at_once, later, lambda ctx, error: later(ctx, error)):
        for function in (fails, fails_later):
            tool = function_tool(function, failure_error_function=word)
            assert invoke(tool, "{}") == "Ann: ModelBehaviorError" and invoke(tool, {"a": 1}) == "Ann: ValueError"


def test_an_error_that_the_model_reads_is_kept_for_the_record() -> None:
    tool, raising = function_tool(fails), function_tool(fails, failure_error_function=None)

    async def told(a_tool: FunctionTool) -> list:
        with span() as errors:
            try:
                await a_tool.on_invoke_tool(CONTEXT, '{"a": 1}')
            except ValueError:
                pass
        return errors

    assert asyncio.run(told(tool)) == [SpanError("Error running tool (non-fatal)", {"tool_name": "fails", "error": "no 1"})]
    assert asyncio.run(told(raising)) == []
    with span() as errors:
        pass
    assert invoke(tool, {"a": 1}).endswith("no 1") and errors == []  # outside a span there is nobody to keep it for


def test_a_cancelled_call_is_not_an_error_of_the_tool() -> None:
    @function_tool
    async def stopped() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        invoke(stopped)


def test_stop_iteration_comes_back() -> None:
    tool = function_tool(lambda: next(iter(())), name_override="stop", failure_error_function=None)
    with pytest.raises(RuntimeError, match="StopIteration"):
        invoke(tool)


@pytest.mark.parametrize(("function", "message"), [
    (functools.partial(fails, 1), "got a partial: write an explicit wrapper function"), (len, "got len: write"), (int, "got int: write"), ("name", "got a str: write"),
])
def test_only_functions_and_methods_become_tools(function: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        function_tool(function)


def test_generators_are_refused() -> None:
    def count():
        yield 1

    async def later():
        yield 1

    for function in (count, later):
        with pytest.raises(UserError, match="return a list instead of using yield"):
            function_tool(function)


def test_methods_and_wrapped_functions_are_tools() -> None:
    class Counter:
        def __init__(self) -> None:
            self.sum = 0

        def add(self, n: int) -> int:
            """Add n."""
            self.sum += n
            return self.sum

    counter = Counter()
    tool = function_tool(counter.add)
    assert (tool.name, tool.description, invoke(tool, {"n": 2}), invoke(tool, {"n": 3}), counter.sum) == ("add", "Add n.", 2, 5, 5)

    @functools.wraps(fails)
    def calm(*args: Any, **kwargs: Any) -> str:
        return "calm"

    assert list(function_tool(calm).params_json_schema["properties"]) == ["a", "b"] and invoke(function_tool(calm), {"a": 1}) == "calm"


def test_the_function_stays_reachable_from_its_tool() -> None:
    tool = function_tool(fails)
    for same in (tool, copy.copy(tool), copy.deepcopy(tool), dataclasses.replace(tool, name="other")):
        assert same.__wrapped__ is fails
    with pytest.raises(AttributeError):
        tool.__wrapped__ = fails
    assert not hasattr(FunctionTool("t", "", {}, tool.__class__.__call__), "__wrapped__") and not hasattr(FunctionTool, "__wrapped__")


def test_a_renamed_copy_speaks_of_itself() -> None:
    renamed = dataclasses.replace(function_tool(fails), name="other")
    context = ToolContext({"user": "Ann"}, tool_name="other", tool_call_id="1", tool_arguments="[]")
    assert "for tool other: expected" in invoke(renamed, "[]", context)


def logged(caplog: pytest.LogCaptureFixture, tool: FunctionTool, text: str) -> str:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="edgestudio.agents"):
        try:
            invoke(tool, text)
        except ModelBehaviorError as error:
            return f"{caplog.text}{error!r}{error.__cause__!r}{error.__context__!r}"
    return caplog.text


def test_tool_data_is_logged_unless_the_switch_is_set(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = function_tool(lambda text: text * 2, name_override="twice", failure_error_function=None)
    good, bad, wrong = '{"text": "SECRET"}', '{"text": "SECRET"', '["SECRET"]'
    assert 'Invoking tool twice: {"text": "SECRET"}' in logged(caplog, tool, good) and "twice returned: SECRETSECRET" in caplog.text
    assert "SECRET" in logged(caplog, tool, bad)
    monkeypatch.setattr(_debug, "DONT_LOG_TOOL_DATA", True)
    for text in (good, bad, wrong):
        found = logged(caplog, tool, text)
        assert "twice" in found and "SECRET" not in found
    with span() as errors:
        invoke(function_tool(fails), '{"a": 1}')
    assert errors[0].data == {"tool_name": "fails", "error": "ValueError"}


def test_long_results_are_logged_in_part(caplog: pytest.LogCaptureFixture) -> None:
    assert truncate_for_logging("x" * 1000) == "x" * 1000
    assert truncate_for_logging("x" * 1001) == "x" * 1000 + "... (truncated)" and truncate_for_logging([1, 2], 3) == "[1,... (truncated)"
    tool = function_tool(lambda: "x" * 5000, name_override="long")
    assert logged(caplog, tool, "").count("x") == 1000


def test_a_trace_groups_runs_and_sends_nothing() -> None:
    from edgestudio.agents import trace

    with trace("Weather", group_id="7") as nothing:
        done = True
    assert done and nothing is None
    with pytest.raises(ValueError, match="inside"), trace("Weather"):
        raise ValueError("inside")
