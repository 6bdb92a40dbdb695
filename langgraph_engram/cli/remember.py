"""`engram remember` and `retry`: write conversations into memory, and finish what is pending."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langgraph_engram.cli.format import format_cost, format_count, format_receipt, next_steps, scope_options
from langgraph_engram.cli.options import (
    Agent,
    AsJson,
    Conversations,
    Model,
    Preset,
    Store,
    Tenant,
    User,
    open_existing,
    open_or_make,
    read_metadata,
)
from langgraph_engram.cli.output import FAILED, fail, one_line, print_json, print_text, progress_bar, spinner
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.formats.files import ParsedFile
    from langgraph_engram.formats.messages import Session
    from langgraph_engram.results import Receipt
    from langgraph_engram.schema import PendingTask

STANDARD_INPUT = Path("-")
DateOrderName = Literal["day_first", "month_first"]


def remember(
    file: Conversations,
    user: User,
    session: Annotated[
        str | None, typer.Option("--session", help="The session's id, for a file of one session.", show_default=False)
    ] = None,
    file_format: Annotated[
        str,
        typer.Option(
            "--format",
            help="messages, chatgpt, whatsapp, csv, dialogue, text, langmem, mem0, locomo or longmemeval; "
            "auto recognises it.",
        ),
    ] = "auto",
    date_order: Annotated[
        DateOrderName | None,
        typer.Option(
            "--date-order",
            help="How a chat or table writes 03/04/24, where the file does not show it.",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            help="What to read of a file of several: a sample of a data set, a ChatGPT conversation, a user of mem0, "
            "a namespace of langmem.",
            show_default=False,
        ),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata",
            metavar="KEY=VALUE",
            help="What to keep with the turns, for --filter metadata.KEY=VALUE. Give it again for more.",
            show_default=False,
        ),
    ] = None,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Remember the conversations of a file, or of standard input. Turns that are known are not stored again."""
    given = read_metadata(metadata)
    read = _read(file, file_format, sample, date_order)
    sessions = _renamed(read.sessions, session)
    with progress_bar("opening the memory") as bar, open_or_make(store, model, preset) as memory:
        receipt = memory.remember_sessions(
            sessions, user_id=user, tenant=tenant, agent_id=agent, progress=bar, metadata=given
        )
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    if not as_json:
        print_text(f"read as {read}", "dim")
    print_receipt(receipt, pending, scope_options(user, store, tenant, agent), as_json)


def retry(
    user: User,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Run what is pending again, and nothing else."""
    with spinner("trying again"), open_existing(store, model, preset) as memory:
        waiting = memory.status(user, tenant=tenant, agent_id=agent).pending
        receipt = memory.retry(user_id=user, tenant=tenant, agent_id=agent)
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    if waiting or as_json:
        print_receipt(receipt, pending, scope_options(user, store, tenant, agent), as_json)
    else:
        print_text("nothing is pending")


def _read(file: Path, file_format: str, sample: str | None, date_order: DateOrderName | None) -> "ParsedFile":
    from langgraph_engram.formats.files import parse_conversations, read_bytes

    standard = file == STANDARD_INPUT
    raw, name = (sys.stdin.buffer.read(), "standard input") if standard else (read_bytes(str(file)), str(file))
    return parse_conversations(raw, name, file_format, sample, date_order)


def _renamed(sessions: "list[Session]", session_id: str | None) -> "list[Session]":
    """Return a file's only session under the id that was asked for; without an id, all sessions as they are.

    Raises:
        InvalidInput: The file holds several sessions.
    """
    if session_id is None:
        return sessions
    if len(sessions) > 1:
        raise InvalidInput(
            f"--session {session_id!r} names one session, and the file holds {len(sessions)}: leave --session out"
        )
    return [replace(sessions[0], session_id=session_id)]


def print_receipt(receipt: "Receipt", pending: "list[PendingTask]", options: str, as_json: bool) -> None:
    """Print a receipt and what is pending; fail where turns were stored and no later step could run.

    Args:
        receipt: What was written.
        pending: What is left to do.
        options: Those of `scope_options`, for the commands that do it.
        as_json: Whether to print the receipt as JSON.

    Raises:
        typer.Exit: With code 1, if turns are pending and no record came of any.
    """
    failed = bool(receipt.pending) and not receipt.records and not receipt.quarantined
    if as_json and not failed:
        print_json(receipt)
    elif not as_json:
        print_text(format_receipt(receipt), "bold")
        print_text(f"cost: {format_cost(receipt.usage)}", "dim")
    if failed:
        raise typer.Exit(fail(f"nothing was extracted: {_advice(pending, options)}", FAILED, as_json))
    if pending and not as_json:
        print_text(_advice(pending, options), "yellow")


def _advice(pending: "list[PendingTask]", options: str) -> str:
    """Return what is left to do, why, and how to do it."""
    from langgraph_engram.pending import RECEIVE

    left: list[str] = []
    for is_received, state in ((False, "not stored"), (True, "can be found, but later steps are pending")):
        tasks = [task for task in pending if (task.step != RECEIVE) is is_received]
        turns = {turn_id for task in tasks for turn_id in task.turn_ids}
        if tasks:
            left.append(f"{format_count(len(turns), 'turn')} {state} ({one_line(tasks[-1].reason)})")
    return "; ".join([*left, *next_steps(pending, options)])
