"""`engram approve`: show the decisions that wait for a person, and let the run that made them go on."""

from typing import Annotated

import typer

from langgraph_engram.cli.format import counted, format_receipt, next_steps
from langgraph_engram.cli.opening import open_existing
from langgraph_engram.cli.options import RUN_HELP, Agent, AsJson, Model, Preset, RunId, Store, Tenant, User
from langgraph_engram.cli.output import one_line, print_json, say
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Approval, ErasureReceipt, UndoReceipt


def approve(
    user: User,
    run_id: Annotated[str | None, typer.Argument(metavar="RUN_ID", help=RUN_HELP, show_default=False)] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Keep everything as it is instead.")] = False,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Approve all decisions of a run that waits for a person; without a run, list what waits."""
    if reject and run_id is None:
        raise InvalidInput("--reject names no run: engram approve --user USER lists those that wait")
    with open_existing(store, model, preset) as memory:
        if run_id is None:
            waiting = memory.approvals(user, tenant=tenant, agent_id=agent)
        else:
            answer = "reject" if reject else "approve"
            receipt = memory.approve(run_id, answer, user_id=user, tenant=tenant, agent_id=agent)
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    if as_json:
        print_json(waiting if run_id is None else receipt)
        return
    if run_id is None:
        _show(waiting)
    else:
        say(f"{'rejected' if reject else 'approved'}: {format_receipt(receipt)}", "bold")
    for step in next_steps(pending, user):
        say(step, "yellow")


def _show(waiting: list[Approval]) -> None:
    """Print each decision with what would go and what would stand."""
    if not waiting:
        say("no run waits for approval")
    for run in waiting:
        say(f"run {run.run_id}", "bold")
        for decision in run.decisions:
            say(f"{decision.action}: {one_line(decision.reason)}", indent=2, hang=2)
            for text in decision.old:
                say(f"- {one_line(text)}", "red", indent=4, hang=2)
            say(f"+ {one_line(decision.new)}", "green", indent=4, hang=2)


def undo(
    run_id: RunId,
    user: User,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Take back what a run merged and superseded. Nothing is deleted, and its decisions stay in the trail."""
    with open_existing(store, None, None) as memory:
        receipt = memory.undo(run_id, user_id=user, tenant=tenant, agent_id=agent)
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    if as_json:
        print_json(receipt)
    else:
        say(format_undo(receipt), "bold")
        for step in next_steps(pending, user):
            say(step, "yellow")


def format_undo(receipt: UndoReceipt) -> str:
    """Say what was taken back, in one line."""
    if receipt.already_undone:
        return f"nothing to do: run {receipt.run_id} was undone before"
    parts = [
        f"{counted(receipt.decisions, 'decision')} undone",
        f"{counted(receipt.restored, 'record')} active again",
        f"{counted(receipt.archived, 'merged record')} archived" if receipt.archived else "",
        f"{counted(receipt.stale_syntheses, 'synthesis', 'syntheses')} stale" if receipt.stale_syntheses else "",
    ]
    return ", ".join(part for part in parts if part)


def forget(
    user: User,
    session: Annotated[
        str | None, typer.Option("--session", help="The session to forget; all of the user otherwise.")
    ] = None,
    turn: Annotated[str | None, typer.Option("--turn", help="The turn to forget, by our id or its source's.")] = None,
    record: Annotated[str | None, typer.Option("--record", help="The record to forget; its turns stay.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether it is meant.")] = False,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Forget a user, or one session, turn or record of theirs. There is no way back."""
    if not yes:
        _require_meant(user, session, turn, record, as_json)
    with open_existing(store, None, None) as memory:
        receipt = memory.forget(
            user_id=user, session_id=session, turn_id=turn, record_id=record, tenant=tenant, agent_id=agent
        )
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    if as_json:
        print_json(receipt)
        return
    say(format_erasure(receipt), "bold")
    for where in receipt.residue:
        say(f"still to be found: {where}", "red")
    for step in next_steps(pending, user):
        say(step, "yellow")


def format_erasure(receipt: ErasureReceipt) -> str:
    """Say what is gone, in one line."""
    parts = [
        counted(receipt.turns, "turn") if receipt.turns else "",
        counted(receipt.events, "event") if receipt.events else "",
        counted(receipt.records, "record") if receipt.records else "",
        counted(receipt.syntheses, "synthesis", "syntheses") if receipt.syntheses else "",
        counted(receipt.decisions, "decision") if receipt.decisions else "",
        f"the checkpoints of {counted(receipt.runs, 'run')}" if receipt.runs else "",
    ]
    told = ", ".join(part for part in parts if part)
    return f"forgotten: {told}" if told else "nothing to forget: nothing is kept of it"


def _require_meant(user: str, session: str | None, turn: str | None, record: str | None, as_json: bool) -> None:
    """Ask a person; who cannot be asked has to say so beforehand.

    Raises:
        InvalidInput: Nobody can be asked, or it is not meant.
    """
    named = {"session": session, "turn": turn, "record": record}
    what = " and ".join(f"{name} {value}" for name, value in named.items() if value is not None) or "all memory"
    if as_json or not typer.get_text_stream("stdin").isatty():
        raise InvalidInput(f"{what} of {user} would be forgotten for good: say --yes if that is meant")
    if not typer.confirm(f"Forget {what} of {user} for good?", err=True):
        raise InvalidInput("nothing was forgotten")
