"""Choose the user's standing statements that bear on a query, whatever its words, and list them as a profile.

All instructions bear on any request; of preferences, and of what the user is, those nearest in meaning. They are quoted
with their speaker and their day, as data: what a reader makes of them is said outside the quotes (docs/decisions/0011).
"""

from collections.abc import Sequence
from math import inf

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.prompts.rendering import plain, speaker_name
from langgraph_engram.results import Profile, count_tokens
from langgraph_engram.retrieval.passages import Candidate, format_passage
from langgraph_engram.retrieval.pool import fit_budget
from langgraph_engram.schema import STANDING, Evidence, Record
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.matches import Matches
from langgraph_engram.temporal.datetimes import epoch_seconds, format_day
from langgraph_engram.text.statements import own_words

MAX_NEAR = 3
"""Preferences and facts about the user among what bears on a query, at most."""
MIN_COSINE = 0.2
"""Minimum cosine of such a preference or fact with the query; instructions bear on any."""
MAX_QUOTED = 240
"""Characters of a statement that a profile quotes."""


def with_standing(
    matches: Matches, query: Vectors, found: Sequence[Evidence], budget: int, share: float
) -> list[Evidence]:
    """Return passages with the standing statements that bear on a query among them.

    What was found and shows one stays where it is, and is marked with the route. The others come last, and the last
    passages that show none give way to them.

    Args:
        matches: What was searched, and what of it may be found.
        query: The unit vector that was searched for.
        found: Passages that fit the budget together, best first.
        budget: Tokens of all passages together.
        share: Share of the budget for statements that no other route found; 0 for none.
    """
    wanted = _bearing_on(matches, query) if share else []
    marked = [_marked(passage, [statement for statement in wanted if _shows(passage, statement)]) for passage in found]
    unseen = [statement for statement in wanted if not any(_shows(passage, statement) for passage in found)]
    missing = fit_budget(unseen, int(share * budget))
    if not missing:
        return marked
    fixed = [passage for passage in marked if STANDING in passage.routes]
    left = budget - sum(count_tokens(passage.text) for passage in (*fixed, *missing))
    others = fit_budget([passage for passage in marked if passage not in fixed], left)
    return [*(passage for passage in marked if passage in fixed or passage in others), *missing]


def profile_of(index: ScopeIndex, budget: int) -> Profile:
    """Return the user's standing statements, instructions first, then what is newest, quoted as far as tokens allow."""
    records = [index.records.items[position] for position in index.records.standing_positions()]
    records.sort(key=lambda record: (epoch_seconds(record.mentioned_at, -inf), record.seq, record.part), reverse=True)
    records.sort(key=lambda record: record.standing != "instruction")
    lines: list[str] = []
    for record in records:
        line = _line(record)
        if count_tokens("\n".join([*lines, line])) <= budget:
            lines.append(line)
    return Profile(text="\n".join(lines), records=records)


def _bearing_on(matches: Matches, query: Vectors) -> list[Evidence]:
    """Return all instructions, then the statements of other kinds that are near, each nearest first."""
    index = matches.index
    positions = [at for at in index.records.standing_positions() if matches.records[at]]
    if not positions:
        return []
    cosines = dict(zip(positions, np.clip(index.records.cosine_of(positions, query), 0, 1).tolist(), strict=True))
    positions.sort(key=lambda position: -cosines[position])
    instructions = [place for place in positions if index.records.items[place].standing == "instruction"]
    near = [place for place in positions if place not in instructions and cosines[place] >= MIN_COSINE]
    return [
        format_passage(index, Candidate("record", position, 0.0, {STANDING: cosines[position]}))
        for position in (*instructions, *near[:MAX_NEAR])
    ]


def _shows(passage: Evidence, statement: Evidence) -> bool:
    """Return whether a passage quotes a statement, as its own or beside others."""
    record = statement.record
    return record is not None and own_words(record.content, record.speaker) in passage.text


def _marked(passage: Evidence, statements: Sequence[Evidence]) -> Evidence:
    if not statements:
        return passage
    score = max(statement.routes[STANDING] for statement in statements)
    return passage.model_copy(update={"routes": {**passage.routes, STANDING: score}})


def _line(record: Record) -> str:
    """Quote a statement on one line: its day, its speaker, its kind, and the words, which no quotation mark ends."""
    said = plain(own_words(record.content, record.speaker)).replace('"', "'")
    shown = said if len(said) <= MAX_QUOTED else f"{said[:MAX_QUOTED].rstrip()} …"
    return f'- {format_day(record.mentioned_at)}, {speaker_name(record.speaker)} ({record.standing}): "{shown}"'
