"""A small operations desk. Results are made up from the arguments, so that a test can tell what was called."""

from typing import Literal, Optional

from edgestudio.tools import edge_tool

DONE = {
    "type": "object",
    "properties": {"done": {"type": "string"}},
    "required": ["done"],
    "additionalProperties": False,
}


@edge_tool(intent_tags=["look"])
def tail_log(path: str, lines: int = 50, level: Optional[Literal["error", "warning", "info"]] = None) -> dict:
    """Show the last lines of a log file, of all levels or of one."""
    return {"path": path, "last": f"{lines} lines read, level {level or 'any'}"}


@edge_tool(intent_tags=["look"])
def disk_usage(host: str, path: str = "/") -> dict:
    """Tell how full the disk of a host is, at a path."""
    return {"host": host, "used_percent": 40 + len(host + path) * 1.5}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["change"])
def restart_service(service: str, environment: Literal["dev", "staging", "production"], force: bool = False) -> dict:
    """Restart a service in an environment."""
    return {"done": f"{service} in {environment}, forced: {force}"}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["change"])
def deploy(
    service: str,
    version: str,
    environment: Literal["dev", "staging", "production"],
    dry_run: bool = False,
) -> dict:
    """Deploy a version of a service to an environment, or only try whether it could be."""
    return {"done": f"{service} {version} to {environment}, dry: {dry_run}"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["change"])
def scale_service(service: str, replicas: int) -> dict:
    """Set how many replicas of a service run."""
    return {"done": f"{service}: {replicas}"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["change"])
def set_flag(flag: str, enabled: bool) -> dict:
    """Turn a feature flag on or off."""
    return {"done": f"{flag}: {enabled}"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["tell"])
def open_ticket(title: str, priority: Literal["low", "normal", "high"] = "normal", labels: Optional[list[str]] = None) -> dict:
    """Open a ticket with a title, a priority and labels."""
    return {"done": f"{title} ({priority}) {labels or []}"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["tell"])
def set_alert(metric: str, threshold: float, minutes: int = 5) -> dict:
    """Raise an alert when a metric stays above a threshold for some minutes."""
    return {"done": f"{metric} > {threshold} for {minutes} min"}
