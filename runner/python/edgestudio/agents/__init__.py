"""Function tools in the style of agent SDKs: ``from edgestudio.agents import function_tool``.

A :class:`FunctionTool` is a name, a description, a JSON Schema and an async function that takes the model's JSON text.
:func:`function_tool` makes one of a Python function. ``pydantic`` checks the arguments and ``griffe`` reads docstrings;
both are imported when the first tool that needs them is made (``pip install 'edge-studio[agents]'``).
"""
from edgestudio.agents.agent import (
    Agent,
    FunctionToolResult,
    StopAtTools,
    ToolsToFinalOutputFunction,
    ToolsToFinalOutputResult,
)
from edgestudio.agents.exceptions import AgentsException, MaxTurnsExceeded, ModelBehaviorError, UserError
from edgestudio.agents.function_schema import FuncSchema, function_schema
from edgestudio.agents.handoffs import Handoff, handoff
from edgestudio.agents.items import (
    HandoffCallItem,
    HandoffOutputItem,
    ItemHelpers,
    MessageOutputItem,
    RunItem,
    ToolCallItem,
    ToolCallOutputItem,
)
from edgestudio.agents.model_settings import ModelSettings
from edgestudio.agents.result import RunResult
from edgestudio.agents.run import Runner
from edgestudio.agents.hosted import (
    CodeInterpreterTool, ComputerSubmitTool, ComputerTool, FileSearchTool, HostedTool, ShellTool, WebSearchTool,
)
from edgestudio.agents.run_context import RunContextWrapper, ToolContext, Usage
from edgestudio.agents.strict_schema import ensure_strict_json_schema
from edgestudio.agents.tool import FunctionTool, ToolErrorFunction, default_tool_error_function, function_tool
from edgestudio.agents.tracing import trace

__all__ = [
    "Agent", "AgentsException", "CodeInterpreterTool", "ComputerSubmitTool", "ComputerTool", "FileSearchTool", "FuncSchema",
    "FunctionTool",
    "FunctionToolResult", "Handoff", "HandoffCallItem", "HandoffOutputItem", "HostedTool", "ItemHelpers",
    "MaxTurnsExceeded", "MessageOutputItem", "ModelBehaviorError", "ModelSettings", "RunContextWrapper", "RunItem",
    "RunResult", "Runner", "ShellTool", "StopAtTools", "ToolCallItem", "ToolCallOutputItem", "ToolContext",
    "ToolErrorFunction", "ToolsToFinalOutputFunction", "ToolsToFinalOutputResult", "Usage", "UserError",
    "WebSearchTool", "default_tool_error_function", "ensure_strict_json_schema", "function_schema", "function_tool",
    "handoff", "trace",
]
