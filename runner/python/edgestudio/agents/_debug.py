"""The switch that keeps tool data, arguments and results, out of logs and out of the errors that this package words."""
import os

DONT_LOG_TOOL_DATA = os.environ.get("OPENAI_AGENTS_DONT_LOG_TOOL_DATA", "").lower() in ("1", "true")
