"""Judge whether a model can write records, by what it wrote, and remember it for as long as the process runs."""

from threading import Lock

from langgraph_engram.model import Asked
from langgraph_engram.nodes.extracting.packs import Pack
from langgraph_engram.prompts.extract_events import EventReading
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction

MOST_TURNS = 3
"""Turns that one record may rest on and still be about one thing."""
LEAST_SENTENCES = 8
"""Stating sentences from which an answer that leaves nearly all of them out is poor."""
LEAST_COVERED = 0.2
"""Share of the stating sentences that a usable answer covers."""
MOST_POOR = 2
"""Poor answers, without a good one, after which a model is asked to label only; one that never came counts as many."""


class WritingTrust:
    """What one model has shown so far. Safe to share between threads."""

    def __init__(self) -> None:
        """Begin with trust."""
        self._good = self._poor = 0
        self._lock = Lock()

    @property
    def is_earned(self) -> bool:
        """Say whether the model has written well."""
        return self._good > 0

    @property
    def is_lost(self) -> bool:
        """Say whether the model has only shown that it cannot write records."""
        return self._poor >= MOST_POOR and not self._good

    def note(self, pack: Pack, asked: Asked[object]) -> None:
        """Remember how an answer was, where it shows anything.

        A time-out loses the trust at once: a model too slow for one pack is too slow for the next, and each costs the
        whole time-out again.
        """
        if is_too_hard(pack, asked):
            late = asked.failure is not None and asked.failure.kind == "timeout"
            with self._lock:
                self._poor += MOST_POOR if late else 1
        elif asked.answer is not None and len(stating(pack)) >= LEAST_SENTENCES:
            with self._lock:
                self._good += 1


def is_too_hard(pack: Pack, asked: Asked[object]) -> bool:
    """Say whether a question was too much for its model: the answer is poor or has no form, or did not come in time.

    A model that could not be reached, or refused, has shown nothing.
    """
    if asked.failure:
        return asked.failure.kind in ("invalid", "timeout", "too_long")
    return is_poor(pack, sources_of(asked.answer))


def is_poor(pack: Pack, sources: list[list[int]]) -> bool:
    """Say whether drafts lump sentences together, or leave nearly all of a pack out.

    Args:
        pack: What was asked about.
        sources: The sentences that each draft cites, by number.
    """
    turn_of = {one.number: one.turn.turn_id for one in pack.sentences if one.number}
    stated = stating(pack)
    if len(stated) < LEAST_SENTENCES:
        return False
    usable = [cited for cited in sources if 1 <= len({turn_of[one] for one in cited if one in turn_of}) <= MOST_TURNS]
    covered = stated & {one for cited in usable for one in cited}
    return 2 * len(usable) < len(sources) or len(covered) < LEAST_COVERED * len(stated)


def stating(pack: Pack) -> set[int]:
    """Give the numbers of the sentences that state something."""
    return {one.number for one in pack.sentences if one.number and not one.asks}


def sources_of(answer: object) -> list[list[int]]:
    """Give the sentences that each draft of an answer cites."""
    match answer:
        case EventReading() | Extraction():
            return [draft.sources for draft in answer.records]
        case SourcedSentences():
            return [draft.sources for draft in answer.sentences]
    return []
