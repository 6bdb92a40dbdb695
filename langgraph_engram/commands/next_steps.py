"""Say what a person can do about what is pending. This module does not know how anything is done."""

from collections.abc import Sequence
from shlex import quote

from langgraph_engram.commands.wording import counted
from langgraph_engram.schema import Pending


def awaited(pending: Sequence[Pending]) -> set[str]:
    """Give the runs that wait for a person's approval."""
    return {one.run_id for one in pending if one.waits_for_a_person}


def next_steps(pending: Sequence[Pending], user: str) -> list[str]:
    """Give the commands that are left to run, each on a line of its own; none where nothing is pending."""
    runs = awaited(pending)
    steps: list[str] = []
    if runs:
        waits = "waits" if len(runs) == 1 else "wait"
        steps.append(f"{counted(len(runs), 'run')} {waits} for approval: engram approve --user {quote(user)}")
    if any(one.run_id not in runs for one in pending):
        steps.append(f"try again with the same options: engram retry --user {quote(user)}")
    return steps
