"""Prefer, among the records that the routes found, those that are told as the query expects it.

Routes measure what a record is about. Preferences say by whom and when it was told, whether it tells or asks, how much
it says, and whether it holds the type of answer expected. They are added up, so that they decide between records that
are about as near, and none of them lifts what is far (docs/decisions/0013).
"""

import numpy as np

from langgraph_engram.language.answer_types import answer_type
from langgraph_engram.nodes.retrieving.record_links import RecordLinks
from langgraph_engram.nodes.retrieving.scoring import Scores
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.scope_index import RecordShelf


def preferences(shelf: RecordShelf, links: RecordLinks, intent: Intent, settings: RetrieveSettings) -> Scores:
    """Add up what speaks for and against each record beside what it is about.

    Returns:
        n scores on the scale of the weighted fusion; below 0 for records that rather ask or show than tell.
    """
    expected = answer_type(intent.query)
    weight = settings.content_weight if expected in ("content", "advice") else settings.answer_weight
    holds = links.holds.get(expected)
    return np.asarray(
        settings.speaker_weight * np.isin(links.speaker, intent.speakers)
        + settings.told_then_weight * told_then(shelf, intent)
        + (weight * holds if holds is not None else 0.0)
        + settings.length_weight * links.length
        - settings.question_weight * links.asks
        - settings.image_weight * links.shows
        - settings.voice_weight * (links.assistant & (not intent.needs_assistant))
    )


def told_then(shelf: RecordShelf, intent: Intent) -> Scores:
    """Give 1 to records that were told within the time that a query is about, 0 to the others.

    A time that is open on one side, as in "since May", prefers nothing.
    """
    if not intent.time or not intent.time.start or not intent.time.end:
        return np.zeros(len(shelf))
    with np.errstate(invalid="ignore"):
        after = shelf.told_on_clock >= intent.time.start.timestamp()
        before = shelf.told_on_clock <= intent.time.end.timestamp()
    return (after & before).astype(np.float64)
