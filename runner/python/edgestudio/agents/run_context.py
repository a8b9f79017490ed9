"""What a tool may be handed besides the model's arguments. None of it is ever shown to the model."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

TContext = TypeVar("TContext")


@dataclass
class Usage:
    """Tokens and requests of the run so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    def add(self, other: Usage) -> None:
        self.requests += other.requests
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.total_tokens += other.total_tokens


@dataclass
class RunContextWrapper(Generic[TContext]):
    """Carries the caller's own object (a connection, a session, a client) to tools, and the usage of the run."""

    context: TContext
    usage: Usage = field(default_factory=Usage)


@dataclass
class ToolContext(RunContextWrapper[TContext]):
    """The context of one call: also which tool, which call, and the arguments as the model wrote them."""

    tool_name: str = field(kw_only=True)
    tool_call_id: str = field(kw_only=True)
    tool_arguments: str = field(kw_only=True)


def is_context(annotation: Any) -> bool:
    """Whether a parameter annotated so takes the context: the class, a subclass, or either with its type in brackets."""
    origin = getattr(annotation, "__origin__", annotation)
    return isinstance(origin, type) and issubclass(origin, RunContextWrapper)
