"""`engram forget`: take a user's memory away for good, all of it or a session, a turn or a record."""

from typing import Annotated

import typer

from langgraph_engram.commands.next_steps import next_steps
from langgraph_engram.commands.opening import open_existing
from langgraph_engram.commands.options import Agent, AsJson, Store, Tenant, User
from langgraph_engram.commands.output import print_json, say
from langgraph_engram.commands.wording import counted
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import ErasureReceipt


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
    say(word_erasure(receipt), "bold")
    for where in receipt.residue:
        say(f"still to be found: {where}", "red")
    for step in next_steps(pending, user):
        say(step, "yellow")


def word_erasure(receipt: ErasureReceipt) -> str:
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
