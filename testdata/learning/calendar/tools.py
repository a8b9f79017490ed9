"""A small office's calendar. Results are made up from the arguments, so that a test can tell what was called."""

from typing import Literal, Optional

from edgestudio.tools import edge_tool

DONE = {
    "type": "object",
    "properties": {"done": {"type": "string"}},
    "required": ["done"],
    "additionalProperties": False,
}


@edge_tool(intent_tags=["look"])
def list_events(date: str) -> dict:
    """List the events of one day, written YYYY-MM-DD."""
    return {"date": date, "events": ["Stand-up", "Lunch"][: 1 + int(date[-1]) % 2]}


@edge_tool(intent_tags=["look"])
def find_free_time(date: str, minutes: int, part: Optional[Literal["morning", "afternoon", "evening"]] = None) -> dict:
    """Find a free stretch of some minutes on a day, written YYYY-MM-DD."""
    return {"date": date, "from": {"morning": "09:15", "afternoon": "14:30", "evening": "18:45"}.get(part, "11:20"), "minutes": minutes}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["change"])
def create_event(title: str, date: str, time: str, minutes: int = 60) -> dict:
    """Put a new event into the calendar; the day is YYYY-MM-DD and the time HH:MM."""
    return {"done": f"{title}: {date} {time}, {minutes} min"}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["change"])
def invite_people(event_id: str, people: list[str], optional: bool = False) -> dict:
    """Invite people to an event by their e-mail addresses."""
    return {"done": f"{event_id}: {len(people)} invited, optional {optional}"}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["change"])
def move_event(event_id: str, date: str, time: Optional[str] = None) -> dict:
    """Move an event to another day (YYYY-MM-DD), and to another time (HH:MM) if one is given."""
    return {"done": f"{event_id}: {date} {time or 'same time'}"}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["change"])
def cancel_event(event_id: str, notify: bool = True) -> dict:
    """Cancel an event; its guests are told unless notify is false."""
    return {"done": f"{event_id} cancelled, guests told: {notify}"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["change"])
def set_reminder(text: str, time: str) -> dict:
    """Remind the user of something today at a time, written HH:MM."""
    return {"done": f"{time}: {text}"}
