"""``FunctionTool``, what a model may call, and ``@function_tool``, which makes one of a Python function."""
from __future__ import annotations

import asyncio
import inspect
import json
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, NoReturn, Optional, Union, overload

from edgestudio.agents import _debug, _packages
from edgestudio.agents.docstring import DocstringStyle
from edgestudio.agents.exceptions import ModelBehaviorError, UserError
from edgestudio.agents.function_schema import FuncSchema, function_schema
from edgestudio.agents.logger import debug
from edgestudio.agents.run_context import RunContextWrapper
from edgestudio.agents.strict_schema import ensure_strict_json_schema
from edgestudio.agents.tracing import SpanError, attach_error_to_current_span

ToolErrorFunction = Callable[[RunContextWrapper[Any], Exception], Union[str, Awaitable[str]]]


class _Wrapped:
    """``tool.__wrapped__``: the function that a tool was made of. Tools made by hand have none."""

    def __get__(self, tool: Optional[FunctionTool], owner: type) -> Callable[..., Any]:
        function = getattr(getattr(tool, "on_invoke_tool", None), "_edge_function", None)
        if function is None:
            raise AttributeError("__wrapped__")
        return function  # type: ignore[no-any-return]

    def __set__(self, tool: FunctionTool, value: object) -> NoReturn:
        raise AttributeError("__wrapped__ follows on_invoke_tool")


@dataclass
class FunctionTool:
    """A tool as the model sees it (name, description, params_json_schema), and what runs it.

    ``on_invoke_tool`` takes the context and the model's arguments as JSON text, and gives a result that ``str()`` can
    show. What it raises ends the run; to let the model try again, it returns the error as text.
    A strict schema is made of ``params_json_schema`` unless ``strict_json_schema`` is False; UserError if that can't be.
    With ``needs_approval``, edge runs a call only after a person confirmed it.
    """

    name: str
    description: str
    params_json_schema: dict[str, Any]
    on_invoke_tool: Callable[[RunContextWrapper[Any], str], Awaitable[Any]]
    strict_json_schema: bool = True
    needs_approval: Union[bool, Callable[..., Any]] = False

    __wrapped__ = _Wrapped()

    def __post_init__(self) -> None:
        if self.strict_json_schema:
            self.params_json_schema = ensure_strict_json_schema(self.params_json_schema)


