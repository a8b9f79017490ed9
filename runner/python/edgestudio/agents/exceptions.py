"""Who made the mistake: the model, or whoever wrote the tool. What a tool's own code raises is neither, and stays as it is."""
from __future__ import annotations


class AgentsException(Exception):
    """Base of what this package raises."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ModelBehaviorError(AgentsException):
    """The model called a tool with text that isn't JSON, or with arguments that the tool doesn't take."""


class UserError(AgentsException):
    """A tool was defined in a way that can't work."""


class MaxTurnsExceeded(AgentsException):
    """A run's models had replied as often as they may, and none of it was an answer."""
