"""Word receipts, recollections and costs for people. This module does not know where they come from."""

from collections.abc import Sequence
from shlex import quote

from langgraph_engram.cli.output import one_line, say
from langgraph_engram.results import Receipt, Recollection, Usage
from langgraph_engram.schema import Evidence, PendingTask

VERDICT_STYLES = {"sufficient": "green", "partial": "yellow", "absent": "red"}
SHOWN_EVIDENCE = 5
"""Pieces shown of an answer that cites none."""
MOST_MISSING = 200
"""Characters shown of what is missing."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Give a number with its noun: "1 turn", "2,000 turns"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_cost(usage: Usage) -> str:
    """Say what a run cost, by a model's calls, tokens and seconds of asking."""
    if not usage.calls:
        return "no model was called"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{counted(usage.calls, 'model call')}, {tokens}, {usage.seconds:.1f} s"


def format_receipt(receipt: Receipt) -> str:
    """Say what a write did, in one line."""
    if not receipt.stored_turns and receipt.known_turns:
        return f"nothing new: all {counted(receipt.known_turns, 'turn')} were known"
    parts = [
        f"{counted(receipt.stored_turns, 'turn')} stored",
        f"{receipt.known_turns:,} known before" if receipt.known_turns else "",
        counted(receipt.events, "event"),
        counted(receipt.records, "record"),
        f"{receipt.quarantined:,} quarantined" if receipt.quarantined else "",
        counted(receipt.decisions, "decision"),
        counted(receipt.syntheses, "synthesis", "syntheses"),
    ]
    return ", ".join(part for part in parts if part)


def print_recollection(told: Recollection, indent: int = 0) -> None:
    """Print an answer or a search's finds: verdict, evidence, what is missing, and the cost.

    Args:
        told: What was found.
        indent: Columns to the left of it.
    """
    for line in (told.answer or "").splitlines():
        say(one_line(line), "bold", indent, hang=2)
    rounds = f", {counted(told.rounds, 'round')}" if told.rounds > 1 else ""
    say(f"{told.verdict}{rounds}", VERDICT_STYLES[told.verdict], indent)
    for number, piece in _shown(told):
        say(f"[{number}] {one_line(piece.text)}", indent=indent + 2, hang=4)
    for missing in told.missing:
        say(f"missing: {shortened(one_line(missing))}", "yellow", indent)
    for note in told.notes:
        say(f"note: {one_line(note)}", "yellow", indent)
    say(f"cost: {format_cost(told.usage)}", "dim", indent)


def shortened(text: str) -> str:
    """Cut a text that would fill the screen; `--json` has it whole."""
    return text if len(text) <= MOST_MISSING else f"{text[:MOST_MISSING].rstrip()}..."


def cites(answer: str, number: int) -> bool:
    """Tell whether an answer cites the piece of this number: "[2]", "[1, 2]"."""
    groups = (part.partition("]")[0] for part in answer.split("[")[1:])
    return any(str(number) == one.strip() for group in groups for one in group.split(","))


def _shown(told: Recollection) -> list[tuple[int, Evidence]]:
    numbered = list(enumerate(told.evidence, start=1))
    if told.answer is None:
        return numbered
    if told.verdict == "absent" or told.quoted:
        return []
    cited = [(number, piece) for number, piece in numbered if cites(told.answer, number)]
    return cited or numbered[:SHOWN_EVIDENCE]


def awaited(pending: Sequence[PendingTask]) -> set[str]:
    """Give the runs that wait for a person's approval."""
    return {one.run_id for one in pending if one.awaits_approval}


def next_steps(pending: Sequence[PendingTask], user: str) -> list[str]:
    """Give the commands that are left to run, each on a line of its own; none where nothing is pending."""
    runs = awaited(pending)
    steps: list[str] = []
    if runs:
        waits = "waits" if len(runs) == 1 else "wait"
        steps.append(f"{counted(len(runs), 'run')} {waits} for approval: engram approve --user {quote(user)}")
    if any(one.run_id not in runs for one in pending):
        steps.append(f"try again with the same options: engram retry --user {quote(user)}")
    return steps
