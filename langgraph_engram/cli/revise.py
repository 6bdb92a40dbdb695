"""`engram approve`, `update`, `undo` and `forget`: decide about a run that waits, edit, take back, and erase."""

from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_engram.cli.options import Invocation, RecordId, shared
from langgraph_engram.cli.output import (
    count_of,
    format_items,
    format_receipt,
    one_line,
    print_json,
    print_next_steps,
    print_result,
    print_text,
)
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.results import Approval, UndoReceipt

RUN = typer.Argument(metavar="RUN_ID", help="The run, by its id in a receipt or a decision.")


@shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def approve(
    command: Invocation,
    run_id: Annotated[str | None, RUN] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Reject them instead: everything stays as it is.")] = False,
) -> None:
    """Approve all decisions of a run that waits for a person; without a run, list those that wait."""
    if reject and run_id is None:
        raise InvalidInput("--reject names no run: engram approve --user USER lists those that wait")
    with command.open_existing() as memory:
        if run_id is None:
            waiting = memory.approvals(**command.scope)
        else:
            receipt = memory.approve(run_id, "reject" if reject else "approve", **command.scope)
        pending = command.pending(memory)
    if run_id is not None:
        done = "rejected" if reject else "approved"
        print_result(command, receipt, f"{done}: {format_receipt(receipt)}", pending=pending)
    elif command.as_json:
        print_json(waiting)
    else:
        _print_approvals(waiting)
        print_next_steps(pending, command)


def _print_approvals(waiting: "list[Approval]") -> None:
    """Print each decision with what it would replace, and by what; what stays is marked alike."""
    if not waiting:
        print_text("no run waits for approval")
    for run in waiting:
        print_text(f"run {run.run_id}", "bold")
        for decision in run.decisions:
            print_text(f"{decision.action}: {one_line(decision.reason)}", indent=2, hang=2)
            before, after = ("- ", "+ ") if decision.replaces else ("= ", "= ")
            for text in decision.old:
                print_text(f"{before}{one_line(text)}", "red", indent=4, hang=2)
            print_text(f"{after}{one_line(decision.new)}", "green", indent=4, hang=2)


@shared("user", "store", "tenant", "agent", "as_json")
def update(
    command: Invocation,
    record_id: RecordId,
    text: Annotated[str, typer.Argument(help="The whole text of the record from now on.")],
) -> None:
    """Correct what a record says. The old one stays in its history."""
    with command.open_existing() as memory:
        receipt = memory.update(record_id, text, **command.scope)
        pending = command.pending(memory)
    lines = ["nothing to do: the record says so already"]
    if receipt.run_id:
        back = f"to take it back: engram undo {receipt.run_id} {command.options}"
        lines = [f"record {receipt.record.record_id} takes its place", back]
    print_result(command, receipt, *lines, pending=pending)


@shared("user", "store", "tenant", "agent", "as_json")
def undo(command: Invocation, run_id: Annotated[str, RUN]) -> None:
    """Take back what a run merged, superseded or linked. Nothing is deleted; its decisions stay in the history."""
    with command.open_existing() as memory:
        receipt = memory.undo(run_id, **command.scope)
        pending = command.pending(memory)
    print_result(command, receipt, _format_undo(receipt), pending=pending)


def _format_undo(receipt: "UndoReceipt") -> str:
    if receipt.already_undone:
        return f"nothing to do: run {receipt.run_id} was undone before"
    parts = [
        f"{count_of(receipt.decisions, 'decision')} undone",
        f"{count_of(receipt.restored, 'record')} active again" if receipt.restored else "",
        f"{count_of(receipt.archived, 'merged record')} archived" if receipt.archived else "",
        f"{count_of(receipt.stale_syntheses, 'synthesis')} stale" if receipt.stale_syntheses else "",
    ]
    return ", ".join(filter(None, parts))


@shared("user", "store", "tenant", "agent", "as_json")
def forget(
    command: Invocation,
    session: Annotated[str | None, typer.Option(help="The session to forget; all of the user otherwise.")] = None,
    turn: Annotated[
        str | None,
        typer.Option(help="The turn to forget, by its id (here or in its source) or the id's first characters."),
    ] = None,
    record: Annotated[str | None, typer.Option(help="The record to forget, likewise; its turns stay.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Forget a user, or one session, turn or record of theirs. There is no way back."""
    narrowed = {"session": session, "turn": turn, "record": record}
    what = " and ".join(f"{name} {value}" for name, value in narrowed.items() if value is not None) or "all memory"
    if not yes:
        _confirm(f"{what} of {command.user}", command.as_json)
    with command.open_existing() as memory:
        receipt = memory.forget(session_id=session, turn_id=turn, record_id=record, **command.scope)
        pending = command.pending(memory)
    further = [f"still found: {where}" for where in receipt.residue]
    if receipt.records and record is not None:
        further.append("the turns that it came from stay, and can be found: engram forget --turn TURN_ID erases one")
    checkpoints = f"the checkpoints of {count_of(receipt.runs, 'run')}" if receipt.runs else ""
    erased = ", ".join(filter(None, [format_items(receipt, with_zeros=False), checkpoints]))
    said = f"forgotten: {erased}" if erased else "nothing to forget: nothing of it is stored"
    print_result(command, receipt, said, *further, pending=pending)


def _confirm(what: str, as_json: bool) -> None:
    """Ask for confirmation, and fail where nobody can be asked."""
    if as_json or not typer.get_text_stream("stdin").isatty():
        raise InvalidInput(f"{what} would be forgotten for good: confirm it with --yes")
    if not typer.confirm(f"Forget {what} for good?", err=True):
        raise InvalidInput("nothing was forgotten")
