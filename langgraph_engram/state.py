"""Define the requests and the states of the two graphs.

Only pydantic models named here, strings and numbers are state: no vectors, no questions, no histories. A checkpoint
reloads exactly what was saved.
"""

import operator
import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from langgraph_engram.filters import Filters, check_filters, check_metadata
from langgraph_engram.results import Item, Receipt, Recollection, Selection, UsageEntry
from langgraph_engram.schema import (
    Boundary,
    Branches,
    Decision,
    Event,
    Evidence,
    FilterCounts,
    Frozen,
    Intent,
    Metadata,
    Pair,
    PendingTask,
    Prompt,
    Proposal,
    Record,
    Role,
    Scope,
    Turn,
)
from langgraph_engram.settings import AnswerStyle
from langgraph_engram.temporal.datetimes import with_offset

Moment = Annotated[datetime, AfterValidator(with_offset)]
"""A moment, with an offset: one without counts as UTC."""
MAX_NAME_CHARACTERS = 100
"""Characters of a speaker's name that are kept."""
INVISIBLE = re.compile(r"[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Invisible characters and those that change the direction of text; joiners, which some scripts need, stay."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def plain_name(name: str) -> str:
    """Return a name on one line, cut to length, hidden characters shown: it passes for no line and no other name."""
    words = CONTROL.sub(" ", INVISIBLE.sub("\ufffd", name)).split()
    return " ".join(words)[:MAX_NAME_CHARACTERS].rstrip()


class Message(Frozen):
    """One message as it came in."""

    role: Role = "user"
    speaker: str = Field(default="", validate_default=True)
    """A name on one line; the role for a message without one."""
    text: str
    captions: list[str] = []
    said_at: Moment | None = None
    external_id: str | None = None
    session_id: str | None = None
    """Its session; None for the request's."""

    @field_validator("speaker")
    @classmethod
    def _name_speaker(cls, name: str, info: ValidationInfo) -> str:
        return plain_name(name) or str(info.data.get("role", ""))


REMOVED = ""
"""The version that stands of a message which was removed from a thread: none."""


class Thread(Frozen):
    """A thread as its checkpointed state holds it, for memory to follow (docs/decisions/0026)."""

    messages: list[Message]
    """All of it, in order; those without an id are not followed."""
    held: list[str] | None = None
    """The ids of the messages that it held when it was last followed, where its own state tells. What it lacks of these
    was removed since; what it lacked before was trimmed or summarized, and is remembered still."""
    changed: dict[str, str] = {}
    """What stands on its way of messages that were edited or removed, by id, as `branches.changes_of` says it; for a
    thread that trims, since it may go on from before that was done."""
    summarized: bool = False
    """Whether a summary took the place of its beginning; asked where `held` does not tell."""
    forked: bool = False
    """Whether it is known to go on from an earlier checkpoint, be it from before all that is stored of it."""
    graph: str = "/"
    """The name of the graph whose thread it is: subgraphs of one thread have messages of their own."""


class ScopedRequest(Frozen):
    """A request about the memory of one user. Its JSON is flat: the fields of the scope are its own."""

    user_id: str = Field(min_length=1)
    tenant: str = Field(default="default", min_length=1)
    agent_id: str | None = None

    @property
    def scope(self) -> Scope:
        """Return whose memory it is."""
        return Scope(tenant=self.tenant, user_id=self.user_id, agent_id=self.agent_id)


class RememberRequest(ScopedRequest):
    """The input of the write graph."""

    session_id: str | None = None
    messages: list[Message] = []
    close_session: bool = False
    """Whether each session ends with these messages."""
    run_id: str = ""
    """Empty for a new run id."""
    retry_turn_ids: list[str] = []
    """Stored turns whose later steps are to be repeated."""
    masked: int = Field(default=0, ge=0)
    """Secrets that were masked in `messages`."""
    refused: int = Field(default=0, ge=0)
    """Messages that were taken out, because they hold secrets."""
    metadata: Annotated[Metadata, BeforeValidator(check_metadata)] = {}
    """What is said of the messages; kept with the turns that are new."""
    thread: Thread | None = None
    """The whole thread of the session as it stands; None where the session follows none."""


class RecallRequest(ScopedRequest):
    """The input of the read graph."""

    query: str = Field(min_length=1)
    mode: Literal["search", "recall"] = "recall"
    budget: int | None = Field(default=None, ge=1)
    """Tokens of evidence at most; None for the preset's own."""
    stop: float | None = Field(default=None, ge=0, le=1)
    """Strength at which a search ends, 0 to fill the budget; None for the settings' own."""
    now: Moment | None = None
    """The moment that "last week" is relative to; None for `as_of`, or the newest turn's time."""
    as_of: Moment | None = None
    """The moment as of which memory is read; None for now."""
    branches: Branches = "current"
    """Whether what was said on abandoned branches of threads is read as well."""
    run_id: str = ""
    answer_style: AnswerStyle | None = None
    """How long the answer is; None for the preset's own."""
    filters: Annotated[Filters | None, BeforeValidator(check_filters)] = None
    """What evidence has to fulfil, as `langgraph_engram/filters.py` says; None for no condition."""
    limit: int | None = Field(default=None, ge=1)
    """Passages that a search returns at most."""
    thread: list[str] = []
    """What was said in the conversation before the query, oldest first: a message may not be read without."""
    select: bool = False
    """Whether a model selects what bears on a message."""


class ServedRememberRequest(RememberRequest):
    """The input of the served write graph: the user may be left out."""

    user_id: str = ""


class ServedRecallRequest(RecallRequest):
    """The input of the served read graph: the user may be left out."""

    user_id: str = ""


class BatchSelection(Frozen):
    """What one batch of the deep selection selected."""

    start: int
    """Position of the batch's first candidate."""
    evidence_ids: list[str]
    failure: str = ""
    """Why nothing was selected, where the model gave no answer."""


class SelectInput(TypedDict):
    """The input of one batch of the deep selection."""

    query: str
    intent: Intent
    batch: list[Evidence]
    start: int


class ReadInput(TypedDict):
    """What the read graph is called with."""

    request: RecallRequest


class ReadOutput(TypedDict):
    """What the read graph returns."""

    recollection: Recollection


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
    revision: str
    """Set by `parse_intent`: the revision of the memory that all steps of the run read, as long as it is there."""
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
    selection: Selection | None
    """Set by `parse_intent` and `select_lines`: what a model was offered, and named."""
    more: int
    """Set by `light_retrieve`: how many passages it found beyond those, for the whole."""
    notes: list[str]
    """Set by `light_retrieve`."""
    sufficient: bool
    """Set by `judge_sufficiency`: whether the light answer is taken."""
    answer: str
    """Set by `judge_sufficiency` or `write_answer`."""
    quoted: bool
    """Set by `judge_sufficiency` or `write_answer`: whether a rule gave the answer, by quoting."""
    may_go_on: bool
    """Set by `judge_sufficiency` or `write_answer`: whether a model said that memory may hold more of its answer."""
    items: list[Item]
    """Set by `write_answer`: what it listed, for the whole."""
    read_ids: list[str]
    """Set by `write_answer` and `backtrack`: evidence ids of the lines that were read so far."""
    look_for: str
    """Set by `write_answer`: words that further items would be found by."""
    needs_all: bool
    """Set by `reflect`: whether an answer turned out to need the whole, although its query did not say so."""
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
    earlier_answers: list[str]
    """Set by `parse_intent`, grown by `reflect`: the answers of the rounds before (HyMem Algorithm 1)."""
    done: bool
    """Set by `reflect`."""
    usage: Annotated[list[UsageEntry], operator.add]
    """Added to by every step that asks a model."""
    recollection: Recollection
    """Set by `conclude`."""


def needs_whole(state: ReadState) -> bool:
    """Return whether what is asked needs the whole, and not one thing."""
    return state["intent"].breadth not in (None, "narrow")


class WriteInput(TypedDict):
    """What the write graph is called with."""

    request: RememberRequest


class WriteOutput(TypedDict):
    """What the write graph returns; nothing yet where it waits for a person."""

    receipt: Receipt


class WriteState(TypedDict, total=False):
    """The state of the write graph."""

    request: RememberRequest
    """Set by the caller."""
    run_id: str
    """Set by `receive`."""
    session_ids: list[str]
    """Set by `receive`: the sessions of this run, in order; nearly always one. Added to by `segment`: those it ends."""
    tasks: list[PendingTask]
    """Set by `receive`: the pending tasks that this run does: that of its new turns, or those of a retry."""
    turns: list[Turn]
    """Set by `receive`: the turns to cut and to extract from: the new ones, or those of a retry that were not yet."""
    stored_turns: int
    """Set by `receive`: how many turns are new."""
    known_turns: int
    """Set by `receive`: how many messages were stored before."""
    followed: list[Turn]
    """Set by `receive`: the stored turns that their thread no longer holds, or holds again."""
    events: list[Event]
    """Set by `segment`: events opened, continued or closed by this run; named by `extract`."""
    boundaries: list[Boundary]
    """Set by `segment`; described by `extract`."""
    records: list[Record]
    """Set by `extract`, verified by `verify`: this run's. Set by `persist` as they are written."""
    prompts: list[Prompt]
    """Set by `extract`: what was read together, for `verify`."""
    pairs: list[Pair]
    """Set by `filter_candidates`."""
    filtered: FilterCounts
    """Set by `filter_candidates`."""
    checked_revision: str
    """Set by `filter_candidates`: the revision of the scope that it searched."""
    attempts: int
    """Set by `filter_candidates`: how often it has searched."""
    proposals: list[Proposal]
    """Set by `consolidate`, changed by `approve_updates`: decisions that `persist` carries out, as far as they hold."""
    is_overtaken: bool
    """Set by `persist`: whether another run changed or stored near-duplicates meanwhile; then nothing is written."""
    decisions: list[Decision]
    """Set by `persist`: those that it carried out."""
    synthesis_ids: list[str]
    """Set by `synthesize`."""
    failures: Annotated[list[PendingTask], operator.add]
    """Added to by every step that asks a model."""
    usage: Annotated[list[UsageEntry], operator.add]
    """Added to by every step."""
    receipt: Receipt
    """Set by `report_run`."""
