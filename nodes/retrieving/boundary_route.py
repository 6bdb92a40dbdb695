"""Find events by how conversations turned to them: anchors, their neighbours, then summaries (ES-Mem section 3.3)."""

import numpy as np

from langgraph_engram.encoder import Vectors
from langgraph_engram.nodes.retrieving.scoring import Scores, ranks
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.scope_index import ScopeIndex


def event_scores(index: ScopeIndex, query: Vectors, settings: RetrieveSettings) -> Scores:
    """Score events from coarse to fine (ES-Mem Eq. 5-7).

    The k boundaries closest to the query are anchors; each opens a window of w events on both sides of the event it
    leads to; an event in a window scores alpha * cos(query, summary) + (1 - alpha) * the best anchor that reaches it.

    Args:
        index: A scope's memories.
        query: One unit vector of shape (d,).
        settings: k, w and alpha.

    Returns:
        One score an event, in the order of `index.events.items`; 0 for events that no anchor reaches.
    """
    events, boundaries = index.events, index.boundaries
    scores = np.zeros(len(events))
    if not len(events) or not len(boundaries):
        return scores
    order = events.order()
    place_of = {events.items[place].event_id: rank for rank, place in enumerate(order)}
    anchors = boundaries.cosine(query).astype(np.float64)
    reach = np.full(len(events), -np.inf)
    for place in ranks(anchors, settings.boundary_k):
        rank = place_of.get(boundaries.items[place].to_event_id)
        if rank is None:
            continue
        low, high = max(0, rank - settings.boundary_window), rank + settings.boundary_window + 1
        reach[low:high] = np.maximum(reach[low:high], anchors[place])
    summary = events.cosine(query).astype(np.float64)
    reached = np.isfinite(reach)
    fine = settings.boundary_alpha * summary[order] + (1 - settings.boundary_alpha) * np.where(reached, reach, 0.0)
    scores[order] = np.where(reached, np.clip(fine, 0, 1), 0.0)
    return scores
