"""Define what callers get back: the cost of a run, the receipt of a write, the result of a read, the status of a scope.

An empty result has a verdict or a count of zero; a failure is an error.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from langgraph_engram.schema import (
    Action,
    Breadth,
    Decision,
    Evidence,
    Frozen,
    PendingTask,
    QuerySort,
    Record,
    Scope,
    Spent,
)

CHARACTERS_PER_TOKEN = 4
Verdict = Literal["sufficient", "partial", "absent"]
"""Whether memory answers: `sufficient` is a language model's word, `partial` also that of relevant evidence."""


class UsageEntry(Frozen):
    """What one step cost: requests, tokens, seconds."""

    node: str
    model: str = ""
    calls: int = 0
    """Requests that left the process, repairs and retries included."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    invalid: int = 0
    """Questions without a valid answer after repair."""
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
    seconds: float = 0.0
    by_node: list[UsageEntry] = []


class Receipt(Frozen):
    """What one `remember` did. Every field but `run_id`, `notes` and `usage` is a count."""

    run_id: str
    stored_turns: int = 0
    known_turns: int = 0
    edited_turns: int = 0
    """Stored turns that another text of the same message took the place of."""
    withdrawn_turns: int = 0
    """Stored turns that their thread no longer holds, removed or on an abandoned branch."""
    restored_turns: int = 0
    """Stored turns that their thread holds again."""
    masked: int = 0
    """Secrets masked in the messages, known ones included (`receive.secrets`)."""
    refused: int = 0
    """Messages not stored because they hold secrets, whenever they are sent."""
    events: int = 0
    records: int = 0
    quarantined: int = 0
    pending: int = 0
    decisions: int = 0
    boundaries: int = 0
    syntheses: int = 0
    pairs_possible: int = 0
    """Pairs of records that an exhaustive comparison would compare."""
    pairs_compared: int = 0
    """Pairs of records whose vectors were compared."""
    pairs_ruled_out: int = 0
    """Near-duplicate pairs that were ruled out without asking a model."""
    notes: list[str] = []
    """Why turns are pending: each step that could not be done, with the reason."""
    usage: Usage = Usage()


class UndoReceipt(Frozen):
    """What one `undo` reverted. Every field but `run_id` and `already_undone` is a count."""

    run_id: str
    decisions: int = 0
    restored: int = 0
    """Records that are active again."""
    archived: int = 0
    """Records that came from merges."""
    stale_syntheses: int = 0
    already_undone: bool = False
    """Whether there was nothing left to undo."""


class UpdateReceipt(Frozen):
    """What one `update` did."""

    record: Record
    run_id: str | None = None
    """Under which `undo` takes it back; None where nothing changed."""
    masked: int = 0
    """Secrets masked in the new text (`receive.secrets`)."""
    stale_syntheses: int = 0


class ErasureReceipt(Frozen):
    """What one `forget` did: the scope, what was to be forgotten, and counts of what was erased."""

    scope: Scope
    session_id: str | None = None
    turn_id: str | None = None
    """As it was given: the turn's id, or its external id."""
    record_id: str | None = None
    turns: int = 0
    events: int = 0
    boundaries: int = 0
    records: int = 0
    syntheses: int = 0
    decisions: int = 0
    pending_tasks: int = 0
    runs: int = 0
    changed: int = 0
    """Remaining events, boundaries and records that were changed."""
    pending: int = 0
    """Remaining turns whose later steps `retry` will repeat."""
    residue: list[str] = []
    """Where traces were found afterwards; empty if everything is gone."""


class ProposedDecision(Frozen):
    """A decision that waits for a person's approval."""

    decision_id: str
    action: Action
    old: list[str]
    """The texts of the records that would be merged or superseded, or are in conflict with `new`, oldest first."""
    new: str
    """The text of the record that would replace them, or of the newest in a conflict."""
    reason: str = ""

    @property
    def replaces(self) -> bool:
        """Whether `new` would take the place of `old`; else all of them stay."""
        return self.action in ("MERGE", "SUPERSEDE")


class Approval(Frozen):
    """A run that waits for a person."""

    run_id: str
    decisions: list[ProposedDecision]
    answers: str = ""
    """How it is answered."""
    problem: str = ""
    """What was wrong with the last answer, if there was one."""


class RecordHistory(Frozen):
    """Where a record comes from, and what replaced it."""

    records: list[Record]
    """The records it was made from, itself, and its successors, in order of time."""
    decisions: list[Decision]
    """The decisions between them, oldest first."""


class Profile(Frozen):
    """What lasts of what the user said: instructions, constraints and so on. What was superseded is out."""

    text: str
    """One quote a line, with its day and id, under a heading for each kind; as data, never an order. Empty for none."""
    records: list[Record]
    """All of them, in the order of the text, of each kind the most significant and newest first."""


