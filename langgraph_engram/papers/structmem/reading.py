"""Read as StructMem does: the nearest records, then the nearest syntheses (section 3.4), by speaker (appendix A.5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.papers.search import RecordRanker, text_scores
from langgraph_engram.prompts.rendering import plain, speaker_name
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import synthesis_scores, top_matching
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.stores.matches import Matches
from langgraph_engram.temporal.datetimes import format_day

SUMMARIES = "Summaries:"
OTHERS = "Turns:"


@dataclass(frozen=True)
class StructMemRanker(RecordRanker):
    """Concatenate records and syntheses."""

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
    """Quote records under their speakers, in the order of each one's first, then syntheses, then anything else."""
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
