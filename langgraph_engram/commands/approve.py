"""`engram approve`: show the decisions that wait for a person, and let the run that made them go on."""

from typing import Annotated

import typer

from langgraph_engram.commands.next_steps import next_steps
from langgraph_engram.commands.opening import open_existing
from langgraph_engram.commands.options import RUN_HELP, Agent, AsJson, Model, Preset, Store, Tenant, User
from langgraph_engram.commands.output import one_line, print_json, say
from langgraph_engram.commands.wording import word_receipt
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Approval


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
        say(f"{'rejected' if reject else 'approved'}: {word_receipt(receipt)}", "bold")
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
