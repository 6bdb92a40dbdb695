"""Say what a caller gets back: what a run cost, what a write did, what a read found, what is kept.

An empty result has a verdict or a count of zero; a failure is an error. They never look alike.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from langgraph_engram.schema import Action, Decision, Evidence, Frozen, PendingTask, Record, Scope

Verdict = Literal["sufficient", "partial", "absent"]
"""Whether memory answers: `sufficient` is a language model's word, `partial` also that of relevant evidence."""


class UsageEntry(Frozen):
    """What one step cost: physical calls, tokens, seconds."""

    node: str
    model: str = ""
    calls: int = 0
    """Requests that left the process, repairs and retries included."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    invalid: int = 0
    """Questions left without a valid answer after repair."""
    repaired: int = 0
    """Questions whose first answer was invalid and whose second was not."""
    asked: int = 0
    """Questions put to the model."""


class Usage(Frozen):
    """What a run cost, in all and by node."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tokens: int = 0
    """Prompt and completion tokens together."""
    seconds: float = 0.0
    by_node: list[UsageEntry] = []


class Receipt(Frozen):
    """What one `remember` did. Every field but `run_id` and `usage` is a count."""

    run_id: str
    stored_turns: int = 0
    known_turns: int = 0
    events: int = 0
    records: int = 0
    quarantined: int = 0
    pending: int = 0
    decisions: int = 0
    boundaries: int = 0
    syntheses: int = 0
    pairs_possible: int = 0
    """Pairs of records that comparing everything with everything would compare."""
    pairs_compared: int = 0
    """Pairs of records whose vectors were compared."""
    pairs_ruled_out: int = 0
    """Pairs that resemble one another and were kept apart without asking."""
    usage: Usage = Usage()


class Comparisons(Frozen):
    """What the filter of look-alikes saves (DimMem section 4)."""

    all_pairs: int
    made: int
    saved: float = Field(ge=0, le=1)
    """The share of all pairs that was not compared; 0 where there are none."""


class UndoReceipt(Frozen):
    """What one `undo` took back. Every field but `run_id` and `already_undone` is a count."""

    run_id: str
    decisions: int = 0
    """Decisions that are marked as taken back."""
    restored: int = 0
    """Records that are active again."""
    archived: int = 0
    """Records that merges had made."""
    stale_syntheses: int = 0
    already_undone: bool = False
    """Whether there was nothing left to take back."""


class ErasureReceipt(Frozen):
    """What one `forget` did: whose memory it was, what was asked for, and what is gone, as counts."""

    scope: Scope
    session_id: str | None = None
    turn_id: str | None = None
    """As it was named: by our id, or by the one that it has in its source."""
    record_id: str | None = None
    turns: int = 0
    events: int = 0
    boundaries: int = 0
    records: int = 0
    syntheses: int = 0
    decisions: int = 0
    pending_tasks: int = 0
    """Notes of steps that were not done."""
    runs: int = 0
    """Runs whose checkpoints held it."""
    changed: int = 0
    """Events, boundaries and records that are left, and are other than before."""
    pending: int = 0
    """Turns that are left and whose later steps are to be done again, by `retry`."""
    residue: list[str] = []
    """Where something of it is still to be found; empty when it is gone."""


class ProposedDecision(Frozen):
    """A decision that waits for a person's approval."""

    decision_id: str
    action: Action
    old: list[str]
    """The texts of the records that would be merged or superseded, oldest first."""
    new: str
    """The text of the record that would stand in their place."""
    reason: str = ""


class Approval(Frozen):
    """A run that waits for a person."""

    run_id: str
    decisions: list[ProposedDecision]


class RecordHistory(Frozen):
    """Where a record comes from, and what became of it."""

    records: list[Record]
    """What it was made of, itself, and what took its place, in order of time."""
    decisions: list[Decision]
    """What was decided between them, oldest first."""


class Recollection(Frozen):
    """What one `recall` or `search` found. An empty result has a verdict; a failure is an error."""

    query: str
    answer: str | None = None
    quoted: bool = False
    """Whether the answer quotes what was said, one quote a line, because no language model was asked."""
    verdict: Verdict
    evidence: list[Evidence] = []
    missing: list[str] = []
    notes: list[str] = []
    """What the reader of this result ought to know: routes without data, a spent or too small a budget,
    a question of which only the beginning was read."""
    rounds: int = 0
    went_deep: bool = False
    run_id: str | None = None
    usage: Usage = Usage()


class RecallUpdate(Frozen):
    """What happened next in a `recall` that is streamed."""

    step: str
    """The step that is done, or that writes."""
    text: str = ""
    """The next piece of the answer's text."""
    recollection: Recollection | None = None
    """The result; comes with the last update."""


class Status(Frozen):
    """What is kept for one scope, and what is left to do."""

    store: str
    encoder: str
    preset: str
    model: str
    turns: int
    events: int
    records: dict[str, int]
    """Records by status."""
    boundaries: int
    syntheses: int
    decisions: int
    pending: list[PendingTask]


CHARACTERS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """Estimate the tokens of `text`: its characters by four, rounded up. Zero for an empty text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def add_entries(entries: Iterable[UsageEntry]) -> list[UsageEntry]:
    """Add up entries of the same node and model, in the order in which nodes first appear."""
    sums: dict[tuple[str, str], UsageEntry] = {}
    for entry in entries:
        key = (entry.node, entry.model)
        sums[key] = _plus(sums[key], entry) if key in sums else entry
    return list(sums.values())


def total(entries: Iterable[UsageEntry]) -> Usage:
    """Add up a run's entries.

    Args:
        entries: The ledger, one entry a step and model; order does not matter to the sums.

    Returns:
        Calls, tokens and seconds in all, and the entries summed by node.
    """
    by_node = add_entries(entries)
    prompt = sum(entry.prompt_tokens for entry in by_node)
    completion = sum(entry.completion_tokens for entry in by_node)
    return Usage(
        calls=sum(entry.calls for entry in by_node),
        prompt_tokens=prompt,
        completion_tokens=completion,
        tokens=prompt + completion,
        seconds=sum(entry.seconds for entry in by_node),
        by_node=by_node,
    )


def _plus(one: UsageEntry, other: UsageEntry) -> UsageEntry:
    counts = UsageEntry.model_fields.keys() - {"node", "model"}
    return one.model_copy(update={name: getattr(one, name) + getattr(other, name) for name in counts})
