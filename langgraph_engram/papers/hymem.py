"""What HyMem (arXiv 2602.13933) alone needs: key sentences for the light answer, whole units where it goes deep."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.extraction.extractor import View
from langgraph_engram.papers.search import best_events
from langgraph_engram.prompts.answer_light import INSUFFICIENT
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.write_answer import CITE, DATES, NEWEST, Wording
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import LEAST, unscored
from langgraph_engram.schema import Event, Evidence, Intent, Turn
from langgraph_engram.stores.index import Matches, ScopeIndex

EXHAUSTIVE = Wording(
    "Answer completely and precisely, in full sentences; where a time is relative, say to which day. "
    f"{CITE}\n{DATES} {NEWEST}",
    "Answer completely.",
    "Name every answer that the pieces allow. Where they are incomplete, infer the likeliest answer and "
    "give it rather than none.",
)
"""All that is possible, without refusing once retrieval went deep (appendix B.5)."""
LIGHT = replace(EXHAUSTIVE, concluding=INSUFFICIENT)
"""The strict light answer, where nothing goes deep (appendix B.3)."""
KEY_SENTENCES = View("key_sentence", ExtractKeySentences)
"""What is asked of a batch of turns (section 3.1, Level 1)."""


@dataclass(frozen=True)
class UnitRanker:
    """Rank the raw units of Level 2 by their own text, without Level 1 (Table 2, and the naive RAG of section 4.2)."""

    top_k: int
    encoder: Encoder

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:  # noqa: ARG002 - asks by meaning alone
        """Yield the nearest units."""
        index = matches.index
        units = [shown_turns(index, event) for event in index.events.items]
        texts = ["\n".join(turn.indexed_text for turn in turns) for turns in units]
        scores = np.clip(self.encoder.encode(texts) @ query, LEAST, 1) if texts else unscored(0)
        return best_events(matches, scores, self.top_k, "turn")


def shown_turns(index: ScopeIndex, event: Event) -> list[Turn]:
    """Return the turns of an event, its overlap included."""
    members = {*event.context_turn_ids, *event.turn_ids}
    return [turn for turn in index.session_turns(event.session_id) if turn.turn_id in members]


def unit_turns(index: ScopeIndex, passage: Evidence) -> list[Turn]:
    """Return the turns of the unit that a key sentence was drawn from, its overlap included; a unit's own as it is."""
    event = index.events.get(passage.record.event_id) if passage.record else None
    return shown_turns(index, event) if event else passage.turns
