"""Offer a model the short lines of what people said, of which it names those that bear on a message.

First a fixed part, what lasts most, in order of time: it changes with every fiftieth record alone, so that a provider's
prompt cache keeps it from message to message. Then the statements nearest to the message among the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from langgraph_engram.prompts.rendering import clipped, day_headings, plain, quoted, speaker_name
from langgraph_engram.results import CHARACTERS_PER_TOKEN
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.messages import Statements
from langgraph_engram.retrieval.passages import Candidate, format_record, sentence_before
from langgraph_engram.retrieval.scoring import Positions
from langgraph_engram.schema import Evidence, Record
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.statements import own_words

FIXED_TOKENS = 1900
"""Tokens of the fixed part."""
MOST_FIXED = 150
NEAR_TOKENS = 2200
"""Tokens of the lines behind it."""
NOTED = 0.5
"""Share of the statements that notes cover from which a model has said of most what they are good for."""
NOTED_TOKENS = (500, 900)
"""Tokens of both parts then: the lines that matter are known."""
NOTED_WEIGHT = 0.05
"""Cosine for which a point of significance makes up then."""
WORTH = 0.03
"""Significance that a token of a line costs in choosing the fixed part: short lines, many of them."""
MATTERS = 0.5
"""Significance from which a question is offered: what else asks says nothing of who asks."""
RENEWED = 50
"""Records after which the fixed part is chosen again."""
LINE_CHARACTERS = 140
"""Characters of a line at most."""
NUMBER_TOKENS = 2
SELECTED = "selected"
"""The route of what a model named, in the scores of evidence."""


@dataclass(frozen=True)
class Offer:
    """The lines that are offered, numbered from 1 through both parts."""

    index: ScopeIndex
    fixed: Sequence[int]
    """Positions of records, in order of time."""
    near: Sequence[int]

    def lines(self) -> tuple[list[str], list[str]]:
        """Return the lines of both parts, the first under their days; all are in order of time."""
        first = [line for day, line in self._numbered(self.fixed, 1) for line in (*day, line)]
        return first, [line for _, line in self._numbered(self.near, 1 + len(self.fixed))]

    def record_ids(self) -> list[str]:
        """Return the ids of the records in the order of their numbers."""
        return [self.index.records.items[at].record_id for at in (*self.fixed, *self.near)]

    def evidence(self, numbers: Sequence[int]) -> list[Evidence]:
        """Return what numbers name, in their order, each once; with what stood before where it points back there."""
        offered = (*self.fixed, *self.near)
        named = [offered[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(offered)]
        return [
            format_record(
                self.index,
                Candidate("record", at, 1.0, {SELECTED: 1.0}, sentence_before(self.index, at), relevance=1.0),
            )
            for at in named
        ]

    def _numbered(self, positions: Sequence[int], first: int) -> Iterator[tuple[list[str], str]]:
        """Yield the heading of its day, where it begins one, and each line."""
        records = [self.index.records.items[at] for at in positions]
        names = len(self.index.turns.people) > 1
        headings = day_headings(record.mentioned_at for record in records)
        for number, (record, heading) in enumerate(zip(records, headings, strict=True), start=first):
            line = line_of(record)
            yield heading, f"{number}: {f'{speaker_name(record.speaker)}: {line}' if names else quoted(line)}"


def make_offer(statements: Statements) -> Offer:
    """Return what is offered for a message."""
    index = statements.index
    said = statements.said()
    settled = said[said < len(index.records) // RENEWED * RENEWED]
    covered = np.isin(said, record_links(index).narrated[0])
    is_noted = bool(len(said)) and float(covered.mean()) >= NOTED
    fixed_tokens, near_tokens = NOTED_TOKENS if is_noted else (FIXED_TOKENS, NEAR_TOKENS)
    worth = index.records.significance[settled] - WORTH * _tokens(index, settled)
    fixed = _fitting(index, settled[np.argsort(-worth, kind="stable")][:MOST_FIXED], fixed_tokens)
    asks = record_links(index).is_question & (index.records.significance < MATTERS)
    rest = np.setdiff1d(said[~asks[said]], fixed)
    weight = np.float32(NOTED_WEIGHT if is_noted else 0)
    nearness = index.records.cosine_of(rest, statements.query) + weight * index.records.significance[rest]
    nearest = rest[np.argsort(-nearness, kind="stable")]
    unused = fixed_tokens if not len(fixed) else 0
    return Offer(index, _in_order(index, fixed), _in_order(index, _fitting(index, nearest, near_tokens + unused)))


def line_of(record: Record) -> str:
    """Return the line of a record."""
    return clipped(plain(own_words(record.content, record.speaker)), LINE_CHARACTERS)


def _fitting(index: ScopeIndex, positions: Positions, budget: int) -> Positions:
    """Return the first positions whose lines fit a budget of tokens."""
    return positions[np.cumsum(_tokens(index, positions)) <= budget]


def _tokens(index: ScopeIndex, positions: Positions) -> Positions:
    """Estimate the tokens of lines, with their numbers."""
    shown = np.minimum(index.records.characters[positions], LINE_CHARACTERS)
    return np.asarray(shown // CHARACTERS_PER_TOKEN + NUMBER_TOKENS)


def _in_order(index: ScopeIndex, positions: Positions) -> list[int]:
    ranks = index.records.ranks
    return sorted(positions.tolist(), key=lambda at: int(ranks[at]))
