"""``@edge_tool``: marks a function as a tool. It attaches metadata and changes nothing else.

While edge's runner loads a tools file, what is wrong with a decoration is collected, so that all of it is reported at
once. Anywhere else (your tests, your editor's console) the same problem is raised as an :class:`EdgeToolError`.
"""
from __future__ import annotations

import sys
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Literal, Mapping, Optional, Sequence, TypeVar, overload

    Function = TypeVar("Function", bound=Callable[..., Any])
else:
    def overload(function):
        return function

__all__ = ["EdgeToolError", "ToolMetadata", "edge_tool"]

FunctionType = type(lambda: None)


class EdgeToolError(Exception):
    """What edge would refuse. ``code`` is the code that ``edge tools validate`` reports."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class ToolMetadata:
    """What ``@edge_tool`` was given, kept as ``function.__edge_tool__``; nothing is checked or filled in here."""

    __slots__ = ("function", "name", "description", "intent_tags", "execution_level", "return_direct", "output_schema",
                 "permissions")

    name: Any
    description: Any
    intent_tags: Any
    execution_level: Any
    return_direct: Any
    output_schema: Any
    permissions: Any

    def __init__(self, function: Any, **given: Any) -> None:
        self.function = function
        for key, value in given.items():
            setattr(self, key, value)

    def __repr__(self) -> str:
        return f"<edge_tool {self.name or getattr(self.function, '__name__', '?')}>"


class Collector:
    """Takes down, in order, what the decorator met while a tools file was loaded."""

    def __init__(self) -> None:
        self.tools: list[ToolMetadata] = []
        self.problems: list[tuple[str, str, str, str, int]] = []  # code, tool, message, file, line


collecting: ContextVar[Optional[Collector]] = ContextVar("edgestudio.collecting", default=None)


@overload
def edge_tool(function: Function, /) -> Function: ...
@overload
def edge_tool(
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    intent_tags: Sequence[str] = (),
    execution_level: Literal["read", "prepare", "commit"] = "read",
    return_direct: bool = False,
    output_schema: Optional[Mapping[str, Any]] = None,
    permissions: Sequence[Literal["read_local"]] = (),
) -> Callable[[Function], Function]: ...
def edge_tool(
    function: Any = None,
    /,
    *,
    name: Any = None,
    description: Any = None,
    intent_tags: Any = (),
    execution_level: Any = "read",
    return_direct: Any = False,
    output_schema: Any = None,
    permissions: Any = (),
) -> Any:
    """Mark a function as a tool that a local model may call.

    Use it bare, ``@edge_tool``, or with arguments. The function stays the same ordinary function. Every parameter needs
    a type annotation: ``str``, ``int``, ``float``, ``bool``, ``Literal`` of one of them, ``Optional[T]`` or ``list[T]``.

    Args:
        name: the tool's name, ``[A-Za-z_][A-Za-z0-9_]{0,63}``; the function's name if left out.
        description: what the model reads; the docstring's first line if left out.
        intent_tags: words that ``--tool-tag`` selects by.
        execution_level: ``"read"`` (looks things up), ``"prepare"`` (a draft that can be undone) or ``"commit"``
            (a real effect: it only runs after a confirmation). The last two need ``return_direct`` and ``output_schema``.
        return_direct: the result goes to the user as it is, and must follow ``output_schema``.
        output_schema: a JSON Schema of the result; closed (``"additionalProperties": False``) with ``return_direct``.
        permissions: ``["read_local"]`` or nothing.
    """
    def attach(target: Any) -> Any:
        return _attach(target, ToolMetadata(
            target, name=name, description=description, intent_tags=intent_tags, execution_level=execution_level,
            return_direct=return_direct, output_schema=output_schema, permissions=permissions))

    return attach if function is None else attach(function)


def _attach(target: Any, metadata: ToolMetadata) -> Any:
    collector = collecting.get()
    found = refusal(target)
    if found is None:
        if collector is None:
            from edgestudio._metadata import check
            for code, message in check(metadata):
                raise EdgeToolError(code, message)
        else:
            collector.tools.append(metadata)
        target.__edge_tool__ = metadata
        return target
    code, message = found
    if collector is None:
        raise EdgeToolError(code, message)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == _attach.__code__.co_filename:
        frame = frame.f_back
    label = metadata.name if type(metadata.name) is str else getattr(target, "__name__", None)
    collector.problems.append((code, label if type(label) is str else "", message, frame.f_code.co_filename, frame.f_lineno))
    # @edge_tool("name") is refused, but the function below it must still load, to let the rest of the file be checked.
    return (lambda function: function) if type(target) is str else target


def refusal(target: Any) -> Optional[tuple[str, str]]:
    """Why target can't be a tool, as (code, message); None for an ordinary or async function."""
    kind = type(target)
    if kind is str:
        return "invalid_tool_metadata", f"@edge_tool({target!r}): the name goes by keyword, @edge_tool(name={target!r})"
    if kind is not FunctionType:
        if isinstance(target, type):
            what = f"the class {target.__name__}"
        else:
            what = f"a {kind.__name__}"
            label = getattr(target, "__name__", None)
            if type(label) is str:
                what += f" ({label})"
        return "unsupported_function", f"@edge_tool got {what}: it takes functions made with def or async def"
    label = target.__qualname__
    outer = label.split(".")[-2:-1]
    flags = target.__code__.co_flags
    if target.__name__ == "<lambda>":
        return "unsupported_function", "@edge_tool got a lambda: its parameters can't be annotated, so use def"
    if outer and outer[0] != "<locals>":
        return "unsupported_function", f"{label} is defined in the class {outer[0]}: define the tool outside the class"
    if flags & 0x200:
        return "unsupported_function", f"{label} is an async generator: return a list instead of using yield"
    if flags & 0x120:
        return "unsupported_function", f"{label} is a generator: return a list instead of using yield"
    return None