def default_tool_error_function(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """What the model reads of a failed call, if the tool has no function of its own for that."""
    return f"An error occurred while running the tool. Please try again. Error: {error}"


@overload
def function_tool(func: Callable[..., Any]) -> FunctionTool: ...
@overload
def function_tool(
    *,
    name_override: Optional[str] = None,
    description_override: Optional[str] = None,
    docstring_style: Optional[DocstringStyle] = None,
    use_docstring_info: bool = True,
    failure_error_function: Optional[ToolErrorFunction] = default_tool_error_function,
    strict_mode: bool = True,
    needs_approval: Union[bool, Callable[..., Any]] = False,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def function_tool(
    func: Optional[Callable[..., Any]] = None,
    *,
    name_override: Optional[str] = None,
    description_override: Optional[str] = None,
    docstring_style: Optional[DocstringStyle] = None,
    use_docstring_info: bool = True,
    failure_error_function: Optional[ToolErrorFunction] = default_tool_error_function,
    strict_mode: bool = True,
    needs_approval: Union[bool, Callable[..., Any]] = False,
) -> Union[FunctionTool, Callable[[Callable[..., Any]], FunctionTool]]:
    """Make a tool of a function. Use it bare, ``@function_tool``, or with arguments.

    The first parameter may be a ``RunContextWrapper``; the model gives the others. A function made with ``def`` runs in a
    thread, one made with ``async def`` in the event loop. Raises UserError for what can't be a tool.

    Args:
        name_override: the tool's name; the function's if left out.
        description_override: what the model reads; the docstring's first text if left out.
        docstring_style: "google", "numpy" or "sphinx"; found out if left out.
        use_docstring_info: whether the docstring describes the tool and its parameters.
        failure_error_function: gets the context and the error, and gives the text that the model reads, now or as an
            awaitable. With None the error is raised.
        strict_mode: whether the schema is made strict: closed objects, every property required.
        needs_approval: whether a person must confirm each call before it runs. SDKs also take a function that decides
            call by call; edge doesn't ask it, and has every call confirmed.
    """
    def make(function: Callable[..., Any]) -> FunctionTool:
        _check(function)
        schema = function_schema(function, docstring_style, name_override, description_override, use_docstring_info, strict_mode)
        return FunctionTool(schema.name, schema.description or "", schema.params_json_schema,
                            _invoker(function, schema, failure_error_function), strict_mode, needs_approval)

    return make if func is None else make(func)


def _check(function: Any) -> None:
    what = getattr(function, "__name__", None) or f"a {type(function).__name__}"
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise UserError(f"function_tool takes functions and bound methods, got {what}: write an explicit wrapper function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UserError(f"{what} is a generator: return a list instead of using yield")


def _invoker(function: Callable[..., Any], schema: FuncSchema, failed: Optional[ToolErrorFunction]) -> Callable[..., Awaitable[Any]]:
    async def on_invoke_tool(context: RunContextWrapper[Any], input: str) -> Any:
        name = getattr(context, "tool_name", schema.name)  # a copy of the tool may go by another name
        try:
            return await _run(function, schema, name, context, input)
        except Exception as error:
            if failed is None:
                raise
            text = failed(context, error)
            if inspect.isawaitable(text):
                text = await text
            shown = type(error).__name__ if _debug.DONT_LOG_TOOL_DATA else str(error)
            attach_error_to_current_span(SpanError(
                "Error running tool (non-fatal)", {"tool_name": name, "error": shown}, type(error).__name__, text))
            return text

    on_invoke_tool._edge_function = function  # type: ignore[attr-defined]
    return on_invoke_tool


async def _run(function: Callable[..., Any], schema: FuncSchema, name: str, context: RunContextWrapper[Any], input: str) -> Any:
    positional, named = _arguments(schema, name, input)
    debug(f"Invoking tool {name}", input)
    if schema.takes_context:
        positional = [context, *positional]
    if inspect.iscoroutinefunction(function):
        result = await function(*positional, **named)
    else:
        result = await asyncio.to_thread(_plainly, function, positional, named)
    debug(f"Tool {name} returned", result)
    return result


def _arguments(schema: FuncSchema, name: str, input: str) -> tuple[list[Any], dict[str, Any]]:
    """What to call the function with; ModelBehaviorError for text that isn't an object of JSON, or a wrong argument."""
    problem = f"Invalid JSON input for tool {name}"
    cause: Optional[Exception] = None
    try:
        given = json.loads(input, parse_constant=_no_constant) if input else {}
        if isinstance(given, dict):
            return schema.to_call_args(schema.params_pydantic_model(**given))
        detail = "expected a JSON object"
    except (_NotJSON, json.JSONDecodeError, RecursionError) as error:
        cause, detail = error, input
    except _packages.pydantic().ValidationError as error:
        cause, detail = error, _told(error)
    debug(problem, detail)
    # Raised out here, where the error that holds the arguments is no longer being handled and can't hang on to this one.
    if _debug.DONT_LOG_TOOL_DATA and cause is not None:
        raise ModelBehaviorError(problem)
    raise ModelBehaviorError(f"{problem}: {detail}") from cause


def _told(error: Any) -> str:
    """What pydantic found wrong, in few words: a small model reads them."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in found)


class _NotJSON(ValueError):
    """NaN or an infinity, which Python's reader would let through."""


def _no_constant(text: str) -> NoReturn:
    raise _NotJSON(f"{text} isn't JSON")


def _plainly(function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> Any:
    try:
        return function(*positional, **named)
    except StopIteration as error:  # no future can carry it: whoever waits for the thread would wait for ever
        raise RuntimeError("the tool raised StopIteration") from error
