"""`engram status`: count what is kept for a user, and say what is left to do."""

from langgraph_engram.commands.next_steps import next_steps
from langgraph_engram.commands.opening import open_existing
from langgraph_engram.commands.options import Agent, AsJson, Model, Preset, Store, Tenant, User
from langgraph_engram.commands.output import one_line, print_json, say
from langgraph_engram.commands.wording import counted
from langgraph_engram.results import Status


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
