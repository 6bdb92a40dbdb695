"""Define what travels along the edges of the two graphs: `requests` into both, `writing` and `reading` along each.

Only pydantic models named here, strings and numbers travel: no vector, no question, no history. What a checkpoint
reloads is exactly what was saved.
"""

import operator
import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from langgraph_engram.results import Receipt, Recollection, UsageEntry
from langgraph_engram.schema import (
    Boundary,
    Decision,
    Event,
    Evidence,
    FilterCounts,
    Frozen,
    Intent,
    Pair,
    PendingTask,
    Proposal,
    Record,
    Role,
    Scope,
    Turn,
)
from langgraph_engram.temporal.datetimes import with_offset

Moment = Annotated[datetime, AfterValidator(with_offset)]
"""A moment as callers send it, with the offset of its clock from the door on."""
MOST_NAME_CHARACTERS = 100
"""Characters of a speaker's name that are kept; what is longer is no name."""
UNSEEN = re.compile(r"[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Marks that turn or hide letters. Those that join them belong to names of some scripts, and stay."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def plain_name(name: str) -> str:
    """Give a speaker's name on one line: it stands before what was said, and must not look like another line.

    Control characters and white space become single blanks, marks that nobody sees are left out, and a name of more
    than `MOST_NAME_CHARACTERS` is cut.
    """
    words = CONTROL.sub(" ", UNSEEN.sub("", name)).split()
    return " ".join(words)[:MOST_NAME_CHARACTERS].rstrip()


SpeakerName = Annotated[str, AfterValidator(plain_name)]
"""A speaker's name as callers send it, on one line from the door on."""


class Message(Frozen):
    """One utterance as it came in, already in our words."""

    role: Role = "user"
    speaker: SpeakerName = ""
    text: str
    captions: list[str] = []
    said_at: Moment | None = None
    external_id: str | None = None


class RememberRequest(Frozen):
    """What a caller asks of the write graph. Whose memory it is, is required."""

    user_id: str = Field(min_length=1)
    tenant: str = Field(default="default", min_length=1)
    agent_id: str | None = None
    session_id: str | None = None
    messages: list[Message] = []
    close_session: bool = False
    """Whether the session ends with these messages."""
    run_id: str = ""
    """Empty for a run id of the graph's own making."""
    retry_turn_ids: list[str] = []
    """Turns already stored whose later steps are to be done now."""

    @property
    def scope(self) -> Scope:
        """Give whose memory it is."""
        return Scope(tenant=self.tenant, user_id=self.user_id, agent_id=self.agent_id)


class RecallRequest(Frozen):
    """What a caller asks of the read graph."""

    query: str = Field(min_length=1)
    user_id: str = Field(min_length=1)
    tenant: str = Field(default="default", min_length=1)
    agent_id: str | None = None
    mode: Literal["search", "recall"] = "recall"
    budget: int | None = Field(default=None, ge=1)
    """Tokens of evidence in the result; absent for the preset's own."""
    now: Moment | None = None
    """The moment that "last week" counts from; absent for `as_of`, or the newest turn's time."""
    as_of: Moment | None = None
    """The moment as of which memory is read; absent for now."""
    run_id: str = ""

    @property
    def scope(self) -> Scope:
        """Give whose memory it is."""
        return Scope(tenant=self.tenant, user_id=self.user_id, agent_id=self.agent_id)


class BatchSelection(Frozen):
    """What one batch of the deep selection named."""

    start: int
    """Position of the batch's first candidate."""
    evidence_ids: list[str]


class SelectInput(TypedDict):
    """What one batch of the deep selection is given."""

    query: str
    intent: Intent
    batch: list[Evidence]
    start: int


class ReadInput(TypedDict):
    """What the read graph is called with."""

    request: RecallRequest


class ReadState(TypedDict, total=False):
    """The state of the read graph."""

    request: RecallRequest
    """Set by the caller."""
    current_request: RecallRequest | None
    """Set by `parse_intent`, cleared by `conclude`: the request that the run under way answers."""
    run_id: str
    """Set by `parse_intent`."""
    started_at: float
    """Set by `parse_intent`: seconds of the wall clock, for the time budget."""
    round: int
    """Set by `parse_intent`, raised by `reflect`."""
    query: str
    """Set by `parse_intent`, rewritten by `reflect`: what is looked for in this round."""
    asked_queries: list[str]
    """Set by `parse_intent`, grown by `reflect`."""
    intent: Intent
    """Set by `parse_intent`."""
    evidence: list[Evidence]
    """Set by `light_retrieve`: what this round found, best first, within the budget."""
    pool: list[Evidence]
    """Set by `parse_intent`, grown by `judge_sufficiency` and `backtrack`: everything found so far that was kept,
    without repeats."""
    notes: list[str]
    """Set by `light_retrieve`."""
    sufficient: bool
    """Set by `judge_sufficiency`: whether the light answer is taken."""
    answer: str
    """Set by `judge_sufficiency` or `write_answer`."""
    quoted: bool
    """Set by `judge_sufficiency` or `write_answer`: whether a rule gave the answer, by quoting."""
    selections: Annotated[list[BatchSelection], operator.add]
    """Added to by each `deep_select`, emptied by `backtrack`."""
    selected_ids: list[str]
    """Set by `backtrack`: evidence ids that matter, best first."""
    went_deep: bool
    """Set by `backtrack`: whether a deep selection led to the pool."""
    missing: list[str]
    """Set by `reflect`."""
    seen_passages: int
    """Set by `reflect`: passages in the pool when it last searched further."""
    doubted_answer: str
    """Set by `reflect`: the answer when it last searched further."""
    done: bool
    """Set by `reflect`."""
    usage: Annotated[list[UsageEntry], operator.add]
    """Added to by every step that asks a model."""
    recollection: Recollection
    """Set by `conclude`."""


class WriteInput(TypedDict):
    """What the write graph is called with."""

    request: RememberRequest


class WriteState(TypedDict, total=False):
    """The state of the write graph."""

    request: RememberRequest
    """Set by the caller."""
    run_id: str
    """Set by `receive`."""
    session_id: str
    """Set by `receive`."""
    turns: list[Turn]
    """Set by `receive`: the turns of this run that were not known, or that are taken up again."""
    known_turns: int
    """Set by `receive`."""
    retried: list[PendingTask]
    """Set by `receive`: what was pending and is done now. Empty but for a retry; each step does its own part of it."""
    events: list[Event]
    """Set by `segment`: events opened, continued or closed by this run; `describe_events` words them again."""
    boundaries: list[Boundary]
    """Set by `segment`, and by `describe_events`."""
    records: list[Record]
    """Set by `extract`, judged by `ground`, added to by `reload_records`, changed by `apply_updates` and
    `persist`: this run's."""
    reloaded: list[str]
    """Set by `reload_records`: ids of those of `records` that were stored before."""
    pairs: list[Pair]
    """Set by `filter_candidates`."""
    filtered: FilterCounts
    """Set by `filter_candidates`."""
    checked_revision: str
    """Set by `filter_candidates`: the revision of the scope in which it looked."""
    rechecks: int
    """Set by `filter_candidates`: how often it has looked."""
    proposals: list[Proposal]
    """Set by `consolidate`, changed by `approve_updates`."""
    recheck: bool
    """Set by `persist`: whether another run changed or stored look-alikes meanwhile, so that nothing is written yet."""
    changed: list[Record]
    """Set by `apply_updates`, changed by `persist`: older records whose status this run changes."""
    decisions: list[Decision]
    """Set by `apply_updates`, changed by `persist`."""
    synthesis_ids: list[str]
    """Set by `synthesize`."""
    failures: Annotated[list[PendingTask], operator.add]
    """Added to by every step that asks a model."""
    usage: Annotated[list[UsageEntry], operator.add]
    """Added to by every step."""
    receipt: Receipt
    """Set by `report_run`."""


__all__ = [
    "MOST_NAME_CHARACTERS",
    "BatchSelection",
    "FilterCounts",
    "Message",
    "Moment",
    "Pair",
    "Proposal",
    "ReadInput",
    "ReadState",
    "RecallRequest",
    "RememberRequest",
    "SelectInput",
    "SpeakerName",
    "WriteInput",
    "WriteState",
    "plain_name",
]
