"""How an agent's model is asked."""
from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Optional

USED = ("temperature", "max_tokens", "tool_choice")


@dataclass
class ModelSettings:
    """``temperature``, ``max_tokens`` and ``tool_choice`` count. The others are accepted, so that a file written for a
    server's models runs here; ``edge agent`` says which of them it leaves out of account.

    ``tool_choice`` is "auto", "required", "none" or a tool's name; None is "auto".
    """

    temperature: Optional[float] = None
    top_p: Optional[float] = None
    frequency_penalty: Optional[float] = None
    presence_penalty: Optional[float] = None
    tool_choice: Optional[str] = None
    parallel_tool_calls: Optional[bool] = None
    truncation: Optional[str] = None
    max_tokens: Optional[int] = None
    reasoning: Any = None
    verbosity: Optional[str] = None
    metadata: Optional[dict[str, str]] = None
    store: Optional[bool] = None
    include_usage: Optional[bool] = None
    top_logprobs: Optional[int] = None
    extra_query: Any = None
    extra_body: Any = None
    extra_headers: Any = None
    extra_args: Optional[dict[str, Any]] = None

    def resolve(self, override: Optional[ModelSettings]) -> ModelSettings:
        """These settings, with those that override sets in their place."""
        return self if override is None else replace(self, **override.given())

    def given(self) -> dict[str, Any]:
        """The settings that aren't None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def unused(self) -> list[str]:
        """The names of those that are set and don't count."""
        return [name for name in self.given() if name not in USED]
