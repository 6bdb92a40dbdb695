"""`engram remember`, `retry` and `recall`: write conversations into memory, finish what is pending, and ask."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langgraph_engram.cli.options import Filter, Invocation, read_filters, read_metadata, shared
from langgraph_engram.cli.output import (
    FAILED,
    count_of,
    fail,
    next_steps,
    one_line,
    print_counts,
    print_json,
    print_recollection,
    print_text,
    progress,
)
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.results import Receipt
    from langgraph_engram.schema import PendingTask


@shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def remember(
    command: Invocation,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A chat, export, table or text, gzipped or not; - for standard input."),
    ],
    session: Annotated[str | None, typer.Option(help="The session's id, for a file of one session.")] = None,
    file_format: Annotated[
        str,
        typer.Option(
            "--format", help="messages, chatgpt, whatsapp, csv, dialogue, text, langmem or mem0; auto recognises it."
        ),
    ] = "auto",
    date_order: Annotated[
        Literal["day_first", "month_first"] | None,
        typer.Option(help="How a chat or table writes 03/04/24, where the file does not show it."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            help="What to read of a file of several: a ChatGPT conversation, a user of mem0, a namespace of langmem."
        ),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="What to keep with the turns, for --filter metadata.KEY=VALUE. Give it again for more.",
        ),
    ] = None,
) -> None:
    """Remember the conversations of a file, or of standard input. Turns that are known are not stored again."""
    from langgraph_engram.formats.files import parse_conversations, read_bytes

    given = read_metadata(metadata)
    is_standard = file == Path("-")
    raw, name = (sys.stdin.buffer.read(), "standard input") if is_standard else (read_bytes(str(file)), str(file))
    read = parse_conversations(raw, name, file_format, sample, date_order)
    sessions = read.sessions
    if session is not None:
        if len(sessions) > 1:
            named = f"--session {session!r} names one session, and the file holds {len(sessions)}"
            raise InvalidInput(f"{named}: leave --session out")
        sessions = [replace(sessions[0], session_id=session)]
    with progress("opening the memory") as show_step, command.open() as memory:
        receipt = memory.remember_sessions(sessions, progress=show_step, metadata=given, **command.scope)
        pending = command.pending(memory)
    if not command.as_json:
        messages = sum(len(session.messages) for session in sessions)
        size = f"{count_of(messages, 'message')} in {count_of(len(sessions), 'session')}"
        print_text(f"read as {read.format}, {size}", "dim")
    print_receipt(receipt, pending, command)


@shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def retry(
    command: Invocation,
    skip: Annotated[bool, typer.Option("--skip", help="Set aside what fails by a bug, and do the rest.")] = False,
) -> None:
    """Run what is pending again, and nothing else."""
    with progress("trying again"), command.open_existing() as memory:
        waiting = command.pending(memory)
        receipt = memory.retry(skip=skip, **command.scope)
        pending = command.pending(memory)
    if waiting or command.as_json:
        print_receipt(receipt, pending, command)
    else:
        print_text("nothing is pending")


def print_receipt(receipt: "Receipt", pending: "list[PendingTask]", command: Invocation) -> None:
    """Print a receipt and what is pending; fail with code 1 where turns are pending and no record came of any."""
    if receipt.pending and not receipt.records and not receipt.quarantined:
        if not command.as_json:
            print_counts(receipt)
        raise typer.Exit(fail(f"nothing was extracted: {_advice(pending, command)}", FAILED, command.as_json))
    if command.as_json:
        print_json(receipt)
        return
    print_counts(receipt)
    if pending:
        print_text(_advice(pending, command), "yellow")


def _advice(pending: "list[PendingTask]", command: Invocation) -> str:
    """Return what is left to do, why, and how to do it."""
    from langgraph_engram.pending import RECEIVE

    left: list[str] = []
    for is_received, state in ((False, "not stored"), (True, "can be found, but later steps are pending")):
        tasks = [task for task in pending if (task.step != RECEIVE) is is_received]
        turns = {turn_id for task in tasks for turn_id in task.turn_ids}
        if turns:
            left.append(f"{count_of(len(turns), 'turn')} {state} ({one_line(tasks[-1].reason)})")
    return "; ".join([*left, *next_steps(pending, command)])


@shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def recall(
    command: Invocation,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What is asked.")],
    search: Annotated[bool, typer.Option("--search", help="Find evidence only; no model is asked.")] = False,
    select: Annotated[
        bool, typer.Option("--select", help="Find what bears on a request or remark; the model selects it.")
    ] = False,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens of evidence.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first N passages of a --search only.")] = None,
    now: Annotated[
        str | None,
        typer.Option(help='The date that "last week" counts from, ISO 8601. \\[default: the newest turn\'s]'),
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="Answer as memory stood then: a date or a time, ISO 8601.")] = None,
    branches: Annotated[
        Literal["current", "all"], typer.Option(help="Whether branches that their threads abandoned are read as well.")
    ] = "current",
    style: Annotated[
        Literal["auto", "short", "full"] | None,
        typer.Option(help="How long the answer is. \\[default: as the question asks]"),
    ] = None,
    filters: Filter = None,
) -> None:
    """Answer a question from memory, with the evidence that the answer rests on."""
    search = search or select
    if limit and not search:
        raise InvalidInput("--limit is for --search: an answer needs its evidence whole; --budget limits that")
    from langgraph_engram.formats.messages import read_moment, read_until

    asked: dict[str, Any] = {"now": read_moment(now), "as_of": read_until(as_of), "filters": read_filters(filters)}
    asked["branches"] = branches
    with progress("remembering"), command.open_existing() as memory:
        if search:
            recollection = memory.search(question, budget=budget, limit=limit, select=select, **asked, **command.scope)
        else:
            recollection = memory.recall(question, budget=budget, answer_style=style, **asked, **command.scope)
    if command.as_json:
        print_json(recollection)
    else:
        print_recollection(recollection)
