"""Define what a search is asked and what it returns, and end one: within its budget, with its notes.

What the user said that lasts and bears on a query comes with any result, whatever its words: all instructions, and of
the other kinds those nearest in meaning, quoted as data (docs/decisions/0011).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.filters import Condition
from langgraph_engram.prompts.rendering import dated
from langgraph_engram.retrieval.passages import Candidate, as_passage
from langgraph_engram.retrieval.pool import fit_budget, passage_tokens
from langgraph_engram.schema import LASTING, Evidence, Intent
from langgraph_engram.stores.index import Matches, ScopeIndex
from langgraph_engram.text.statements import own_words
from langgraph_engram.text.words import words

MAX_NEAR = 3
"""Statements other than instructions among what bears on a query, at most."""
MIN_COSINE = 0.2
"""Minimum cosine of such a statement with the query; instructions bear on any."""


@dataclass(frozen=True)
class Search:
    """One search of the memories of a scope, for its own sake or for an answer."""

    intent: Intent
    mode: Literal["search", "recall"] = "search"
    budget: int | None = None
    """Tokens of evidence at most; None for the settings' own."""
    stop: float | None = None
    """Strength at which a list ends; None for the settings' own."""
    limit: int | None = None
    conditions: Sequence[Condition] = ()
    read: frozenset[str] = frozenset()
    """Evidence ids of the lines that were read before: the whole is read on behind them."""


class Found(NamedTuple):
    """Passages, best first, and a note of each lack."""

    evidence: list[Evidence]
    notes: list[str]
    more: int = 0
    """How many passages were found beyond those, for the whole."""


class Retriever(Protocol):
    """Find passages in the memories of a scope, without asking a model."""

    def retrieve(self, index: ScopeIndex, search: Search) -> Found:
        """Return what is found, within the budget."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """What was found and compared with the query, best first, before it is formatted."""

    matches: Matches
    query: Vectors
    """The unit vector that was searched for."""
    pool: Sequence[Candidate]
    empty: Sequence[str] = ()
    """Routes without data."""


def stop_of(search: Search, own: float) -> float:
    """Return the strength at which a list ends; 0 for no end: the readers of a recall have limits of their own."""
    if search.mode == "recall":
        return 0.0
    return own if search.stop is None else search.stop


def cut(
    search: Search, ranking: Ranking, shown: list[Evidence], budget: int, lasting_share: float, near: int = MAX_NEAR
) -> Found:
    """Return what is shown of a pool, as far as it fits the budget, and what lasts and bears on the query."""
    fitting = fit_budget(shown, budget)
    evidence = with_lasting(ranking.matches, ranking.query, fitting, budget, lasting_share, near)
    notes = [f"the route {name!r} has no data here" for name in ranking.empty]
    if search.conditions and not ranking.pool:
        notes.append("nothing that was found fulfils the filters")
    if ranking.pool and not shown:
        notes.append("nothing that was found is relevant enough to be shown")
    elif shown and not fitting:
        least = min(map(passage_tokens, shown))
        notes.append(f"no passage fits the budget of {budget:,} tokens: the smallest takes {least:,}")
    return Found((distinct_statements(evidence) if lasting_share else evidence)[: search.limit], notes)


def with_lasting(
    matches: Matches, query: Vectors, found: Sequence[Evidence], budget: int, share: float, near: int = MAX_NEAR
) -> list[Evidence]:
    """Return passages that fit a budget of tokens with what lasts and bears on a query among them.

    What was found and shows a statement stays where it is, whole, and is marked with the route. The others come last,
    as far as they take a share of the budget at most, and the last passages that show none give way to them.
    """
    wanted = _bearing_on(matches, query, near) if share else []
    marked = [_marked(passage, [statement for statement in wanted if _shows(passage, statement)]) for passage in found]
    unseen = [statement for statement in wanted if not any(_shows(passage, statement) for passage in found)]
    missing = fit_budget(unseen, int(share * budget))
    if not missing:
        return marked
    fixed = [passage for passage in marked if LASTING in passage.routes]
    left = budget - sum(map(passage_tokens, (*fixed, *missing)))
    others = fit_budget([passage for passage in marked if passage not in fixed], left)
    whole = {statement.evidence_id: statement for statement in missing}
    kept = [passage for passage in marked if passage in fixed or passage in others]
    placed = [
        passage.model_copy(update={"text": full.text, "routes": {**passage.routes, **full.routes}})
        if (full := whole.pop(passage.evidence_id, None))
        else passage
        for passage in kept
    ]
    return [*placed, *whole.values()]


def _bearing_on(matches: Matches, query: Vectors, most_near: int) -> list[Evidence]:
    """Return all instructions, then the statements of other kinds that are near, each nearest first."""
    index = matches.index
    positions = [at for at in index.records.lasting_positions() if matches.records[at]]
    if not positions:
        return []
    cosines = dict(zip(positions, np.clip(index.records.cosine_of(positions, query), 0, 1).tolist(), strict=True))
    positions.sort(key=lambda position: -cosines[position])
    instructions = [place for place in positions if index.records.items[place].lasting == "instruction"]
    near = [place for place in positions if place not in instructions and cosines[place] >= MIN_COSINE]
    return [
        as_passage(index, Candidate("record", position, 0.0, {LASTING: cosines[position]}))
        for position in (*instructions, *near[:most_near])
    ]


def distinct_statements(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return passages, of those that show what lasts in the same words, on whatever day, the first."""
    shown: dict[str, Evidence] = {}
    for passage in evidence:
        record = passage.record if passage.record and passage.record.lasting else None
        text = passage.text.removeprefix(dated("", record.mentioned_at)) if record else passage.evidence_id
        shown.setdefault(" ".join(words(text)), passage)
    return list(shown.values())


def _shows(passage: Evidence, statement: Evidence) -> bool:
    """Return whether a passage quotes a statement, as its own or beside others."""
    record = statement.record
    return record is not None and own_words(record.content, record.speaker) in passage.text


def _marked(passage: Evidence, statements: Sequence[Evidence]) -> Evidence:
    if not statements:
        return passage
    score = max(statement.routes[LASTING] for statement in statements)
    return passage.model_copy(update={"routes": {**passage.routes, LASTING: score}})
