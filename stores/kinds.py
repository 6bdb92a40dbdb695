"""Say what kinds of item a store keeps, how the fields of each are read, and what one commit writes of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from langgraph_engram.embeddings.base import Vectors, opening_of, texts_of_narrative, texts_of_turn
from langgraph_engram.schema import Boundary, Decision, Event, Frozen, PendingTask, Record, Synthesis, Turn
from langgraph_engram.temporal.datetimes import epoch_seconds
from langgraph_engram.text.keywords import TITLE_KEYWORDS
from langgraph_engram.text.words import content_stems

T = TypeVar("T", bound=Frozen)
SortKey: TypeAlias = tuple[float, tuple[str | int, ...], str]
"""Seconds since 1970 (-inf where the time is unknown), what orders items of one moment, id."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of stored item, and how its fields are read."""

    name: str
    """What its rows say they are, and the name of its index in a `ScopeIndex` and of its field in `Changes`."""
    model: type[T]
    id_field: str
    time_field: str
    tie_fields: tuple[str, ...] = ()
    """What orders items of one moment."""
    with_keywords: bool = False
    """Whether its keywords are searched beside its text."""

    def id_of(self, item: T) -> str:
        """Return an item's id."""
        return str(getattr(item, self.id_field))

    def text_of(self, item: T) -> str:
        """Return the text that an item is found by; empty for what is never searched."""
        return str(getattr(item, "indexed_text", ""))

    def texts_of(self, item: T) -> list[str]:
        """Return the texts that an item's vector is made of: its own, its sentences, its opening, or its title.

        Further keywords of an event whose first ones are its title may change with each message, until it is closed.
        """
        match item:
            case Event() if item.status == "open" and item.topics == [", ".join(item.keywords[:TITLE_KEYWORDS])]:
                return item.topics
            case Turn():
                return texts_of_turn(item)
            case Synthesis():
                return texts_of_narrative(item.text)
            case Record() if item.is_chunk:
                return [opening_of(item.content)]
        return [self.text_of(item)]

    def terms_of(self, item: T) -> list[str]:
        """Return the terms that lexical search finds an item by."""
        keywords = getattr(item, "keywords", ()) if self.with_keywords else ()
        return content_stems(" ".join([self.text_of(item), *keywords]))

    def sort_key(self, item: T) -> SortKey:
        """Return a key that sorts items by time, distinct for each item."""
        seconds = epoch_seconds(getattr(item, self.time_field), float("-inf"))
        return seconds, tuple(getattr(item, name) for name in self.tie_fields), self.id_of(item)

    def distinct(self, items: Iterable[T]) -> list[T]:
        """Return one item of each id, the last one given."""
        return list({self.id_of(item): item for item in items}.values())


class KindItems(NamedTuple, Generic[T]):
    """Items of one kind that are written together, and their vectors."""

    kind: Kind[T]
    items: Sequence[T]
    vectors: Vectors | None
    """None for what is never searched."""


@dataclass(frozen=True)
class ScopeItems:
    """Items of one scope, under the names of their kinds."""

    turns: Sequence[Turn] = ()
    events: Sequence[Event] = ()
    boundaries: Sequence[Boundary] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    decisions: Sequence[Decision] = ()
    pending_tasks: Sequence[PendingTask] = ()


@dataclass(frozen=True)
class Changes(ScopeItems):
    """What one commit writes, each item under its id: writing it twice changes nothing."""

    changed: Sequence[Record] = ()
    """Stored records whose status changes; written after everything new."""
    completed: Sequence[str] = ()
    """Ids of the pending tasks that are done; removed last."""
    removed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids to remove for good, by the name of their kind, in the order in which they go."""


TURNS = Kind("turns", Turn, "turn_id", "said_at", ("session_id", "seq"))
EVENTS = Kind("events", Event, "event_id", "started_at", ("session_id", "seq"))
BOUNDARIES = Kind("boundaries", Boundary, "boundary_id", "at", ("session_id",))
RECORDS = Kind("records", Record, "record_id", "mentioned_at", ("session_id", "seq", "part"), with_keywords=True)
SYNTHESES = Kind("syntheses", Synthesis, "synthesis_id", "window_start")
DECISIONS = Kind("decisions", Decision, "decision_id", "decided_at")
PENDING_TASKS = Kind("pending_tasks", PendingTask, "pending_id", "since")

SEARCHABLE: tuple[Kind[Any], ...] = (TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES)
"""The kinds that have vectors and an index."""
UNSEARCHED: tuple[Kind[Any], ...] = (DECISIONS, PENDING_TASKS)
"""The other kinds."""