class Selection(Frozen):
    """What a model was offered for a message, and what it named of it."""

    offered: list[str]
    """The ids of the records, in the order of their lines."""
    fixed: int
    """How many of them are the part that rarely changes; it stands first."""
    fixed_tokens: int
    """What that part takes."""
    named: list[str] = []
    """The evidence ids of what it named."""


class Item(Frozen):
    """One of the things that a question for all of something asks for."""

    text: str
    evidence_ids: list[str]
    """What it rests on."""
    counts: bool = True
    """Whether it is one of those asked for; else the text says why it is left out."""


class Recollection(Frozen):
    """What one `recall` or `search` found. An empty result has a verdict; a failure is an error."""

    query: str
    sort: QuerySort = "question"
    """Whether a search took the query for a question, a message on which something may bear, or an idle one."""
    breadth: Breadth = "narrow"
    """Whether a question was taken for one thing, or for one that needs the whole."""
    answer: str | None = None
    quoted: bool = False
    """Whether the answer quotes what was said, one quote a line, because no language model was asked."""
    verdict: Verdict
    evidence: list[Evidence] = []
    missing: list[str] = []
    notes: list[str] = []
    """What limits this result: routes without data, an exhausted or too small budget, a question that was cut off."""
    items: list[Item] = []
    """What the answer counts, sums up or orders, where a language model listed it; what it left out comes last."""
    selection: Selection | None = None
    """Where a model selected what bears on a message."""
    rounds: int = 0
    went_deep: bool = False
    run_id: str | None = None
    usage: Usage = Usage()
    step_seconds: dict[str, float] = {}
    """Seconds of each step of a `recall`, all its rounds together; empty for a search and for a streamed recall."""


class RecallUpdate(Frozen):
    """One update of a streamed `recall`."""

    step: str
    """The step that completed, or that is writing."""
    text: str = ""
    """The next part of the answer's text."""
    recollection: Recollection | None = None
    """The result, in the last update."""


class Status(Frozen):
    """What is stored for one scope, and which tasks are pending."""

    store: str
    encoder: str
    preset: str
    model: str
    turns: int
    events: int
    records: dict[str, int]
    boundaries: int
    syntheses: int
    decisions: int
    pending: list[PendingTask]
    notes: int = 0
    """Sessions, or parts of long ones, that a model has read and noted."""
    spent: Spent = Spent()
    """What these notes and narratives have cost, with what was chosen beside them."""


class ExportReceipt(Frozen):
    """What one `export` wrote: counts by kind."""

    path: str
    scopes: int = 0
    turns: int = 0
    events: int = 0
    boundaries: int = 0
    records: int = 0
    syntheses: int = 0
    decisions: int = 0
    pending_tasks: int = 0


class LoadReceipt(ExportReceipt):
    """What one `load` added: counts by kind, and of what was stored before."""

    known: int = 0
    """Items that were stored already, and pending tasks whose turns were; they stay as they are."""
    differing: int = 0
    """Those of them that the file holds otherwise: they have changed since one of the two was written."""


class Finding(Frozen):
    """One thing that is wrong with a store."""

    check: str
    detail: str
    scope: Scope | None = None
    """Whose memory it concerns, where it is one user's."""
    ids: list[str] = []
    """The items, rows, files or threads that it concerns."""
    fix: str = ""
    """What `fix` does about it; empty where nothing can be done without a person."""
    fixed: bool = False


class Diagnosis(Frozen):
    """What one `doctor` found."""

    store: str
    encoder: str
    scopes: int = 0
    rows: int = 0
    findings: list[Finding] = []
    notes: list[str] = []
    """What could not be examined, and why."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong, or all that was is mended."""
        return all(finding.fixed for finding in self.findings)


def count_tokens(text: str) -> int:
    """Estimate the tokens of `text`: a quarter of its characters, rounded up. Zero for an empty text."""
    return tokens_of_length(len(text))


def tokens_of_length(characters: int) -> int:
    """Estimate the tokens of a text of so many characters."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def total(entries: Iterable[UsageEntry]) -> Usage:
    """Sum a run's usage entries in all, and by node and model, in the order in which nodes first appear."""
    groups: dict[tuple[str, str], list[UsageEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.node, entry.model), []).append(entry)
    by_node = [sum_of(of_node, *key) for key, of_node in groups.items()]
    counts = sum_of(by_node).model_dump(include={"calls", "prompt_tokens", "completion_tokens", "seconds"})
    return Usage(**counts, tokens=counts["prompt_tokens"] + counts["completion_tokens"], by_node=by_node)


def sum_of(entries: Sequence[UsageEntry], node: str = "", model: str = "") -> UsageEntry:
    """Return the sum of usage entries as one of a node and a model."""
    return UsageEntry(node=node, model=model, **sums_of(entries, UsageEntry))


def sums_of(parts: Sequence[Frozen], kind: type[Frozen]) -> dict[str, Any]:
    """Return the sum of each number that things of a kind count, by name."""
    counts = [name for name, field in kind.model_fields.items() if field.annotation in (int, float)]
    return {name: sum(getattr(part, name) for part in parts) for name in counts}
