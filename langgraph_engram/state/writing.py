"""Define what travels along the edges of the write graph. Keys stand in the order in which they are filled."""

import operator
from typing import Annotated

from typing_extensions import TypedDict

from langgraph_engram.results import Receipt, UsageEntry
from langgraph_engram.schema import Boundary, Decision, Event, Frozen, Pending, Record, Turn
from langgraph_engram.state.requests import RememberRequest


class Pair(Frozen):
    """Two records that resemble one another."""

    older_id: str
    newer_id: str
    jaccard: float
    cosine: float


class FilterCounts(Frozen):
    """What the filter of look-alikes did: pairs that hold a new record, all the way down to those to decide on."""

    possible: int = 0
    """Pairs that comparing everything with everything would compare."""
    compared: int = 0
    """Pairs whose vectors were compared."""
    alike: int = 0
    """Pairs that passed every threshold."""
    told_apart: dict[str, int] = {}
    """Pairs kept apart without asking, by reason."""


class Proposal(Frozen):
    """A decision that is made and not carried out."""

    decision: Decision
    content: str = ""
    """The text of the record that a merge makes."""
    waits: bool = False
    """Whether a person is to approve it first."""


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
    retried: list[Pending]
    """Set by `receive`: what was pending and is done now. Empty but for a retry; each step does its own part of it."""
    events: list[Event]
    """Set by `segment`: events opened, continued or closed by this run; `describe_events` words them again."""
    boundaries: list[Boundary]
    """Set by `segment`, and by `describe_events`."""
    records: list[Record]
    """Set by `extract`, judged by `ground`, added to by `take_up_records`, changed by `apply_updates` and
    `persist`: this run's."""
    taken_up: list[str]
    """Set by `take_up_records`: ids of those of `records` that were stored before."""
    pairs: list[Pair]
    """Set by `filter_candidates`."""
    filtered: FilterCounts
    """Set by `filter_candidates`."""
    looked_at: str
    """Set by `filter_candidates`: the revision of the scope in which it looked."""
    looks: int
    """Set by `filter_candidates`: how often it has looked."""
    proposals: list[Proposal]
    """Set by `consolidate`, changed by `approve_updates`."""
    looks_again: bool
    """Set by `persist`: whether another run changed or stored look-alikes meanwhile, so that nothing is written yet."""
    changed: list[Record]
    """Set by `apply_updates`, changed by `persist`: older records whose status this run changes."""
    decisions: list[Decision]
    """Set by `apply_updates`, changed by `persist`."""
    synthesis_ids: list[str]
    """Set by `synthesize`."""
    failures: Annotated[list[Pending], operator.add]
    """Added to by every step that asks a model."""
    usage: Annotated[list[UsageEntry], operator.add]
    """Added to by every step."""
    receipt: Receipt
    """Set by `report_run`."""
