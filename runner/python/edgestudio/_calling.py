"""op "call": runs one function once and checks what it returns. Whatever goes wrong is a Failure."""
from __future__ import annotations

import sys

from edgestudio._discovery import Tool, discover, settle, uses_agents
from edgestudio._loading import MODULE, Failure, ToolsFile, readable
from edgestudio._schema import Refused, bind, complete, parameters
from edgestudio._system import sha256, system
from edgestudio._values import Invalid, Oversized, Unsupported, canonical, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from edgestudio._functions import Given

MAX_TRACEBACK = 65536


def call(request: dict[str, Any], file: ToolsFile) -> tuple[bytes, str]:
    """The result's canonical JSON, and "" or the type of the error that it words for the model."""
    name = request["function"]["tool_name"]
    attempt("tools_file_import_failed", file, file.load)
    tools = discover(file.namespace, MODULE, file.collector.tools)
    given: list[Any] = []
    if uses_agents():
        from edgestudio._functions import given_tools
        given = given_tools(file.namespace)
    matches = [tool for tool in [*tools, *given] if tool.name == name]
    if not matches:
        raise Failure("unknown_tool", f"the file has no tool {name!r}")
    if len(matches) > 1:
        raise Failure("duplicate_tool_name", f"the file has {len(matches)} tools {name!r}")
    tool = matches[0]
    if tool in given:
        return call_given(tool, request, file)
    return call_edge_tool(tool, tools, request, file), ""


def call_given(tool: Given, request: dict[str, Any], file: ToolsFile) -> tuple[bytes, str]:
    if tool.surface != "function":
        raise Failure("unknown_tool", f"{tool.name!r} isn't a function of the file: edge runs it itself")
    from edgestudio._functions import invoke
    from edgestudio.agents.exceptions import ModelBehaviorError
    arguments = canonical(request["arguments"], sys.maxsize).decode()
    text, told = attempt("tool_raised", file, lambda: invoke(tool.value, arguments, request.get("context")),
                         (ModelBehaviorError, "invalid_tool_args"))
    return encode({"output": text}, request["limits"]["result_bytes"]), told


def call_edge_tool(tool: Tool, tools: list[Tool], request: dict[str, Any], file: ToolsFile) -> bytes:
    try:
        settle(tool, file.namespace, tools)
        found, owner = parameters(tool.metadata.function)
        for parameter in found:
            complete(parameter, owner)
    except Refused as error:
        raise Failure(error.code, str(error)) from None
    try:
        positional, named = bind(found, request["arguments"])
    except Invalid as error:
        raise Failure("invalid_tool_args", str(error)) from None
    result = attempt("tool_raised", file, lambda: run(tool.call, positional, named))
    return encode(result, request["limits"]["result_bytes"])


def decide(request: dict[str, Any], file: ToolsFile) -> dict[str, Any]:
    """What an agent's own function makes of the results of its tools."""
    from edgestudio import _agents
    attempt("tools_file_import_failed", file, file.load)
    decision: dict[str, Any] = attempt("tool_raised", file, lambda: _agents.decide(file.namespace, request))
    encode(decision, request["limits"]["result_bytes"])
    return decision


def attempt(code: str, file: ToolsFile, action: Callable[[], Any], other: tuple[type, str] | None = None) -> Any:
    """What the user's code gives; whatever it raises becomes a Failure of that code, or of the other if it is of that type."""
    try:
        return action()
    except BaseException as error:
        if other is not None and isinstance(error, other[0]):
            code = other[1]
        failure = Failure(code, type_name(error), file.line_of(error), report(error, file))
    # Raised out here, it doesn't hold on to the error, whose frames hold on to all that the user's code had in memory.
    raise failure


def run(function: Callable[..., object], positional: list[Any], named: dict[str, Any]) -> object:
    result = function(*positional, **named)
    # A plain wrapper around an async function is plain itself, so the result tells, not the function.
    if hasattr(type(result), "__await__"):
        from edgestudio._async import finish
        result = finish(result)
    return result


def encode(result: object, limit: int) -> bytes:
    try:
        return canonical(wrap(result), limit)
    except Oversized:
        raise Failure("tool_result_oversized", f"the result is larger than {limit} bytes of canonical JSON") from None
    except Unsupported as error:
        # The path may hold the user's data, so it goes to the developer's stderr, not into the record.
        streams.say(f"edge: unsupported result: {error.what} at result{error.path()}\n")
        raise Failure("unsupported_tool_result", readable(f"the result holds {error.what}")) from None
    except Exception as error:  # changed by another thread meanwhile
        raise Failure("unsupported_tool_result", f"the result can't be read ({type_name(error)})") from None


def type_name(error: BaseException) -> str:
    return readable(type(error).__name__[:200])


def report(error: BaseException, file: ToolsFile) -> str:
    """Prints the traceback, without the runner's own frames, and gives the digest of what was printed."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith("<edge>/"):
        trace = trace.tb_next
    if isinstance(error, MemoryError):
        release(trace)
    try:
        import linecache
        import traceback
        # The lines that ran, not those that the path holds by now.
        text = file.source.decode("utf-8", "replace")
        linecache.cache[file.path] = (len(text), None, text.splitlines(True), file.path)
        text = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:  # no memory is left, or the exception breaks its own formatting
        text = type_name(error) + "\n"
    if len(text) > MAX_TRACEBACK:
        half = MAX_TRACEBACK // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
    return sha256(streams.say(text)).hexdigest()


def release(trace: Any) -> None:
    """Drops the local variables of frames that have ended, so that there is memory again to report with."""
    while trace is not None:
        try:
            trace.tb_frame.clear()
        except RuntimeError:
            pass
        trace = trace.tb_next


class Streams:
    """The runner's own way to stderr, and what must be flushed: the process ends without the interpreter's clean-up."""

    def __init__(self) -> None:
        self.stderr = 2
        self.open_before: set[int] = set()

    def take_over(self) -> None:
        """Called before the user's code: fd 2 may be another file by the time that the runner has something to say."""
        self.stderr = system.dup(2)
        self.open_before = open_descriptors()

    def say(self, text: str) -> bytes:
        data = text.encode("utf-8", "backslashreplace")
        self.flush_standard()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[system.write(self.stderr, rest):]
        except OSError:
            pass
        return data

    def flush_standard(self) -> None:
        for stream in (sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__):
            try:
                stream.flush()  # type: ignore[union-attr]
            except BaseException:
                pass

    def flush_files(self) -> None:
        """Flushes the files that the tool left open."""
        if open_descriptors() <= self.open_before:
            return
        import gc
        from _io import BufferedRandom, BufferedWriter, TextIOWrapper
        texts: list[Any] = []
        buffers: list[Any] = []
        for thing in gc.get_objects():
            if type(thing) is TextIOWrapper:
                texts.append(thing)
            elif type(thing) is BufferedWriter or type(thing) is BufferedRandom:
                buffers.append(thing)
        for thing in texts + buffers:
            try:
                if not thing.closed and thing.writable():
                    thing.flush()
            except BaseException as error:
                self.say(f"edge: a file that was left open lost what was written to it ({type_name(error)})\n")


streams = Streams()


def open_descriptors() -> set[int]:
    found = set()
    for fd in range(3, 256):
        try:
            system.fstat(fd)
        except OSError:
            continue
        found.add(fd)
    return found
