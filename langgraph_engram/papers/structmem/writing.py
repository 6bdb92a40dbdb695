"""What StructMem alone does as it writes: buffers, facts and relations, windows of time (sections 3.1 to 3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from langgraph_engram.extraction.extractor import View
from langgraph_engram.paper_settings import StructMemSettings
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Record
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic, buffers
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns
from langgraph_engram.summarization.scheduling import Scheduler, ScopeView, span, uncovered_records

FACTS = View("factual", ExtractFacts)
RELATIONS = View("relational", ExtractRelations, may_label=False)


@dataclass(frozen=True)
class BufferSegmenter(Segmenter):
    """Cut turns where a buffer is full (StructMem section 3.1)."""

    settings: StructMemSettings

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the buffers of a session; nothing names them, and no boundary is kept."""
        held = session.held
        sizes = [count_tokens(turn.text) for turn in (*held, *session.turns)]
        starts = [start - len(held) for start, _ in buffers(sizes, self.settings.buffer_tokens)]
        cuts = [start for start in starts[1:] if start >= 0]
        builder = EventBuilder(scope_key, kind="buffer")
        topics = [TurnTopic() for _ in session.turns]
        return Segmentation(session.events(builder, topics, cuts))


@dataclass(frozen=True)
class WindowScheduler(Scheduler):
    """Make each full window of time a synthesis of its own (StructMem section 3.3)."""

    def buffer(self, view: ScopeView, session_id: str, *, closed: bool) -> list[Record]:
        """Return what no synthesis of a session covers; no session waits for another."""
        del closed
        return uncovered_records(view, session_id)

    def parts(self, buffer: Sequence[Record], *, closed: bool) -> list[list[Record]]:
        """Return the windows that are full, or all of them once the session has ended."""
        found = time_windows(buffer, timedelta(seconds=self.settings.window_seconds))
        return found if closed else found[:-1]


def time_windows(records: Sequence[Record], size: timedelta) -> list[list[Record]]:
    """Cut records into windows of time, each from its first record on, both ends included."""
    windows: list[list[Record]] = []
    for record in records:
        if windows and span([*windows[-1][:1], record]) <= size:
            windows[-1].append(record)
        else:
            windows.append([record])
    return windows
