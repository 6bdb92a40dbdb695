"""What HyMem (arXiv 2602.13933) alone needs: key sentences for the light answer, whole units where it goes deep."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.extraction.extractor import View
from langgraph_engram.papers.search import best_events
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.write_answer import CITE, DATES, NEWEST, Wording
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import LEAST, Scores, unscored
from langgraph_engram.schema import Intent, Turn
from langgraph_engram.stores.index import Matches, ScopeIndex

EXHAUSTIVE = Wording(
    "Answer completely and precisely, in full sentences; where a time is relative, say to which day. "
    f"{CITE}\n{DATES} {NEWEST}",
    "Answer completely.",
    "Name every answer that the pieces allow. Where they are incomplete, infer the likeliest answer and "
    "give it rather than none.",
)
"""All that is possible, without refusing once retrieval went deep (appendix B)."""


KEY_SENTENCES = View("key_sentence", ExtractKeySentences, small_talk=True)
"""What is asked of a batch of turns (section 3.2, Level 1)."""


@dataclass(frozen=True)
class UnitRanker:
    """Rank the raw units of Level 2 by their own text, without Level 1 (Table 2)."""

    top_k: int

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:  # noqa: ARG002 - asks by meaning alone
        """Yield the nearest units."""
        return best_events(matches, unit_scores(matches.index, query), self.top_k, "turn")


def unit_scores(index: ScopeIndex, query: Vectors) -> Scores:
    """Score events by their raw text: the cosine of the query with their turns' mean vector, 0 without turns."""
    scores = unscored(len(index.events))
    for position, event in enumerate(index.events.items):
        rows = [index.turns.position(turn_id) for turn_id in event.turn_ids if turn_id in index.turns]
        mean = index.turns.vectors[rows].mean(axis=0) if rows else np.zeros_like(query)
        length = float(np.linalg.norm(mean))
        scores[position] = max(float(mean @ query) / length, LEAST) if length else 0.0
    return scores


def unit_turns(index: ScopeIndex, source: Turn) -> list[Turn]:
    """Return the turns of the event that a turn belongs to, its overlap included; the turn alone without one."""
    for event in index.session_events(source.session_id):
        if source.turn_id in event.turn_ids:
            members = {*event.context_turn_ids, *event.turn_ids}
            return [turn for turn in index.session_turns(source.session_id) if turn.turn_id in members]
    return [source]
