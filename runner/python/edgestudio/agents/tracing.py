"""Errors that a run survives: told to the model, and kept for whoever records the call."""
from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Iterator, Optional


@dataclass(frozen=True)
class SpanError:
    """``data`` holds ``tool_name`` and ``error``; ``kind`` is the error's type, ``told`` what the model reads of it."""

    message: str
    data: dict[str, Any]
    kind: str = field(default="", compare=False)
    told: Any = field(default=None, compare=False, repr=False)


_errors: ContextVar[Optional[list[SpanError]]] = ContextVar("edgestudio.agents.errors", default=None)


@contextmanager
def span() -> Iterator[list[SpanError]]:
    """Gives the list to which errors are attached within the block."""
    found: list[SpanError] = []
    token = _errors.set(found)
    try:
        yield found
    finally:
        _errors.reset(token)


def attach_error_to_current_span(error: SpanError) -> None:
    """Does nothing outside a span."""
    found = _errors.get()
    if found is not None:
        found.append(error)


@contextmanager
def trace(workflow_name: str, **names: Any) -> Iterator[None]:
    """Runs the block. A file may group its runs by it; nothing is sent anywhere, and what each run did is in edge's receipts."""
    yield
