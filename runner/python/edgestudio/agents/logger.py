"""Where function tools are logged, at the level DEBUG, and how much of a result."""
from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("edgestudio.agents")


def truncate_for_logging(output: Any, max_length: int = 1000) -> str:
    """output as text, at most max_length characters of it."""
    text = str(output)
    return text if len(text) <= max_length else f"{text[:max_length]}... (truncated)"
