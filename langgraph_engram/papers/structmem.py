"""What StructMem (arXiv 2604.21748) alone needs: buffers, facts and relations, windows of time, syntheses read last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.extraction.extractor import View
from langgraph_engram.paper_settings import StructMemSettings
from langgraph_engram.papers.search import RecordRanker, text_scores
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.rendering import plain, speaker_name
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import synthesis_scores, top_matching
from langgraph_engram.schema import Evidence, Intent, Record
from langgraph_engram.segmentation.events import EventBuilder, TurnTopic, buffers
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns
from langgraph_engram.stores.index import Matches, ScopeIndex
from langgraph_engram.summarization.scheduling import Scheduler, SynthesisJob, by_mention, span
from langgraph_engram.temporal.datetimes import format_day

SUMMARIES = "Summaries:"
OTHERS = "Turns:"
FACTS = View("factual", ExtractFacts)
RELATIONS = View("relational", ExtractRelations)
"""The two views of a batch of turns (section 2.1)."""


@dataclass(frozen=True)
class BufferSegmenter(Segmenter):
    """Cut turns where a buffer is full (section 2.1)."""

    settings: StructMemSettings

    @property
    def waits(self) -> bool:  # type: ignore[override]  # a choice of the settings
        """Return whether a buffer is written when the next one begins."""
        return self.settings.waits

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the buffers of a session; nothing names them, and no boundary is kept."""
        open_turns = session.open_turns
        sizes = [count_tokens(turn.text) for turn in (*open_turns, *session.turns)]
        starts = [start - len(open_turns) for start, _ in buffers(sizes, self.settings.buffer_tokens)]
        cuts = [start for start in starts[1:] if start >= 0]
        builder = EventBuilder(scope_key, kind="buffer")
        return Segmentation(session.events(builder, [TurnTopic() for _ in session.turns], cuts))


@dataclass(frozen=True)
class WindowScheduler(Scheduler):
    """Make each full window of time a synthesis of its own, over sessions (section 2.2)."""

    writes_new: bool = True

    def jobs(self, index: ScopeIndex) -> list[SynthesisJob]:
        """Return what is stale, then the windows of time that are full; all of them where the newest session ended."""
        jobs = super().jobs(index)
        told = {record_id for synthesis in index.syntheses.items for record_id in synthesis.covered_record_ids}
        told.update(record.record_id for job in jobs for record in job.records)
        entries = (record for record in index.records.items if record.status == "active" and not record.is_chunk)
        fresh = sorted((record for record in entries if record.record_id not in told), key=by_mention)
        found = time_windows(fresh, timedelta(seconds=self.settings.window_seconds))
        newest = index.events.order()[-1:]
        full = found[:-1] if any(index.events.items[last].status == "open" for last in newest) else found
        return [*jobs, *(SynthesisJob(tuple(window)) for window in full)] if self.settings.enabled else []


def time_windows(records: Sequence[Record], size: timedelta) -> list[list[Record]]:
    """Cut records into windows of time, each from its first record on, both ends included."""
    windows: list[list[Record]] = []
    for record in records:
        if windows and span([*windows[-1][:1], record]) <= size:
            windows[-1].append(record)
        else:
            windows.append([record])
    return windows


@dataclass(frozen=True)
class StructMemRanker(RecordRanker):
    """Concatenate the nearest records and syntheses (appendix A.4)."""

    synthesis_k: int

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:
        """Yield the best records, then the best syntheses."""
        index = matches.index
        yield from self.best_records(matches, text_scores(index, intent, query, self.routes))
        if "synthesis" in self.routes:
            scores = synthesis_scores(index, query)
            for position in top_matching(matches, index.syntheses, scores, self.synthesis_k):
                score = float(scores[position])
                yield Candidate("synthesis", position, score, {"synthesis": score})


def by_speaker(evidence: Sequence[Evidence]) -> str:
    """Quote records under their speakers, by each one's first, then syntheses, then anything else (appendix A.5)."""
    groups: dict[str, list[str]] = {}
    for number, passage in enumerate(evidence, start=1):
        record = passage.record
        if record:
            text = passage.text if passage.shows_others else record.content
            groups.setdefault(f"Memories of {speaker_name(record.speaker)}:", []).append(
                f"[{number}] ({format_day(record.mentioned_at)}) {plain(text)}"
            )
        elif passage.synthesis_id:
            groups.setdefault(SUMMARIES, []).append(f"[{number}] {plain(passage.text)}")
        else:
            groups.setdefault(OTHERS, []).append(f"[{number}] {plain(passage.text)}")
    ordered = sorted(groups, key=lambda heading: (heading == SUMMARIES, heading == OTHERS))
    return "\n".join(line for heading in ordered for line in (heading, *groups[heading]))
