"""What a run came to, step by step. ``raw_item`` is the step as ``edge.agent/v1`` has it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from edgestudio.agents.agent import Agent


@dataclass
class RunItemBase:
    """A step of ``agent``."""

    agent: Agent
    raw_item: dict[str, Any]


@dataclass
class MessageOutputItem(RunItemBase):
    """The text that an agent answered."""

    type: str = "message_output_item"


@dataclass
class ToolCallItem(RunItemBase):
    """A call that a model made."""

    type: str = "tool_call_item"


@dataclass
class ToolCallOutputItem(RunItemBase):
    """What came of a call; ``output`` is None where its result isn't used."""

    output: Any = None
    type: str = "tool_call_output_item"


@dataclass
class HandoffCallItem(RunItemBase):
    """A model's call to hand over."""

    type: str = "handoff_call_item"


@dataclass
class HandoffOutputItem(RunItemBase):
    """A handoff that took place."""

    source_agent: Any = None
    target_agent: Any = None
    type: str = "handoff_output_item"


RunItem = Union[MessageOutputItem, HandoffCallItem, HandoffOutputItem, ToolCallItem, ToolCallOutputItem]


class ItemHelpers:
    """Texts out of items."""

    @staticmethod
    def text_message_output(message: MessageOutputItem) -> str:
        return str(message.raw_item["text"])

    @classmethod
    def text_message_outputs(cls, items: list[RunItem]) -> str:
        """The texts of all messages among items, one after the other."""
        return "".join(cls.text_message_output(item) for item in items if isinstance(item, MessageOutputItem))
