"""`engram remember` and `engram retry`: write conversations into memory, and finish what a model could not be asked."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_engram.cli.format import counted, format_cost, format_receipt, next_steps
from langgraph_engram.cli.opening import open_memory
from langgraph_engram.cli.options import Agent, AsJson, Conversations, Model, Preset, Store, Tenant, User
from langgraph_engram.cli.output import FAILED, fail, one_line, print_json, progress_bar, say, spinner
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Receipt
from langgraph_engram.schema import PendingTask

if TYPE_CHECKING:
    from langgraph_engram.formats.messages import Session


def remember(
    file: Conversations,
    user: User,
    session: Annotated[
        str | None, typer.Option("--session", help="The session's id, for a file of one session.", show_default=False)
    ] = None,
    file_format: Annotated[str, typer.Option("--format", help="auto, messages, locomo or longmemeval.")] = "auto",
    sample: Annotated[
        str | None, typer.Option("--sample", help="The sample of a data set to take.", show_default=False)
    ] = None,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Remember the conversations of a file. What is known already is not stored again."""
    from langgraph_engram.formats.files import read_sessions

    sessions = named(read_sessions(file, file_format, sample), session)
    with progress_bar("opening the memory") as bar, open_memory(store, model, preset) as memory:
        receipt = memory.remember_sessions(sessions, user_id=user, tenant=tenant, agent_id=agent, progress=bar)
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    report(receipt, pending, user, as_json)


def retry(
    user: User,
    store: Store = None,
    model: Model = None,
    preset: Preset = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Do again what is pending, and only that."""
    with spinner("trying again"), open_memory(store, model, preset) as memory:
        waiting = memory.status(user, tenant=tenant, agent_id=agent).pending
        receipt = memory.retry(user_id=user, tenant=tenant, agent_id=agent)
        pending = memory.status(user, tenant=tenant, agent_id=agent).pending
    if waiting or as_json:
        report(receipt, pending, user, as_json)
    else:
        say("nothing is pending")


def named(sessions: "list[Session]", session_id: str | None) -> "list[Session]":
    """Give a file's only session the id that was asked for.

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


def report(receipt: Receipt, pending: list[PendingTask], user: str, as_json: bool) -> None:
    """Print a receipt, and what is pending; fail where turns were stored and nothing else could be done.

    Raises:
        typer.Exit: With code 1, if no step that asks a model was done.
    """
    failed = bool(receipt.pending) and not receipt.records and not receipt.quarantined
    if as_json and not failed:
        print_json(receipt)
    elif not as_json:
        say(format_receipt(receipt), "bold")
        say(f"cost: {format_cost(receipt.usage)}", "dim")
    if failed:
        raise typer.Exit(fail(f"nothing was drawn from what was said: {advice(pending, user)}", FAILED, as_json))
    if pending and not as_json:
        say(advice(pending, user), "yellow")


def advice(pending: list[PendingTask], user: str) -> str:
    """Say what is left to do, why, and how to do it."""
    turns = {turn_id for one in pending for turn_id in one.turn_ids}
    why = one_line(pending[-1].reason)
    left = f"{counted(len(turns), 'turn')} can be found, but later steps are pending ({why})"
    return "; ".join([left, *next_steps(pending, user)])
