"""`engram undo`: take back what a run merged and superseded."""

from langgraph_engram.commands.next_steps import next_steps
from langgraph_engram.commands.opening import open_existing
from langgraph_engram.commands.options import Agent, AsJson, RunId, Store, Tenant, User
from langgraph_engram.commands.output import print_json, say
from langgraph_engram.commands.wording import counted
from langgraph_engram.results import UndoReceipt


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
        say(word_undo(receipt), "bold")
        for step in next_steps(pending, user):
            say(step, "yellow")


def word_undo(receipt: UndoReceipt) -> str:
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
