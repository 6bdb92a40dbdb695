"""Find what bears on a message: a request, a plan or a remark, of which no word may stand in what matters to it.

A peanut allergy bears on a team lunch. What tells it is how much a statement matters in general, and how near it is in
meaning. One calibrated probability orders what people said, ends the list where a passage is no longer worth its
tokens, and gives the verdict (docs/decisions/0016). A model that selects is offered short lines: what lasts most, which
changes with every fiftieth record alone, so that a provider's prompt cache keeps it, then the nearest among the rest.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_as
from langgraph_engram.filters import Condition
from langgraph_engram.logistic import LogisticRegression, Numbers, log_odds
from langgraph_engram.prompts.rendering import clipped, day_headings, plain, quoted, speaker_name
from langgraph_engram.results import CHARACTERS_PER_TOKEN
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.passages import Candidate, approximate_tokens, format_record, sentence_before
from langgraph_engram.retrieval.pool import fit_budget
from langgraph_engram.retrieval.queries import idle_chance
from langgraph_engram.retrieval.scoring import Positions, top_positions
from langgraph_engram.retrieval.search import Found, Ranking, Search, cut
from langgraph_engram.schema import MOST_SIGNIFICANT, Evidence, Intent, Record
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import Matches, ScopeIndex
from langgraph_engram.text.keywords import is_small_talk
from langgraph_engram.text.statements import own_words

WEIGHTS_FILE = "message_weights.json"
FEATURES = ("lasts", "bearing", "cosine", "rank", "nearest", "records", "length", "idle")
"""The features of a statement, in the order of the columns; see `Statements.features`."""
POOL = 200
"""Statements that are compared: the nearest, and the nearest of those that matter."""
MATTERING = 0.05
"""Cosine for which a factor of e in the odds that a statement lasts makes up, in choosing what is compared."""
PRICE = 0.00025
"""Probability of bearing on the message that a statement needs for each token of it."""
SMALL_PRICE = 0.00012
"""The same where all that is known is small."""
SMALL_SCOPE = 300
"""Tokens of statements up to which what is known is small: only what is surely beside the point is withheld."""
IDLE_NOTE = "the message stands on its own: nothing is shown"
LEAST = 0.02
"""The least probability that a statement lasts, or a message is idle; 1 - LEAST is the highest."""
FIXED_TOKENS = 1900
"""Tokens of the fixed part."""
MOST_FIXED = 150
NEAR_TOKENS = 2200
"""Tokens of the lines behind it."""
NOTED = 0.5
"""Share of the statements that notes cover from which a model has said of most what they are good for."""
NOTED_TOKENS = (700, 1800)
"""Tokens of both parts then: the lines that matter are known."""
POINT = 0.15
"""Cosine of a line with the message for which a point of significance makes up."""
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


@dataclass(frozen=True, eq=False)
class Statements:
    """What people said in a scope, compared with one message."""

    matches: Matches
    message: str
    query: Vectors
    """The unit vector of the message."""
    bearing: Vectors
    """The same, read for what bears on it; `query` itself where the encoder cannot."""
    idle: float
    """The probability that nothing bears on it, as it reads."""

    def candidates(self) -> list[Candidate]:
        """Return the statements that are compared, with the probability that each bears on the message, best first."""
        positions = self.positions()
        if not len(positions):
            return []
        rows = self.features(positions)
        chances = LogisticRegression.load(FEATURES, __package__, WEIGHTS_FILE).probability(rows)
        return [
            Candidate("record", int(at), float(chance), {"dense": max(0.0, float(cosine))}, relevance=float(chance))
            for at, chance, cosine in sorted(
                zip(positions, chances, rows[:, FEATURES.index("cosine")], strict=True), key=lambda found: -found[1]
            )
        ]

    def said(self) -> Positions:
        """Return the positions of what people said and is so today, in the words of one sentence or few."""
        records, links = self.matches.index.records, record_links(self.matches.index)
        idle = links.is_assistant | records.is_chunk | records.column("small_talk", _is_small_talk, np.bool_)
        return np.flatnonzero(records.active & self.matches.records & ~idle)

    def positions(self) -> Positions:
        """Return the positions of the statements that are compared, nearest first."""
        said = self.said()
        cosines = self.matches.index.records.cosine_of(said, self.bearing)
        mattering = (cosines + MATTERING * self._lasts(said)).astype(np.float32)
        chosen = np.array(sorted({*top_positions(cosines, POOL), *top_positions(mattering, POOL)}), dtype=np.intp)
        return said[chosen[np.argsort(-cosines[chosen], kind="stable")]]

    def features(self, positions: Positions) -> Numbers:
        """Return the features of statements, nearest first, as an array of shape (statements, len(FEATURES)).

        - `lasts`: the log-odds that it lasts, by its significance.
        - `bearing`, `cosine`: of the message with it, by its vector for what bears on it and by its own.
        - `rank`: ln(1 + statements that are nearer).
        - `nearest`, `records`, `length`, `idle`: of all: the highest cosine, ln of the records in the scope, ln of the
          message's characters, and the log-odds that it is idle.
        """
        records = self.matches.index.records
        cosines = records.cosine_of(positions, self.bearing)
        idle = log_odds(np.array([self.idle]), LEAST)[0]
        of_all = (cosines.max(), np.log(len(records)), np.log1p(len(self.message)), idle)
        shared = np.tile(np.array(of_all), (len(positions), 1))
        plain_cosines, ranks = records.cosine_of(positions, self.query), np.log1p(np.arange(len(positions)))
        return np.column_stack([self._lasts(positions), cosines, plain_cosines, ranks, shared])

    def _lasts(self, positions: Positions) -> Numbers:
        return log_odds(self.matches.index.records.significance[positions] / MOST_SIGNIFICANT, LEAST)


def _is_small_talk(record: Record) -> bool:
    """Return whether a record is all small talk, but for the name at whom it is aimed: "Thanks, John!"."""
    return is_small_talk(re.sub(r",\s+[A-Z]\w+(?=\W*$)", "", own_words(record.content, record.speaker)))


@dataclass(frozen=True)
class MessageRetriever:
    """Search for what bears on a message, and show a line of each statement that is worth its tokens."""

    encoder: Encoder
    settings: RetrieveSettings

    def retrieve(self, index: ScopeIndex, search: Search) -> Found:
        """Return the statements that bear most on a message, within the budget; nothing for an idle one."""
        intent = search.intent
        if intent.sort == "idle" and search.stop != 0:
            return Found([], [IDLE_NOTE])
        statements = statements_for(index, intent, self.encoder, search.conditions)
        candidates, size_of = statements.candidates(), approximate_tokens(index)
        settings = self.settings
        budget = search.budget or (settings.budget if search.stop == 0 else settings.message_budget)
        price = SMALL_PRICE if sum(map(size_of, candidates)) <= SMALL_SCOPE else PRICE
        worth = [found for found in candidates if search.stop == 0 or found.relevance >= price * size_of(found)]
        shown = [format_record(index, found) for found in fit_budget(worth, budget, size_of=size_of)]
        ranking = Ranking(statements.matches, statements.query, candidates)
        return cut(search, ranking, shown, budget, settings.lasting_share, near=0)


def statements_for(
    index: ScopeIndex, intent: Intent, encoder: Encoder, conditions: Sequence[Condition] = ()
) -> Statements:
    """Return what people said in a scope, to be compared with a message."""
    query = encoder.encode([intent.anchor])[0]
    read = encode_as(encoder, "message", [intent.anchor])
    bearing = query if read is None else read[0]
    return Statements(Matches(index, conditions), intent.anchor, query, bearing, idle_chance(intent.query, encoder))


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
            line = clipped(plain(own_words(record.content, record.speaker)), LINE_CHARACTERS)
            yield heading, f"{number}: {f'{speaker_name(record.speaker)}: {line}' if names else quoted(line)}"


def make_offer(statements: Statements) -> Offer:
    """Return what is offered for a message."""
    index = statements.matches.index
    said = statements.said()
    settled = said[said < len(index.records) // RENEWED * RENEWED]
    noted = {record_id for synthesis in index.syntheses.items for record_id in synthesis.covered_record_ids}
    covered = np.isin(said, [index.records.position(record_id) for record_id in noted if record_id in index.records])
    is_noted = bool(len(said)) and float(covered.mean()) >= NOTED
    fixed_tokens, near_tokens = NOTED_TOKENS if is_noted else (FIXED_TOKENS, NEAR_TOKENS)
    worth = index.records.significance[settled] - WORTH * _tokens(index, settled)
    fixed = _fitting(index, settled[np.argsort(-worth, kind="stable")][:MOST_FIXED], fixed_tokens)
    asks = record_links(index).is_question & (index.records.significance < MATTERS)
    rest = np.setdiff1d(said[~asks[said]], fixed)
    nearness = index.records.cosine_of(rest, statements.bearing) + np.float32(POINT) * index.records.significance[rest]
    nearest = rest[np.argsort(-nearness, kind="stable")]
    unused = fixed_tokens if not len(fixed) else 0
    return Offer(index, _in_order(index, fixed), _in_order(index, _fitting(index, nearest, near_tokens + unused)))


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
