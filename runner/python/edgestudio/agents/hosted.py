"""Hosted tools, which agent SDKs run at a provider and edge runs on this machine.

Each is put among a module's names or into an agent's ``tools``. It says what the model sees (``definition()``) and how
edge is to run it (``hosted_config()``); nothing here runs anything. Options that edge can't honour raise UserError.
"""
from __future__ import annotations

import os
from typing import Any, ClassVar, Optional, Sequence, Union

from edgestudio.agents.exceptions import UserError


class HostedTool:
    """What the hosted tools share: a fixed name, a definition, a configuration."""

    name: str
    kind: ClassVar[str]

    def hosted_config(self) -> dict[str, Any]:
        """What edge needs to run the tool: "kind" and the options."""
        return {"kind": self.kind, **self._options()}

    def definition(self) -> dict[str, Any]:
        """What the model sees, and what edge holds calls and results to."""
        return {
            "name": self.name, "description": self._description(), "parameters": self._parameters(),
            "execution_level": "read", "return_direct": False, "output_schema": self._output(),
        }

    def _options(self) -> dict[str, Any]:
        raise NotImplementedError

    def _description(self) -> str:
        raise NotImplementedError

    def _parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def _output(self) -> dict[str, Any]:
        raise NotImplementedError


class FileSearchTool(HostedTool):
    """Searches the text files of one or more folders.

    Args:
        vector_store_ids: folders, as ``folder``: a local tool has no vector stores, so their ids are paths.
        max_num_results: the most passages that a search gives, 1 to 50; 8 if left out.
        include_search_results: whether each passage also carries its score.
        ranking_options, filters: not supported; anything but None raises UserError.
        folder: a folder or several; relative ones begin at the tools file's folder.
    """

    kind = "file_search"

    def __init__(
        self,
        vector_store_ids: Optional[Sequence[str]] = None,
        max_num_results: Optional[int] = None,
        include_search_results: bool = False,
        ranking_options: Any = None,
        filters: Any = None,
        *,
        folder: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]], None] = None,
    ) -> None:
        self.name = "file_search"
        _unsupported(self, ranking_options=ranking_options, filters=filters)
        self.folders = _paths(vector_store_ids) + _paths(folder)
        if not self.folders:
            raise UserError("FileSearchTool needs a folder: FileSearchTool(folder=\"docs\")")
        self.max_num_results = 8 if max_num_results is None else _whole(self, "max_num_results", max_num_results, 1, 50)
        self.include_search_results = bool(include_search_results)

    def _options(self) -> dict[str, Any]:
        return {"folders": self.folders, "max_num_results": self.max_num_results, "include_search_results": self.include_search_results}

    def _description(self) -> str:
        return "Search the user's files for passages about something. Gives the passages with file and line."

    def _parameters(self) -> dict[str, Any]:
        return _object(query={"type": "string", "description": "The words to look for."})

    def _output(self) -> dict[str, Any]:
        passage = _object(
            file={"type": "string"}, line={"type": "integer"}, end_line={"type": "integer"}, text={"type": "string"},
            score={"type": "number"},
        )
        passage["required"].remove("score")
        return _object(results={"type": "array", "items": passage}, note={"type": "string"}, optional=["note"])


