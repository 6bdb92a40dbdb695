"""Say how each kind of thing is kept: its collection, its id, its place in time and the terms it is found by."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from langgraph_engram.language.tokens import content_stems
from langgraph_engram.long_texts import texts_of_narrative, texts_of_turn
from langgraph_engram.moments import epoch_seconds
from langgraph_engram.schema import Boundary, Decision, Event, Frozen, Pending, Record, Synthesis, Turn

T = TypeVar("T", bound=Frozen)
Place: TypeAlias = tuple[float, tuple[str | int, ...], str]
"""Seconds since 1970 (-inf where the time is unknown), place within that moment, id."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of thing that is kept."""

    name: str
    """The name of its collection, and of its shelf."""
    model: type[T]
    id_field: str
    time_field: str
    place_fields: tuple[str, ...] = ()
    """What orders things of one moment."""
    with_keywords: bool = False
    """Whether its keywords are found beside its text."""

    def id_of(self, item: T) -> str:
        """Give an item's id."""
        return str(getattr(item, self.id_field))

    def text_of(self, item: T) -> str:
        """Give the text that routes search; empty for what is never searched."""
        return str(getattr(item, "indexed_text", ""))

    def texts_of(self, item: T) -> list[str]:
        """Give the texts that an item's vector is made of: its own, or the sentences of a long turn or narrative."""
        match item:
            case Turn():
                return texts_of_turn(item)
            case Synthesis():
                return texts_of_narrative(item.text)
        return [self.text_of(item)]

    def terms_of(self, item: T) -> list[str]:
        """Give the terms that lexical search finds an item by."""
        keywords = getattr(item, "keywords", ()) if self.with_keywords else ()
        return content_stems(" ".join([self.text_of(item), *keywords]))

    def session_of(self, item: T) -> str | None:
        """Give an item's session; none for what spans sessions."""
        session: str | None = getattr(item, "session_id", None)
        return session

    def place_of(self, item: T) -> Place:
        """Give an item's place in time, for sorting; no two items share one."""
        seconds = epoch_seconds(getattr(item, self.time_field), float("-inf"))
        return seconds, tuple(getattr(item, name) for name in self.place_fields), self.id_of(item)

    def distinct(self, items: Iterable[T]) -> list[T]:
        """Keep one item of each id, the last one given."""
        return list({self.id_of(item): item for item in items}.values())


TURNS = Kind("turns", Turn, "turn_id", "said_at", ("session_id", "seq"))
EVENTS = Kind("events", Event, "event_id", "started_at", ("session_id", "seq"))
BOUNDARIES = Kind("boundaries", Boundary, "boundary_id", "at", ("session_id",))
RECORDS = Kind(
    "records", Record, "record_id", "mentioned_at", ("session_id", "seq", "part"), with_keywords=True
)  # fmt: skip
SYNTHESES = Kind("syntheses", Synthesis, "synthesis_id", "window_start")
DECISIONS = Kind("decisions", Decision, "decision_id", "decided_at")
PENDINGS = Kind("pendings", Pending, "pending_id", "since")
