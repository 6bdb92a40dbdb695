"""Format receipts, recollections and costs for people, and say what is left to do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langgraph_engram.cli.opening import Invocation
from langgraph_engram.cli.output import one_line, print_text

if TYPE_CHECKING:
    from langgraph_engram.results import ErasureReceipt, ExportReceipt, LoadReceipt, Receipt, Recollection, Usage
    from langgraph_engram.schema import Evidence, PendingTask

ITEMS = {"turns": "turn", "events": "event", "records": "record", "syntheses": "synthesis", "decisions": "decision"}
"""The counts that receipts have in common, and what each one is of."""
VERDICT_STYLES = {"sufficient": "green", "partial": "yellow", "absent": "red"}
SHOWN_EVIDENCE = 5
"""Passages shown with an answer that cites none."""
MISSING_CHARACTERS = 200
"""Characters shown of what is missing; `--json` has it whole."""


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 turn", "2,000 syntheses"."""
    plural = noun.removesuffix("is") + "es" if noun.endswith("is") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def format_items(receipt: "ErasureReceipt | ExportReceipt | LoadReceipt", *, with_zeros: bool) -> str:
    """Return how many items of each kind a receipt counts, in one line."""
    counts = {noun: getattr(receipt, field) for field, noun in ITEMS.items()}
    return ", ".join(format_count(number, noun) for noun, number in counts.items() if number or with_zeros)


def format_cost(usage: "Usage") -> str:
    """Return what a run cost: calls of a model, their tokens and seconds."""
    if not usage.calls:
        return "no model was called"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{format_count(usage.calls, 'model call')}, {tokens}, {usage.seconds:.1f} s"


def format_receipt(receipt: "Receipt") -> str:
    """Return what a write did, in one line."""
    if not receipt.stored_turns and receipt.known_turns:
        return f"nothing new: all {format_count(receipt.known_turns, 'turn')} were known"
    parts = [
        f"{format_count(receipt.stored_turns, 'turn')} stored",
        f"{receipt.known_turns:,} known before" if receipt.known_turns else "",
        f"{format_count(receipt.masked, 'secret')} masked" if receipt.masked else "",
        f"{format_count(receipt.refused, 'message')} refused" if receipt.refused else "",
        format_count(receipt.events, "event"),
        format_count(receipt.records, "record"),
        f"{receipt.quarantined:,} quarantined" if receipt.quarantined else "",
        format_count(receipt.decisions, "decision"),
        format_count(receipt.syntheses, "synthesis"),
    ]
    return ", ".join(filter(None, parts))


def print_recollection(recollection: "Recollection", indent: int = 0) -> None:
    """Print an answer, or what a search found: verdict, evidence, what is missing, and the cost."""
    for line in (recollection.answer or "").splitlines():
        print_text(one_line(line), "bold", indent, hang=2)
    rounds = f", {format_count(recollection.rounds, 'round')}" if recollection.rounds > 1 else ""
    print_text(f"{recollection.verdict}{rounds}", VERDICT_STYLES[recollection.verdict], indent)
    for number, evidence in _shown_evidence(recollection):
        print_text(f"[{number}] {one_line(evidence.text)}", indent=indent + 2, hang=4)
    for missing in recollection.missing:
        print_text(f"missing: {_shortened(one_line(missing))}", "yellow", indent)
    for note in recollection.notes:
        print_text(f"note: {one_line(note)}", "yellow", indent)
    print_text(f"cost: {format_cost(recollection.usage)}", "dim", indent)


def next_steps(pending: "Sequence[PendingTask]", command: Invocation) -> list[str]:
    """Return what is left to do, with its command, a line each; none where nothing is pending."""
    waiting = {task.run_id for task in pending if task.awaits_approval}
    steps: list[str] = []
    if waiting:
        verb = "waits" if len(waiting) == 1 else "wait"
        steps.append(f"{format_count(len(waiting), 'run')} {verb} for approval: engram approve {command.options}")
    if any(task.run_id not in waiting for task in pending):
        steps.append(f"try again with the same options: engram retry {command.options}")
    return steps


def print_next_steps(pending: "Sequence[PendingTask]", command: Invocation, indent: int = 0) -> None:
    """Print what is left to do."""
    for step in next_steps(pending, command):
        print_text(step, "yellow", indent)


def _shown_evidence(recollection: "Recollection") -> "list[tuple[int, Evidence]]":
    """Return the evidence that an answer cites, or all that a search found; quotes are evidence themselves."""
    from langgraph_engram.prompts.rendering import cited_numbers

    numbered = list(enumerate(recollection.evidence, start=1))
    if recollection.answer is None:
        return numbered
    if recollection.verdict == "absent" or recollection.quoted:
        return []
    numbers = cited_numbers(recollection.answer)
    return [(number, evidence) for number, evidence in numbered if number in numbers] or numbered[:SHOWN_EVIDENCE]


def _shortened(text: str) -> str:
    return text if len(text) <= MISSING_CHARACTERS else f"{text[:MISSING_CHARACTERS].rstrip()}..."
