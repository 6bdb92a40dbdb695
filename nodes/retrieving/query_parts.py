"""Search for each of two things whose times a query compares, beside the query as a whole.

Both must be found, and the words of one hide the other. This module does not know how evidence is ranked.
"""

from collections.abc import Iterable, Iterator

from langgraph_engram.language.time_questions import time_question
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.nodes.retrieving.fusion import Candidate
from langgraph_engram.schema import Intent

SAYS_ITSELF = 3
"""Content stems from which a part is searched for without what the query says of both."""


def part_intents(intent: Intent) -> list[Intent]:
    """Give for each of two compared parts what it alone asks for; none where a query compares nothing."""
    asked = time_question(intent.query)
    if asked is None or len(asked.parts) == 1:
        return []
    return [_part_intent(intent, part, asked.shared) for part in asked.parts]


def interleaved(rankings: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    """Give the candidates of several rankings by turns, best first, each once."""
    running = list(rankings)
    seen: set[tuple[str, int]] = set()
    while running:
        for ranking in list(running):
            found = next((one for one in ranking if (one.kind, one.place) not in seen), None)
            if found is None:
                running.remove(ranking)
                continue
            seen.update((found.kind, place) for place in (found.place, *found.joined))
            yield found


def _part_intent(intent: Intent, part: str, shared: str) -> Intent:
    text = part if len(content_stems(part)) >= SAYS_ITSELF else f"{part} {shared}"
    stems = set(content_stems(text))
    keywords = [one for one in intent.keywords if stems.issuperset(content_stems(one))]
    return intent.model_copy(update={"query": f"When {text}?", "anchor": text, "keywords": keywords, "time": None})