class WebSearchTool(HostedTool):
    """Searches the web. Nothing is sent unless edge was given ``--allow-network``.

    Args:
        user_location: an object such as ``{"type": "approximate", "country": "DE"}``; a country chooses the search's
            region, the rest is accepted and has no effect.
        search_context_size: "low", "medium" or "high": 3, 6 or 10 results.
        filters: not supported; anything but None raises UserError.
    """

    kind = "web_search"

    def __init__(self, user_location: Any = None, filters: Any = None, search_context_size: str = "medium") -> None:
        self.name = "web_search_preview"
        _unsupported(self, filters=filters)
        if user_location is not None and not isinstance(user_location, dict):
            raise UserError(f"WebSearchTool: user_location is an object, got {type(user_location).__name__}")
        if search_context_size not in ("low", "medium", "high"):
            raise UserError(f"WebSearchTool: search_context_size is low, medium or high, got {search_context_size!r}")
        self.user_location = user_location
        self.search_context_size = search_context_size

    def _options(self) -> dict[str, Any]:
        return {"user_location": self.user_location, "search_context_size": self.search_context_size}

    def _description(self) -> str:
        return "Search the web. Gives titles, addresses and snippets."

    def _parameters(self) -> dict[str, Any]:
        return _object(query={"type": "string", "description": "What to search for."})

    def _output(self) -> dict[str, Any]:
        found = _object(title={"type": "string"}, url={"type": "string"}, snippet={"type": "string"})
        return _object(results={"type": "array", "items": found}, note={"type": "string"}, optional=["note"])


class CodeInterpreterTool(HostedTool):
    """Runs Python code that the model writes, in edge's sandbox: no network, no file written outside its own folder.

    Args:
        tool_config: accepted as SDKs write it, ``{"type": "code_interpreter", "container": {"type": "auto"}}``; files in
            a container raise UserError.
        allow_packages: whether the model may ask for packages, which needs ``--allow-network``.
    """

    kind = "code_interpreter"

    def __init__(self, tool_config: Any = None, *, allow_packages: bool = False) -> None:
        self.name = "code_interpreter"
        self.allow_packages = bool(allow_packages)
        if tool_config is None:
            return
        container = tool_config.get("container", {"type": "auto"}) if isinstance(tool_config, dict) else None
        if not isinstance(container, dict) or container.get("type") != "auto" or container.get("file_ids"):
            raise UserError("CodeInterpreterTool: edge has no containers and no uploaded files: leave tool_config out")

    def _options(self) -> dict[str, Any]:
        return {"allow_packages": self.allow_packages}

    def _description(self) -> str:
        return "Run Python code and see what it prints. Use it to compute."

    def _parameters(self) -> dict[str, Any]:
        properties: dict[str, Any] = {"code": {"type": "string", "description": "Python code that prints its results."}}
        if self.allow_packages:
            properties["packages"] = {"type": "array", "items": {"type": "string"}, "description": "Packages to install first."}
        return _object(**properties, optional=["packages"])

    def _output(self) -> dict[str, Any]:
        return _object(
            success={"type": "boolean"}, stdout={"type": "string"}, stderr={"type": "string"}, returncode={"type": "integer"},
            note={"type": "string"}, error={"type": "string"}, pip_logs={"type": "array", "items": {"type": "string"}},
            optional=["note", "error", "pip_logs"],
        )


