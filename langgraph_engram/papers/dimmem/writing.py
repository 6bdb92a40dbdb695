"""What DimMem alone does as it writes: windows, records without relations, pairs one by one (sections 3.2 and 3.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.extraction.extractor import View
from langgraph_engram.extraction.records import DIMENSIONS
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.schema import Event, Turn
from langgraph_engram.segmentation.events import EventBuilder, SummaryLimits, TurnTopic
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns

CAUSES = ("reason", "purpose")
"""The dimensions that tell why."""


def records_view(settings: DimMemSettings) -> View:
    """Return what is asked of a batch, with the dimensions that the settings leave (section 4.3)."""
    dimensions = DIMENSIONS if settings.dimensions else ()
    return View("dimensional", ExtractRecords, [name for name in dimensions if settings.causal or name not in CAUSES])


@dataclass(frozen=True)
class WindowSegmenter(Segmenter):
    """Cut turns into sliding windows."""

    settings: DimMemSettings

    @property
    def context_turns(self) -> int:  # type: ignore[override]  # a number of the settings
        """Return how many turns before a window are read with it."""
        return self.settings.overlap

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the windows of a session; nothing names them, and no boundary is kept."""
        topics = [TurnTopic() for _ in session.turns]
        return Segmentation(self.events(scope_key, session, topics, self.limits))

    def events(
        self, scope_key: str, session: SessionTurns, topics: Sequence[TurnTopic], limits: SummaryLimits
    ) -> list[Event]:
        """Return the windows of a session, with what is known of the topics of its turns."""
        builder = EventBuilder(scope_key, limits, "window")
        cuts = window_cuts(session, self.settings)
        return session.events(builder, topics, cuts, self.overlapping_turns)

    def overlapping_turns(self, earlier: Sequence[Turn]) -> Sequence[Turn]:
        """Return the turns that a window shares with the one before it: read, but never a source."""
        starts = exchange_starts(earlier)[-self.settings.overlap :] if self.settings.overlap else []
        return earlier[starts[0] :] if starts else []


def window_cuts(session: SessionTurns, settings: DimMemSettings) -> list[int]:
    """Return the positions before which a window begins, as if the whole session had come in one call."""
    exchanges = exchange_starts([*session.stored, *session.turns])
    spans = windows(len(exchanges), settings.window, settings.overlap)
    ends = [exchanges[end] - len(session.stored) for _, end in spans[:-1]]
    return [end for end in ends if end >= 0]


def windows(count: int, window: int, overlap: int) -> list[tuple[int, int]]:
    """Cut `count` turns into sliding windows (DimMem section 3.2).

    The step is max(1, W - O); the last window ends at the last turn and may be short.

    Args:
        count: The number of turns, at least 0.
        window: W, turns a window, at least 1.
        overlap: O, turns shared with the window before; at most W - 1 counts.

    Returns:
        Pairs (start, end), the end not included; none for no turns.
    """
    step = max(1, window - min(overlap, window - 1))
    spans: list[tuple[int, int]] = []
    start = 0
    while start < count:
        spans.append((start, min(start + window, count)))
        if start + window >= count:
            break
        start += step
    return spans


def exchange_starts(turns: Sequence[Turn]) -> list[int]:
    """Return the positions at which somebody speaks to an assistant, or to other people: what W and O count.

    DimMem's turn is an utterance with the assistant's reply (Eq. 3), so that a reply belongs to what it follows.
    """
    return [position for position, turn in enumerate(turns) if turn.role == "user"]
