"""`engram remember` and `retry`: write conversations into memory, and finish what is pending."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langgraph_engram.cli import options
from langgraph_engram.cli.format import format_cost, format_count, format_receipt, next_steps
from langgraph_engram.cli.opening import Invocation
from langgraph_engram.cli.output import FAILED, fail, one_line, print_json, print_text, progress_bar, spinner
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.formats.files import ParsedFile
    from langgraph_engram.formats.messages import Session
    from langgraph_engram.results import Receipt
    from langgraph_engram.schema import PendingTask

STANDARD_INPUT = Path("-")
DateOrderName = Literal["day_first", "month_first"]


@options.shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def remember(
    command: Invocation,
    file: options.Conversations,
    session: Annotated[
        str | None, typer.Option("--session", help="The session's id, for a file of one session.")
    ] = None,
    file_format: Annotated[
        str,
        typer.Option(
            "--format", help="messages, chatgpt, whatsapp, csv, dialogue, text, langmem or mem0; auto recognises it."
        ),
    ] = "auto",
    date_order: Annotated[
        DateOrderName | None,
        typer.Option("--date-order", help="How a chat or table writes 03/04/24, where the file does not show it."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            help="What to read of a file of several: a ChatGPT conversation, a user of mem0, a namespace of langmem.",
        ),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata",
            metavar="KEY=VALUE",
            help="What to keep with the turns, for --filter metadata.KEY=VALUE. Give it again for more.",
        ),
    ] = None,
) -> None:
    """Remember the conversations of a file, or of standard input. Turns that are known are not stored again."""
    given = options.read_metadata(metadata)
    read = _read(file, file_format, sample, date_order)
    sessions = _renamed(read.sessions, session)
    with progress_bar("opening the memory") as bar, command.open_or_make() as memory:
        receipt = memory.remember_sessions(sessions, progress=bar, metadata=given, **command.scope)
        pending = memory.status(**command.scope).pending
    if not command.as_json:
        print_text(f"read as {read}", "dim")
    print_receipt(receipt, pending, command)


@options.shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def retry(command: Invocation) -> None:
    """Run what is pending again, and nothing else."""
    with spinner("trying again"), command.open_existing() as memory:
        waiting = memory.status(**command.scope).pending
        receipt = memory.retry(**command.scope)
        pending = memory.status(**command.scope).pending
    if waiting or command.as_json:
        print_receipt(receipt, pending, command)
    else:
        print_text("nothing is pending")


def _read(file: Path, file_format: str, sample: str | None, date_order: DateOrderName | None) -> "ParsedFile":
    from langgraph_engram.formats.files import parse_conversations, read_bytes

    standard = file == STANDARD_INPUT
    raw, name = (sys.stdin.buffer.read(), "standard input") if standard else (read_bytes(str(file)), str(file))
    return parse_conversations(raw, name, file_format, sample, date_order)


def _renamed(sessions: "list[Session]", session_id: str | None) -> "list[Session]":
    """Return a file's only session under the id that was asked for; without an id, all sessions as they are."""
    if session_id is None:
        return sessions
    if len(sessions) > 1:
        raise InvalidInput(
            f"--session {session_id!r} names one session, and the file holds {len(sessions)}: leave --session out"
        )
    return [replace(sessions[0], session_id=session_id)]


def print_receipt(receipt: "Receipt", pending: "list[PendingTask]", command: Invocation) -> None:
    """Print a receipt and what is pending; fail with code 1 where turns are pending and no record came of any."""
    failed = bool(receipt.pending) and not receipt.records and not receipt.quarantined
    if command.as_json and not failed:
        print_json(receipt)
    elif not command.as_json:
        print_text(format_receipt(receipt), "bold")
        print_text(f"cost: {format_cost(receipt.usage)}", "dim")
    if failed:
        raise typer.Exit(fail(f"nothing was extracted: {_advice(pending, command)}", FAILED, command.as_json))
    if pending and not command.as_json:
        print_text(_advice(pending, command), "yellow")


def _advice(pending: "list[PendingTask]", command: Invocation) -> str:
    """Return what is left to do, why, and how to do it."""
    from langgraph_engram.pending import RECEIVE

    left: list[str] = []
    for is_received, state in ((False, "not stored"), (True, "can be found, but later steps are pending")):
        tasks = [task for task in pending if (task.step != RECEIVE) is is_received]
        turns = {turn_id for task in tasks for turn_id in task.turn_ids}
        if tasks:
            left.append(f"{format_count(len(turns), 'turn')} {state} ({one_line(tasks[-1].reason)})")
    return "; ".join([*left, *next_steps(pending, command)])
