"""Hosted tools: what the model sees, and what edge is told."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from edgestudio.agents import (
    CodeInterpreterTool, ComputerSubmitTool, ComputerTool, FileSearchTool, HostedTool, ShellTool, UserError, WebSearchTool,
)


def every() -> list[HostedTool]:
    return [FileSearchTool(folder="docs"), WebSearchTool(), CodeInterpreterTool(), ComputerTool(), ShellTool(),
            ComputerSubmitTool(ComputerTool())]


def closed(schema: dict[str, Any]) -> bool:
    """Whether every object of a schema is closed and requires only what it has."""
    parts = list(schema.get("properties", {}).values()) + ([schema["items"]] if "items" in schema else [])
    if schema.get("type") == "object":
        if schema["additionalProperties"] is not False or not set(schema["required"]) <= set(schema["properties"]):
            return False
    return all(closed(part) for part in parts)


@pytest.mark.parametrize("tool", every(), ids=lambda tool: tool.name)
def test_definitions_are_whole_and_closed(tool: HostedTool) -> None:
    definition = tool.definition()
    assert set(definition) == {"name", "description", "parameters", "execution_level", "return_direct", "output_schema"}
    assert definition["name"] == tool.name and definition["description"]
    assert closed(definition["parameters"]) and closed(definition["output_schema"])
    assert json.loads(json.dumps(tool.hosted_config()))["kind"] == tool.kind
    assert definition == tool.definition()  # and nobody's copy changes it
    definition["parameters"]["properties"].clear()
    assert tool.definition()["parameters"]["properties"]


def test_names_are_the_seeds() -> None:
    assert [tool.name for tool in every()] == [
        "file_search", "web_search_preview", "code_interpreter", "computer_use_preview", "generic_linux_command",
        "computer_submit"]
    assert ShellTool("run").definition()["name"] == "run"


def test_file_search_takes_folders_in_either_way() -> None:
    assert FileSearchTool(["a", "b"]).hosted_config() == {
        "kind": "file_search", "folders": ["a", "b"], "max_num_results": 8, "include_search_results": False}
    tool = FileSearchTool(vector_store_ids=["a"], folder=[pathlib.PurePosixPath("b/c")], max_num_results=3, include_search_results=True)
    assert tool.hosted_config() == {"kind": "file_search", "folders": ["a", "b/c"], "max_num_results": 3, "include_search_results": True}
    assert list(tool.definition()["parameters"]["properties"]) == ["query"]


@pytest.mark.parametrize(("options", "names"), [
    ({}, "needs a folder"),
    ({"folder": ""}, "a folder is a path"),
    ({"folder": [3]}, None),
    ({"folder": "a", "filters": {"type": "eq", "key": "k", "value": 1}}, "filters isn't supported"),
    ({"folder": "a", "ranking_options": {"ranker": "auto"}}, "ranking_options isn't supported"),
    ({"folder": "a", "max_num_results": 0}, "max_num_results"),
    ({"folder": "a", "max_num_results": 51}, "max_num_results"),
    ({"folder": "a", "max_num_results": True}, "max_num_results"),
    ({"folder": "a", "max_num_results": 2.5}, "max_num_results"),
])
def test_file_search_refuses_what_it_cannot_honour(options: dict[str, Any], names: str | None) -> None:
    with pytest.raises(UserError if names else TypeError, match=names):
        FileSearchTool(**options)


def test_web_search_options() -> None:
    assert WebSearchTool().hosted_config() == {"kind": "web_search", "user_location": None, "search_context_size": "medium"}
    place = {"type": "approximate", "country": "DE"}
    assert WebSearchTool(user_location=place, search_context_size="high").hosted_config() == {
        "kind": "web_search", "user_location": place, "search_context_size": "high"}
    for wrong in ({"search_context_size": "huge"}, {"user_location": "Berlin"}, {"filters": {"allowed_domains": ["a.test"]}}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            WebSearchTool(**wrong)


def test_code_interpreter_options() -> None:
    tool = CodeInterpreterTool({"type": "code_interpreter", "container": {"type": "auto"}})
    assert tool.hosted_config() == {"kind": "code_interpreter", "allow_packages": False}
    assert list(tool.definition()["parameters"]["properties"]) == ["code"]
    parameters = CodeInterpreterTool(allow_packages=True).definition()["parameters"]
    assert list(parameters["properties"]) == ["code", "packages"] and parameters["required"] == ["code"]
    for wrong in ("auto", {"container": "cntr_1"}, {"container": {"type": "auto", "file_ids": ["f"]}}):
        with pytest.raises(UserError, match="no containers"):
            CodeInterpreterTool(wrong)


def test_levels() -> None:
    levels = {tool.name: (tool.definition()["execution_level"], tool.definition()["return_direct"]) for tool in every()}
    assert levels["generic_linux_command"] == ("commit", True)
    assert levels["file_search"] == levels["web_search_preview"] == levels["code_interpreter"] == ("read", False)


def test_hosted_tools_need_neither_pydantic_nor_griffe() -> None:
    code = ("import sys\nfrom edgestudio.agents import FileSearchTool\nFileSearchTool('a').definition()\n"
            "print([module for module in ('pydantic', 'griffe') if module in sys.modules])")
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=pathlib.Path(__file__).parents[2])
    assert shown.stdout == "[]\n"


def test_computer_options() -> None:
    computer = ComputerTool(pages=pathlib.PurePosixPath("site"), sites=["http://127.0.0.1:8000"], start_url="index.html", width=640)
    options = {"environment": "browser", "width": 640, "height": 768, "pages": "site", "sites": ["http://127.0.0.1:8000"],
               "start_url": "index.html"}
    assert computer.hosted_config() == {"kind": "computer", **options}
    assert ComputerSubmitTool(computer).hosted_config() == {"kind": "computer_submit", **options}
    for wrong in ({"environment": "mac"}, {"width": 0}, {"height": 5000}, {"sites": "http://127.0.0.1"}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            ComputerTool(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="want a ComputerTool, got str"):
        ComputerSubmitTool("computer")  # type: ignore[arg-type]
