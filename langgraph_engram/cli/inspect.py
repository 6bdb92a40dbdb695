"""`engram show`, `status` and `history`: list what is stored for a user, count it, and show a record's lineage."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langgraph_engram.cli.options import Filter, Invocation, RecordId, read_filters, shared
from langgraph_engram.cli.output import count_of, one_line, print_json, print_next_steps, print_table, print_text

if TYPE_CHECKING:
    from pydantic import BaseModel

    from langgraph_engram.results import Status

ShownKind = Literal["records", "events", "boundaries", "syntheses", "decisions", "turns", "profile"]
COLUMNS: dict[ShownKind, tuple[str, ...]] = {
    "records": (
        "mentioned_at", "memory_type", "status", "content", "event_start", "event_end", "location", "reason",
        "conflicts_with", "metadata", "record_id",
    ),
    "events": ("started_at", "session_id", "seq", "turn_ids", "status", "topics", "summary", "event_id"),
    "boundaries": ("at", "session_id", "kind", "p_eb", "text", "boundary_id"),
    "syntheses": ("window_start", "window_end", "status", "covered_record_ids", "text", "synthesis_id"),
    "decisions": (
        "decided_at", "action", "jaccard", "cosine", "reason", "pair", "run_id", "undone_at", "decision_id",
    ),
    "turns": ("said_at", "session_id", "seq", "speaker", "text", "captions", "withdrawn", "metadata", "turn_id"),
    "profile": ("mentioned_at", "lasting", "speaker", "content", "record_id"),
}  # fmt: skip
LENGTH_ONLY = frozenset({"turn_ids", "covered_record_ids", "conflicts_with"})
"""Lists of which only the length is shown, where it is not 0; `--json` has them whole."""
DATES = frozenset({"event_start", "event_end", "window_start", "window_end"})
"""Times of which only the date is shown."""


@shared("user", "store", "tenant", "agent", "as_json")
def show(
    command: Invocation,
    kind: Annotated[ShownKind, typer.Option(help="What to list.")] = "records",
    filters: Filter = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The newest N only.")] = None,
) -> None:
    """List what is stored for a user, with ids; tab-separated lines in a pipe, or JSON with every field."""
    with command.open_existing() as memory:
        items = memory.show(kind, filters=read_filters(filters), limit=limit, **command.scope)
    if command.as_json:
        print_json(items)
    elif items:
        _print_items(kind, items)
    else:
        print_text(f"no {kind} are stored for {command.user}" + (", or none fulfils the filters" if filters else ""))


def _print_items(kind: ShownKind, items: "Sequence[BaseModel]") -> None:
    fields = COLUMNS[kind]
    print_table(fields, [[format_cell(field, getattr(item, field)) for field in fields] for item in items])


def format_cell(field: str, value: object) -> str:
    """Format the value of a field: times with their offset unless it is UTC, rates to two digits, None as nothing."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        minutes = value.isoformat(" ", "minutes").removesuffix("+00:00")
        return f"{value:%Y-%m-%d}" if field in DATES else minutes
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return str(len(value) or "") if field in LENGTH_ONLY else ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in value.items())
    return str(value)


@shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def status(command: Invocation) -> None:
    """Count what is stored for a user, list what is pending, and say which store and model it is, and why."""
    with command.open_existing() as memory:
        counts = memory.status(**command.scope)
    if command.as_json:
        print_json(counts)
    else:
        _print_status(counts, command)
        print_next_steps(counts.pending, command, indent=2)


def _print_status(counts: "Status", command: Invocation) -> None:
    by_status = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.records.items()))
    special = {"records": by_status or "0", "pending": f"{len(counts.pending):,}"}
    for name in ("turns", "events", "records", "boundaries", "syntheses", "decisions", "pending"):
        print_text(f"{name:<12}{special.get(name) or format(getattr(counts, name), ',')}")
    chosen = {"store": command.store, "encoder": None, "preset": command.preset, "model": command.model}
    for name, given in chosen.items():
        print_text(f"{name:<12}{getattr(counts, name)}  ({command.defaults.source(name, given)})")
    tokens = counts.spent.prompt_tokens + counts.spent.completion_tokens
    read = count_of(counts.notes, "session note")
    print_text(f"{'written':<12}{count_of(counts.spent.calls, 'call')}, {tokens:,} tokens, {read}")
    for task in counts.pending:
        turns = count_of(len(task.turn_ids), "turn") if task.record_id is None else f"record {task.record_id}"
        where = f" of session {task.session_id}" if task.session_id else ""
        print_text(f"{task.step}: {turns}{where}: {one_line(task.reason)}", "yellow", indent=2)


@shared("user", "store", "tenant", "agent", "as_json")
def history(command: Invocation, record_id: RecordId) -> None:
    """Show a record's lineage in order of time, with the decisions that made it."""
    with command.open_existing() as memory:
        lineage = memory.history(record_id, **command.scope)
    if command.as_json:
        print_json(lineage)
        return
    _print_items("records", lineage.records)
    if lineage.decisions:
        print_text()
        _print_items("decisions", lineage.decisions)
