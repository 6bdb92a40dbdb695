"""Read as ES-Mem does: the K events that score highest by their boundaries and summaries (section 3.3, Eq. 5-7)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.paper_settings import EsMemSettings
from langgraph_engram.papers.search import best_events
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import LEAST, event_scores
from langgraph_engram.schema import Intent
from langgraph_engram.stores.matches import Matches


@dataclass(frozen=True)
class EsMemRanker:
    """Rank events by their anchors and their summaries; by these alone where no boundary is an anchor (Figure 3)."""

    numbers: EsMemSettings

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:  # noqa: ARG002 - asks by meaning alone
        """Yield the best K events."""
        index, numbers = matches.index, self.numbers
        if numbers.boundary_k:
            scores = event_scores(index, query, numbers.boundary_k, numbers.boundary_window, numbers.boundary_alpha)
        else:
            scores = np.clip(index.events.cosine(query), LEAST, 1)
        return best_events(matches, scores, numbers.top_k, "boundary")
