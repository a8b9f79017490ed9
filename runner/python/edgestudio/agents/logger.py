"""Where function tools are logged, at the level DEBUG, and how much of a result."""
from __future__ import annotations

import logging
from typing import Any

from edgestudio.agents import _debug

logger = logging.getLogger("edgestudio.agents")


def debug(what: str, data: Any) -> None:
    """Logs what happened; and with which data, unless the switch keeps those out."""
    if _debug.DONT_LOG_TOOL_DATA:
        logger.debug("%s", what)
    elif logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s: %s", what, truncate_for_logging(data))


def truncate_for_logging(output: Any, max_length: int = 1000) -> str:
    """output as text, at most max_length characters of it."""
    text = str(output)
    return text if len(text) <= max_length else f"{text[:max_length]}... (truncated)"
