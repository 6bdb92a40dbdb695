"""Search for each of two things whose times a query compares, beside the query as a whole.

Both must be found, and the words of one hide the other. This module does not know how evidence is ranked.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from langgraph_engram.prompts.parse_intent import ParsedIntent
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.schema import Intent, TimeConstraint
from langgraph_engram.temporal.parse import parse_constraint
from langgraph_engram.text.questions import time_question
from langgraph_engram.text.tokens import content_stems

SAYS_ITSELF = 3
"""Content stems from which a part is searched for without what the query says of both."""


def part_intents(intent: Intent) -> list[Intent]:
    """Give for each of two compared parts what it alone asks for; none where a query compares nothing."""
    asked = time_question(intent.query)
    return [_part_intent(intent, part, asked.shared) for part in asked.parts] if asked else []


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


MOST_CHARACTERS = 20_000
"""Characters of a query that are read."""
LONGEST_WORD = 100
"""Characters of a run without white space from which on it is no word, and may be cut."""
LAST_BREAK = re.compile(r"\s\S*\Z")


def beginning(query: str) -> str:
    """Give as much of a query as is read: all of it, or its beginning up to the end of a word."""
    if len(query) <= MOST_CHARACTERS:
        return query
    last = LAST_BREAK.search(query, MOST_CHARACTERS - LONGEST_WORD, MOST_CHARACTERS + 1)
    return query[: last.start() if last else MOST_CHARACTERS].rstrip()


def cut_note(query: str) -> list[str]:
    """Say how much of a query is read, where that is not all of it."""
    read = len(beginning(query))
    if read == len(query):
        return []
    return [f"only the first {read:,} of the question's {len(query):,} characters were read"]


UNREAD = "the query could not be analysed, so its words alone are searched for"


def make_intent(query: str, parsed: ParsedIntent | None, now: datetime | None) -> Intent:
    """Turn what was read of a query into constraints; the dimension asked for constrains nothing."""
    if parsed is None:
        return Intent(query=query, anchor=query, asked_at=now)
    asked_for = parsed.answer_dimension
    return Intent(
        query=query,
        anchor=parsed.anchor or query,
        target_types=list(dict.fromkeys(parsed.target_types)),
        keywords=list(dict.fromkeys(parsed.keywords)),
        time=_time(query, parsed.time, now) if asked_for != "time" else None,
        location="" if asked_for == "location" else parsed.location,
        speakers=list(dict.fromkeys(parsed.speakers)),
        answer_dimension=asked_for,
        needs_assistant=parsed.needs_assistant,
        asked_at=now,
    )


def _time(query: str, noted: str, now: datetime | None) -> TimeConstraint | None:
    """Read the time that was noted: where the query says it, as it stands there, for its verbs tell the year."""
    asked = parse_constraint(query, now) if noted else None
    return asked if asked and asked.text == noted else parse_constraint(noted, now)