class ComputerTool(HostedTool):
    """Looks at and works a page in a browser without a window. Nothing is submitted: see ComputerSubmitTool.

    Args:
        environment: "browser".
        width, height: of the page, in pixels.
        pages: a folder of pages that may be opened; a relative path begins at the tools file's folder.
        sites: addresses of this machine that may be opened, such as "http://127.0.0.1:8000". Others need
            ``--allow-network``.
        start_url: the page to begin with: a file in ``pages``, or an address.
    """

    kind = "computer"

    def __init__(
        self, environment: str = "browser", width: int = 1024, height: int = 768, *,
        pages: Union[str, os.PathLike[str], None] = None, sites: Sequence[str] = (), start_url: str = "about:blank",
    ) -> None:
        self.name = "computer_use_preview"
        if environment != "browser":
            raise UserError(f"ComputerTool: environment is \"browser\", got {environment!r}")
        if isinstance(sites, str):
            raise UserError("ComputerTool: sites is a list of addresses")
        self.environment = environment
        self.width = _whole(self, "width", width, 200, 4096)
        self.height = _whole(self, "height", height, 200, 4096)
        self.pages = "" if pages is None else os.fspath(pages)
        self.sites = list(sites)
        self.start_url = start_url

    def _options(self) -> dict[str, Any]:
        return {
            "environment": self.environment, "width": self.width, "height": self.height, "pages": self.pages, "sites": self.sites,
            "start_url": self.start_url,
        }

    def _description(self) -> str:
        return "Work a web page: open it, click, type, press keys, scroll, wait, take a screenshot. Gives what the page shows and where to click."

    def _parameters(self) -> dict[str, Any]:
        actions = ["screenshot", "open", "click", "double_click", "move", "drag", "type", "keypress", "scroll", "wait"]
        whole = {"type": "integer"}
        return _object(
            action={"type": "string", "enum": actions},
            url={"type": "string", "description": "The page to open."},
            x=whole, y=whole, button={"type": "string", "enum": ["left", "right"]},
            scroll_x=whole, scroll_y=whole,
            text={"type": "string", "description": "The text to type."},
            keys={"type": "array", "items": {"type": "string"}, "description": "Keys to press, such as Enter."},
            path={"type": "array", "items": _object(x=whole, y=whole), "description": "Where to drag."},
            ms={"type": "integer", "description": "How long to wait."},
            optional=["url", "x", "y", "button", "scroll_x", "scroll_y", "text", "keys", "path", "ms"],
        )

    def _output(self) -> dict[str, Any]:
        text, whole = {"type": "string"}, {"type": "integer"}
        return _object(
            output=text, screenshot=_object(path=text, bytes=whole, sha256=text),
            refused={"type": "array", "items": _object(method=text, url=text, body=text)}, optional=["screenshot", "refused"],
        )


class ComputerSubmitTool(HostedTool):
    """Sends one request that a page of the computer wanted to submit, each time only after a person has confirmed it.

    Args:
        computer: whose pages and sites it may send to.
    """

    kind = "computer_submit"

    def __init__(self, computer: ComputerTool) -> None:
        self.name = "computer_submit"
        if not isinstance(computer, ComputerTool):
            raise UserError(f"ComputerSubmitTool: want a ComputerTool, got {type(computer).__name__}")
        self.computer = computer

    def _options(self) -> dict[str, Any]:
        return self.computer._options()

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), "execution_level": "commit", "return_direct": True}

    def _description(self) -> str:
        return "Submit what the page wanted to submit, exactly as computer_use_preview has said."

    def _parameters(self) -> dict[str, Any]:
        text = {"type": "string"}
        return _object(method={"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]}, url=text, body=text)

    def _output(self) -> dict[str, Any]:
        return _object(output={"type": "string"})


class ShellTool(HostedTool):
    """Runs one command of the system's shell, each time only after a person has confirmed it."""

    kind = "shell"

    def __init__(self, name: str = "generic_linux_command") -> None:
        self.name = name

    def _options(self) -> dict[str, Any]:
        return {}

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), "execution_level": "commit", "return_direct": True}

    def _description(self) -> str:
        return "Run a shell command and give its output."

    def _parameters(self) -> dict[str, Any]:
        return _object(command={"type": "string", "description": "The command line."})

    def _output(self) -> dict[str, Any]:
        return _object(output={"type": "string"})


def _object(*, optional: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    """A closed object of JSON Schema; every property is required but the optional ones."""
    return {
        "type": "object", "properties": properties, "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _unsupported(tool: HostedTool, **options: Any) -> None:
    for option, value in options.items():
        if value is not None:
            raise UserError(f"{type(tool).__name__}: {option} isn't supported by edge's local {tool.name}: leave it out")


def _whole(tool: HostedTool, option: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UserError(f"{type(tool).__name__}: {option} is a whole number from {least} to {most}, got {value!r}")
    return value


def _paths(given: Any) -> list[str]:
    if given is None:
        return []
    folders = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    paths = [os.fspath(folder) for folder in folders]
    if not all(isinstance(path, str) and path for path in paths):
        raise UserError("FileSearchTool: a folder is a path")
    return paths
