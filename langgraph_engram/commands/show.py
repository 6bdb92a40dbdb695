"""`engram show`: list what is kept for a user, one row each."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from pydantic import BaseModel

from langgraph_engram.commands.opening import open_existing
from langgraph_engram.commands.options import Agent, AsJson, Store, Tenant, User
from langgraph_engram.commands.output import print_json, print_table, say


class ShownKind(StrEnum):
    """What can be listed."""

    RECORDS = "records"
    EVENTS = "events"
    BOUNDARIES = "boundaries"
    SYNTHESES = "syntheses"
    DECISIONS = "decisions"
    TURNS = "turns"


COLUMNS: dict[ShownKind, dict[str, str]] = {
    ShownKind.RECORDS: {
        "said": "mentioned_at", "type": "memory_type", "status": "status", "content": "content",
        "from": "event_start", "to": "event_end", "place": "location", "why": "reason",
    },
    ShownKind.EVENTS: {
        "started": "started_at", "session": "session_id", "no.": "seq", "turns": "turn_ids", "status": "status",
        "topics": "topics", "summary": "summary",
    },
    ShownKind.BOUNDARIES: {"at": "at", "session": "session_id", "kind": "kind", "p": "p_eb", "text": "text"},
    ShownKind.SYNTHESES: {
        "from": "window_start", "to": "window_end", "status": "status", "records": "covered_record_ids",
        "text": "text",
    },
    ShownKind.DECISIONS: {
        "decided": "decided_at", "action": "action", "jaccard": "jaccard", "cosine": "cosine", "reason": "reason",
        "records": "pair", "run": "run_id", "undone": "undone_at",
    },
    ShownKind.TURNS: {
        "said": "said_at", "session": "session_id", "no.": "seq", "speaker": "speaker", "text": "text",
        "images": "captions",
    },
}  # fmt: skip
"""The title of each column, and the field that it shows."""
COUNTED = frozenset({"turn_ids", "covered_record_ids"})
"""Lists of which only the length is shown; --json has them whole."""
DAYS = frozenset({"event_start", "event_end", "window_start", "window_end"})
"""Moments of which only the day is shown."""


def show(
    user: User,
    kind: Annotated[ShownKind, typer.Option("--kind", help="What to list.")] = ShownKind.RECORDS,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """List what is kept for a user: a table, tab-separated lines in a pipe, or JSON with every field."""
    with open_existing(store, None, None) as memory:
        things = memory.show(kind.value, user, tenant=tenant, agent_id=agent)
    if as_json:
        print_json(things)
    elif things:
        print_table([*COLUMNS[kind]], [row(kind, thing) for thing in things])
    else:
        say(f"no {kind.value} are kept for {user}")


def row(kind: ShownKind, thing: BaseModel) -> list[str]:
    """Give the cells of one row."""
    return [cell(field, getattr(thing, field)) for field in COLUMNS[kind].values()]


def cell(field: str, value: object) -> str:
    """Word the value of a field: moments with an offset that is not UTC's, rates to two digits; nothing for unknown."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        moment = value.isoformat(" ", "minutes").removesuffix("+00:00")
        return f"{value:%Y-%m-%d}" if field in DAYS else moment
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return str(len(value)) if field in COUNTED else ", ".join(value)
    return str(value)
