"""op "inspect": loads the file and describes every tool of it, with all problems at once."""
from __future__ import annotations

from edgestudio import _metadata
from edgestudio._calling import report
from edgestudio._discovery import Tool, discover, settle, uses_agents
from edgestudio._lines import Lines
from edgestudio._loading import MODULE, ToolsFile, import_failure, readable
from edgestudio._schema import Refused, complete, object_schema, parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from edgestudio._functions import Given


class Findings:
    def __init__(self) -> None:
        self.tools: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self.warnings: list[dict[str, Any]] = []
        self.agents: list[dict[str, Any]] = []

    def error(self, code: str, message: str, line: int, tool: str = "", parameter: str = "") -> None:
        self.errors.append(problem(code, message, line, tool, parameter))

    def warn(self, code: str, message: str, line: int, tool: str = "") -> None:
        self.warnings.append(problem(code, message, line, tool, ""))


def problem(code: str, message: str, line: int, tool: str, parameter: str) -> dict[str, Any]:
    return {"code": code, "tool": readable(tool[:200]) or None, "parameter": parameter or None, "line": line,
            "message": readable(message[:1000])}


def inspect(file: ToolsFile) -> Findings:
    findings = Findings()
    failed = None
    try:
        file.load()
    except BaseException as error:
        failed = error
        report(error, file)
    for code, tool, message, where, line in file.collector.problems:
        if where == file.path:
            findings.error(code, message, line, tool)
    if failed is None:
        describe_tools(file, findings)
    findings.tools.sort(key=lambda tool: tool["line"])
    findings.errors.sort(key=lambda error: error["line"])
    findings.warnings.sort(key=lambda warning: warning["line"])
    if failed is not None:
        message, line = import_failure(failed, file)
        findings.errors.insert(0, problem("tools_file_import_failed", message, line, "", ""))
    return findings


def describe_tools(file: ToolsFile, findings: Findings) -> None:
    lines = Lines(file.source, file.path)
    tools = discover(file.namespace, MODULE, file.collector.tools)
    first: dict[str, int] = {}
    for tool in tools:
        line = lines.of_tool(tool.metadata.function, tool.bound)
        label = tool.name if type(tool.name) is str else tool.metadata.function.__name__
        before = len(findings.errors)
        for code, message in _metadata.check(tool.metadata):
            findings.error(code, message, line, label)
        take_name(label, line, first, findings)
        schema = describe_parameters(tool, file, tools, label, line, lines, findings)
        text = _metadata.description(tool.metadata)
        if not text:
            findings.warn("missing_description", "no description and no docstring: the model only sees the name", line, label)
        if len(findings.errors) == before:
            findings.tools.append(entry(tool, label, text, schema, line))
    given: list[Given] = []
    if uses_agents():
        from edgestudio._agents import describe_agents
        from edgestudio._functions import given_tools
        given = given_tools(file.namespace)
        findings.agents = describe_agents(file.namespace)
    for other in given:
        describe_given(other, lines, first, findings)
    if not tools and not given and not findings.agents and not findings.errors:
        elsewhere = sorted({str(metadata.function.__module__) for metadata in file.collector.tools})
        findings.error("no_tools_found", "no function of the file has @edge_tool or @function_tool" + (
            f"; those of {', '.join(elsewhere)} count when the file imports them by name" if elsewhere else ""), 0)


def take_name(label: str, line: int, first: dict[str, int], findings: Findings) -> None:
    if label in first:
        findings.error("duplicate_tool_name", f"the name {label!r} is taken by the tool in line {first[label]}", line, label)
    first.setdefault(label, line)


def describe_given(tool: Given, lines: Lines, first: dict[str, int], findings: Findings) -> None:
    from edgestudio import _functions
    line = lines.of_tool(tool.value, tool.bound)
    label = tool.name if type(tool.name) is str else tool.bound
    before = len(findings.errors)
    for code, message in _functions.check(tool):
        findings.error(code, message, line, label)
    take_name(label, line, first, findings)
    if len(findings.errors) > before:
        return
    described = _functions.entry(tool, line)
    if not described["description"]:
        findings.warn("missing_description", "no description and no docstring: the model only sees the name", line, label)
    findings.tools.append(described)


def describe_parameters(
    tool: Tool, file: ToolsFile, tools: list[Tool], label: str, line: int, lines: Lines, findings: Findings,
) -> dict[str, Any]:
    try:
        settle(tool, file.namespace, tools)
        found, owner = parameters(tool.metadata.function)
    except Refused as error:
        findings.error(error.code, str(error), line, label)
        return {}
    for parameter in found:
        try:
            complete(parameter, owner)
        except Refused as error:
            findings.error(error.code, f"parameter {parameter.name!r}: {error}",
                           lines.of_parameter(tool.metadata.function, parameter.name) or line, label, parameter.name)
    return object_schema(found)


def entry(tool: Tool, name: str, description: str, schema: dict[str, Any], line: int) -> dict[str, Any]:
    metadata = tool.metadata
    return {
        "name": name,
        "description": description,
        "parameters": schema,
        "execution_level": metadata.execution_level,
        "return_direct": metadata.return_direct,
        "output_schema": metadata.output_schema,
        "permissions": list(metadata.permissions or ()),
        "intent_tags": list(metadata.intent_tags or ()),
        "line": line,
        "function": metadata.function.__qualname__,
    }
