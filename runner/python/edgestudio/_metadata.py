"""The rules for what @edge_tool was given. Rules that compare fields (levels, closed schemas) are edge's, not Python's."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

from edgestudio._values import Oversized, Unsupported, canonical
from edgestudio.tools import ToolMetadata

MAX_SCHEMA_BYTES = 1 << 20
MAX_TEXT = 65536
LEVELS_AROUND = 8  # an output_schema stands inside a tool, inside a response


def tool_name(metadata: ToolMetadata) -> Any:
    return metadata.name if metadata.name is not None else getattr(metadata.function, "__name__", "")


def description(metadata: ToolMetadata) -> str:
    """The decorator's description, else the docstring's first line that isn't blank, else ''."""
    if type(metadata.description) is str and metadata.description.strip():
        return metadata.description
    docstring = getattr(metadata.function, "__doc__", None)
    if type(docstring) is str:
        for line in docstring.splitlines():
            if line.strip():
                return line.strip()
    return ""


def check(metadata: ToolMetadata) -> Iterator[tuple[str, str]]:
    """Every (code, message) that the metadata deserves."""
    invalid = "invalid_tool_metadata"
    name = tool_name(metadata)
    if type(name) is not str:
        yield invalid, f"name is {kind(name)}, want a str"
    elif not valid_name(name):
        yield "invalid_tool_name", (f"{shorten(name)!r} isn't a tool name: 1 to 64 ASCII letters, digits and _, "
                                    "the first of them no digit")
    if metadata.description is not None and type(metadata.description) is not str:
        yield invalid, f"description is {kind(metadata.description)}, want a str"
    else:
        yield from text(invalid, "description", description(metadata))
    yield from words(invalid, "intent_tags", metadata.intent_tags)
    level = metadata.execution_level
    if type(level) is not str or level not in ("read", "prepare", "commit"):
        shown = repr(shorten(level)) if type(level) is str else kind(level)
        yield "invalid_execution_level", f"execution_level is {shown}, want 'read', 'prepare' or 'commit'"
    if type(metadata.return_direct) is not bool:
        yield invalid, f"return_direct is {kind(metadata.return_direct)}, want True or False"
    yield from schema(metadata.output_schema)
    permissions = metadata.permissions
    before = list(words(invalid, "permissions", permissions))
    yield from before
    if not before:
        for permission in permissions or ():
            if permission != "read_local":
                yield "unsupported_permission", f"permission {shorten(permission)!r}: only 'read_local' can be declared"


def valid_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and len(name) <= 64


def words(code: str, field: str, value: Any) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if type(value) not in (list, tuple):
        yield code, f"{field} is {kind(value)}, want a list of str"
        return
    for item in value:
        if type(item) is not str:
            yield code, f"{field} holds {kind(item)}, want only str"
        elif not item.strip():
            yield code, f"{field} holds an empty word"
        else:
            yield from text(code, field, item)


def text(code: str, field: str, value: str) -> Iterator[tuple[str, str]]:
    try:
        canonical(value, MAX_TEXT)
    except Unsupported as error:
        yield code, f"{field} holds {error.what}"
    except Oversized:
        yield code, f"{field} is longer than {MAX_TEXT} bytes"


def schema(value: object) -> Iterator[tuple[str, str]]:
    code = "invalid_output_schema"
    if value is None:
        return
    if type(value) is not dict:
        yield code, f"output_schema is {kind(value)}, want a dict"
        return
    try:
        canonical(value, MAX_SCHEMA_BYTES, LEVELS_AROUND)
    except Unsupported as error:
        yield code, f"output_schema isn't JSON: {error.what} at output_schema{error.path()}"
    except Oversized:
        yield code, f"output_schema is larger than {MAX_SCHEMA_BYTES} bytes"


def kind(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def shorten(value: str) -> str:
    return value if len(value) <= 80 else value[:80] + "…"
