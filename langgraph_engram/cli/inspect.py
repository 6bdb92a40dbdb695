"""`engram show`: list what is kept for a user, one row each."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from pydantic import BaseModel

from langgraph_engram.cli.format import counted, next_steps
from langgraph_engram.cli.opening import open_existing
from langgraph_engram.cli.options import Agent, AsJson, Model, Preset, RecordId, Store, Tenant, User
from langgraph_engram.cli.output import one_line, print_json, print_table, say
from langgraph_engram.results import Status


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


def status(
    user: User,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Count what is kept for a user, and list what is pending."""
    with open_existing(store, model, preset) as memory:
        kept = memory.status(user, tenant=tenant, agent_id=agent)
    if as_json:
        print_json(kept)
    else:
        _show(kept, user)


def _show(kept: Status, user: str) -> None:
    by_status = ", ".join(f"{number:,} {name}" for name, number in sorted(kept.records.items()))
    lines = {
        "turns": f"{kept.turns:,}",
        "events": f"{kept.events:,}",
        "records": by_status or "0",
        "boundaries": f"{kept.boundaries:,}",
        "syntheses": f"{kept.syntheses:,}",
        "decisions": f"{kept.decisions:,}",
        "pending": f"{len(kept.pending):,}",
        "store": kept.store,
        "encoder": kept.encoder,
        "preset": kept.preset,
        "model": kept.model,
    }
    for name, value in lines.items():
        say(f"{name:<12}{value}")
    for one in kept.pending:
        turns = counted(len(one.turn_ids), "turn")
        say(f"{one.step}: {turns} of session {one.session_id}: {one_line(one.reason)}", "yellow", indent=2)
    for step in next_steps(kept.pending, user):
        say(step, "yellow", indent=2)


def history(
    record_id: RecordId,
    user: User,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show a record's lineage in order of time, and the decisions between its members."""
    with open_existing(store, None, None) as memory:
        told = memory.history(record_id, user_id=user, tenant=tenant, agent_id=agent)
    if as_json:
        print_json(told)
        return
    print_table(
        ["id", *COLUMNS[ShownKind.RECORDS]], [[one.record_id, *row(ShownKind.RECORDS, one)] for one in told.records]
    )
    if told.decisions:
        say()
        print_table([*COLUMNS[ShownKind.DECISIONS]], [row(ShownKind.DECISIONS, one) for one in told.decisions])
