"""What a memory is: turns (Level 2), events, boundaries, records (Level 1), syntheses and decisions.

Everything is a frozen pydantic model, so that it fits into a checkpointed state and a flat row of a store. Event time
(`event_start`, `event_end`) and mention time (`mentioned_at`) are separate fields.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, Field

NAMESPACE = UUID("6f1d5cf6-5c0e-5b5e-9d63-0f8f5d4d8a11")
"""The root of every id of ours: ids are uuid5 of content and position, so that equal input gives equal ids."""

Role = Literal["user", "assistant", "system", "tool"]
MemoryType = Literal["fact", "episodic", "profile"]
Lasting = Literal[
    "instruction", "constraint", "preference", "decision", "commitment", "environment", "failed_attempt", "lesson",
    "goal", "relationship", "state",
]  # fmt: skip
"""What something that the user said is good for later: how an assistant is to act; what binds them (health, money);
what they prefer, decided, promised, work with, tried in vain, learned and want; who belongs to them; how things are."""
IN_SET = "set"
"""The route that finds what stands in a set that a query names, in the scores of evidence."""
LASTING = "lasting"
"""The route that finds what lasts and bears on a query whatever its words, in the scores of evidence."""
MOST_SIGNIFICANT = 3.0
"""The highest significance."""
RecordKind = Literal["dimensional", "factual", "relational", "key_sentence", "passage"]
"""What a record is: a memory of one of these strategies, or a chunk of a long message as it was written ("passage")."""
RecordStatus = Literal["active", "superseded", "merged", "archived", "quarantined"]
EventKind = Literal["window", "event", "buffer"]
BoundaryKind = Literal["topic", "session_break", "opening"]
Action = Literal["MERGE", "SUPERSEDE", "CONFLICT", "KEEP_BOTH"]
Scalar = str | int | float | bool
Metadata = dict[str, Scalar]
"""What a caller says of what is written: flat, by names of their own."""
DateOrder = Literal["day_first", "month_first"]
"""In which order a date such as 03/04/2025 is written."""
Breadth = Literal["narrow", "list", "timeline", "summary"]
"""Whether a query asks for one thing, or needs the whole: all of several things, their order in time, or a summary."""
Withdrawal = Literal["edited", "removed", "abandoned"]
"""Why a thread no longer holds a turn: its text was replaced, or removed, or the thread went on from before it."""
Branches = Literal["current", "all"]
"""What of threads that were forked is read: the way that each goes on, or those that were abandoned as well."""
QuerySort = Literal["question", "message", "idle"]
"""Whether a query asks for something of the past, or is a remark on which something may bear, or nothing does."""
OUTLINE = "outline"
"""The route that shows a line of each exchange, in the scores of evidence."""
Dimension = Literal["content", "time", "location", "reason", "purpose", "keywords"]

APPROVAL = "approve_updates"
"""The step at which a run waits for a person's approval."""
UNNAMED_SESSION = re.compile(r"call-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def make_id(*parts: object) -> str:
    """Derive an id from what identifies a thing; equal parts give equal ids."""
    return str(uuid5(NAMESPACE, json.dumps([str(part) for part in parts], ensure_ascii=False)))


def unnamed_session_id(*parts: object) -> str:
    """Derive the session id of a call that names none from what identifies the call."""
    return f"call-{make_id(*parts)}"


def is_unnamed_session(session_id: str) -> bool:
    """Return whether `unnamed_session_id` made a session id."""
    return bool(UNNAMED_SESSION.fullmatch(session_id))


class Frozen(BaseModel):
    """The base of all that is remembered, and of settings: immutable, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Scope(Frozen):
    """Whose memory it is. Every query carries one, and no model ever sees it."""

    tenant: str = Field(default="default", min_length=1)
    user_id: str = Field(min_length=1)
    agent_id: str | None = None

    @property
    def key(self) -> str:
        """A string that no other scope shares."""
        return json.dumps([self.tenant, self.user_id, self.agent_id], ensure_ascii=False)

    @property
    def digest(self) -> str:
        """A short name, equal in every process, that does not tell whose it is."""
        return hashlib.blake2b(self.key.encode(), digest_size=8).hexdigest()


class Turn(Frozen):
    """One utterance, verbatim (Level 2)."""

    turn_id: str
    session_id: str
    seq: int = Field(ge=0)
    """Position in the session, from 0."""
    role: Role
    speaker: str
    text: str
    captions: list[str] = []
    """What the images of this turn show, in words."""
    said_at: datetime | None = None
    date_order: DateOrder | None = None
    """In which order its speaker writes the numbers of a date, where that is known."""
    external_id: str | None = None
    """The turn's id in its source, where it has one."""
    metadata: Metadata = {}
    """What the caller said of it when it was written; never searched, and no model is shown it."""
    graph: str = ""
    """The name of the graph whose thread it is a message of; empty where memory follows no thread."""
    after: str = ""
    """The id of the turn that it was said after in that thread; empty at its beginning."""
    withdrawn: Withdrawal | None = None
    """Why its thread no longer holds it; what rests on it alone is not recalled."""
    withdrawn_at: datetime | None = None

    def stands(self, moment: datetime | None, branches: Branches) -> bool:
        """Return whether its thread holds it, or did at a moment; on `branches` "all", an abandoned one counts too."""
        is_held = self.withdrawn_at is None or (moment is not None and self.withdrawn_at > moment)
        return is_held or (branches == "all" and self.withdrawn == "abandoned")

    @property
    def indexed_text(self) -> str:
        """The text that the routes search."""
        return f"{self.speaker}: {self.said}"

    @property
    def said(self) -> str:
        """What was said, and what its images show."""
        return " ".join([self.text, *self.captions])

    @property
    def is_spoken(self) -> bool:
        """Whether a person or an assistant said it; no record is extracted from what tools return or systems ask."""
        return self.role in ("user", "assistant")


class Event(Frozen):
    """A run of turns about one thing."""

    event_id: str
    session_id: str
    seq: int = Field(ge=0)
    """Position in the session, from 0."""
    kind: EventKind
    turn_ids: list[str]
    context_turn_ids: list[str] = []
    """Turns shown beside the core ones; never a source."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    topics: list[str] = []
    keywords: list[str] = []
    summary: str = ""
    """Its title: the topics."""
    status: Literal["open", "closed"] = "open"
    recalled: float = Field(0.0, ge=0)
    """How often it was evidence: of each result, the share of turns that were its own (docs/decisions/0027)."""

    @property
    def indexed_text(self) -> str:
        """The text that the routes search: the title, and the keywords that it lacks (ES-Mem section 3.2).

        The vector of an open event whose first keywords are its title is made of the title (docs/decisions/0004).
        """
        further = [word for word in self.keywords if word.casefold() not in self.summary.casefold()]
        return self.summary + (f" ({', '.join(further)})" if further else "")


class Prompt(Frozen):
    """The turns that a model read together when it extracted records."""

    turn_ids: list[str]
    """The core turns: a record may cite them."""
    context_turn_ids: list[str] = []


class Boundary(Frozen):
    """How one event gives way to the next (ES-Mem section 3.2)."""

    boundary_id: str
    session_id: str
    from_event_id: str | None = None
    to_event_id: str
    kind: BoundaryKind
    text: str
    p_eb: float | None = Field(default=None, ge=0, le=1)
    gap_seconds: float | None = None
    at: datetime | None = None
    """When the later event starts."""

    @property
    def indexed_text(self) -> str:
        """The text that the routes search."""
        return self.text


class Record(Frozen):
    """One atomic memory (Level 1)."""

    record_id: str
    kind: RecordKind = "dimensional"
    memory_type: MemoryType | None = None
    lasting: Lasting | None = None
    """What it is good for later, where the user said it of themselves; None where nothing lasts."""
    significance: float = Field(0.0, ge=0, le=MOST_SIGNIFICANT)
    """How much it matters later: 0 not at all, 1 hardly, 2 it helps a thoughtful reply, 3 its neglect does harm."""
    slot: str = ""
    """What it says of which there is one at a time ("database version"): a later statement of it takes its place."""
    sets: list[str] = []
    """What a later count or list would find it under ("model kits")."""
    content: str
    time_text: str = ""
    """The time as it was said."""
    event_start: datetime | None = None
    event_end: datetime | None = None
    """When it happened: an interval, both ends included."""
    mentioned_at: datetime | None = None
    location: str = ""
    reason: str = ""
    purpose: str = ""
    keywords: list[str] = []
    speaker: str = ""
    session_id: str
    event_id: str
    seq: int = Field(ge=0)
    """Position in the session of the last turn that it cites."""
    part: int = Field(default=0, ge=0)
    """Position of its first sentence, or of its passage, among those of the same extraction."""
    source_turn_ids: list[str]
    status: RecordStatus = "active"
    reject_reason: str = ""
    superseded_by: str | None = None
    conflicts_with: list[str] = []
    """Ids of records that cannot be true together with it, none of them known to be a change of another. One that is
    superseded stays linked, since that may be undone; only active ones are shown beside it."""
    derived_from: list[str] = []
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    metadata: Metadata = {}
    """That of the turns it was made from; of a key that differs, the latest value."""

    @property
    def is_chunk(self) -> bool:
        """Whether it is a chunk of a long message: found and shown as it is, never merged, superseded or summarized."""
        return self.kind == "passage"

    @property
    def is_edited(self) -> bool:
        """Whether a person gave it its text: an edit is made of one record, a merge of several."""
        return len(self.derived_from) == 1

    @property
    def indexed_text(self) -> str:
        """The text that the routes search: content, reason and purpose (DimMem section 3.3), each said once."""
        return " ".join([self.content, *(part for part in (self.reason, self.purpose) if part not in self.content)])


def reached(starts: Iterable[str], links_of: Callable[[str], Iterable[str]]) -> list[str]:
    """Return ids with all that links lead to from them, directly or not, the nearest first; a circle ends."""
    found = list(dict.fromkeys(starts))
    known = set(found)
    for record_id in found:
        fresh = [linked for linked in dict.fromkeys(links_of(record_id)) if linked not in known]
        known.update(fresh)
        found += fresh
    return found


class Spent(Frozen):
    """What a language model was paid for something."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in Spent.model_fields})


class Synthesis(Frozen):
    """A narrative across events (StructMem section 2.2), or the note of a session."""

    synthesis_id: str
    text: str
    session_id: str = ""
    """The session that it is the note of; empty for a narrative."""
    spent: Spent = Spent()
    """What it cost, with all that was chosen in the same call; of several notes of one call the first has it."""
    quoted: bool = False
    """Whether it quotes its records, where no language model could tell them."""
    window_start: datetime | None = None
    window_end: datetime | None = None
    covered_record_ids: list[str]
    seed_event_ids: list[str] = []
    status: Literal["active", "stale"] = "active"

    @property
    def indexed_text(self) -> str:
        """The text that the routes search."""
        return self.text


class Decision(Frozen):
    """What was decided about near-duplicate or conflicting records: an entry of the audit trail."""

    decision_id: str
    run_id: str
    pair: list[str]
    """The records decided on, oldest first."""
    jaccard: float = Field(ge=0, le=1)
    cosine: float = Field(ge=-1.001, le=1.001)
    action: Action
    reason: str = ""
    result_id: str | None = None
    decided_at: datetime | None = None
    undone_at: datetime | None = None
    """When it was undone; it stays in the trail."""


class PendingTask(Frozen):
    """A step that is still to be done for turns, which are stored and searchable but where `receive` itself is."""

    pending_id: str
    run_id: str
    session_id: str
    turn_ids: list[str]
    step: str
    reason: str
    since: datetime
    record_id: str | None = None
    """The record that a task to forget is about."""
    set_aside: bool = False
    """Whether it met a fault of this package: only a retry that may skip it tries it again."""

    @property
    def awaits_approval(self) -> bool:
        """Whether a person's approval comes next."""
        return self.step == APPROVAL


class Interval(Frozen):
    """A span of time, both ends included."""

    start: datetime
    end: datetime

    def meets(self, other: "Interval") -> bool:
        """Return whether the two have a moment in common."""
        return self.start <= other.end and other.start <= self.end


class TimeConstraint(Frozen):
    """When the thing asked for happened. An end that is open is absent."""

    text: str
    start: datetime | None = None
    end: datetime | None = None


class Intent(Frozen):
    """What a query asks for (DimMem section 3.3, query side)."""

    query: str
    anchor: str
    """The query as one self-contained sentence."""
    target_types: list[MemoryType] = []
    keywords: list[str] = []
    time: TimeConstraint | None = None
    location: str = ""
    speakers: list[str] = []
    """Whose words or deeds are asked for."""
    reason: str = ""
    purpose: str = ""
    answer_dimension: Dimension = "content"
    """The dimension asked for; never used as a filter."""
    needs_assistant: bool = False
    sort: QuerySort = "question"
    breadth: Breadth | None = None
    """Absent where the query's parser does not say."""
    asked_at: datetime | None = None
    """When it is asked: as the caller says, else the newest turn's time."""


class Evidence(Frozen):
    """One passage as a reader is shown it, and how it was found."""

    evidence_id: str
    text: str
    record: Record | None = None
    synthesis_id: str | None = None
    turns: list[Turn] = []
    routes: dict[str, float] = {}
    """The score that each route gave it, in [0, 1]."""
    score: float = 0.0
    relevance: float = Field(0.0, ge=0, le=1)
    """Calibrated probability that it holds what the query asks for."""
    noted_at: datetime | None = None
    """When the session began that it is the note of."""

    @property
    def shows_others(self) -> bool:
        """Whether the text shows beside the record what took its place, or what it is in conflict with."""
        return self.record is not None and (self.record.status == "superseded" or bool(self.record.conflicts_with))


class Pair(Frozen):
    """Two near-duplicate or conflicting records."""

    older_id: str
    newer_id: str
    jaccard: float
    cosine: float


class FilterCounts(Frozen):
    """How many pairs the candidate filter saw (DimMem section 3.4), from all that hold a new record to those left."""

    possible: int = 0
    """Pairs that comparing everything with everything would compare."""
    compared: int = 0
    """Pairs whose vectors were compared."""
    alike: int = 0
    """Pairs that passed every threshold."""
    ruled_out: dict[str, int] = {}
    """Pairs ruled out without a model, by reason."""


class Proposal(Frozen):
    """A decision that is made and not applied yet."""

    decision: Decision
    content: str = ""
    """The text of the record that a merge makes."""
    waits: bool = False
    """Whether a person is to approve it first."""
