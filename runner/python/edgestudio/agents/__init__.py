"""Function tools in the style of agent SDKs: ``from edgestudio.agents import function_tool``.

A :class:`FunctionTool` is a name, a description, a JSON Schema and an async function that takes the model's JSON text.
:func:`function_tool` makes one of a Python function. ``pydantic`` checks the arguments and ``griffe`` reads docstrings;
both are imported when the first tool that needs them is made (``pip install 'edge-studio[agents]'``).
"""
from edgestudio.agents.exceptions import AgentsException, ModelBehaviorError, UserError
from edgestudio.agents.function_schema import FuncSchema, function_schema
from edgestudio.agents.run_context import RunContextWrapper, ToolContext, Usage
from edgestudio.agents.strict_schema import ensure_strict_json_schema
from edgestudio.agents.tool import FunctionTool, ToolErrorFunction, default_tool_error_function, function_tool

__all__ = [
    "AgentsException", "FuncSchema", "FunctionTool", "ModelBehaviorError", "RunContextWrapper", "ToolContext",
    "ToolErrorFunction", "Usage", "UserError", "default_tool_error_function", "ensure_strict_json_schema",
    "function_schema", "function_tool",
]
