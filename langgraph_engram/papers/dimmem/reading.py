"""Read as DimMem does: the best k records of each route, with the assistant's replies (section 3.3, Eq. 6-8)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.papers.search import RecordRanker, as_found, quote_passage, text_scores
from langgraph_engram.prompts.answer_form import BRIEF, CITE, DATES, NEWEST, SOURCE, UNKNOWN, AnswerForm, Wording
from langgraph_engram.prompts.rendering import plain
from langgraph_engram.retrieval.passages import Candidate, reply_position, turns_of
from langgraph_engram.retrieval.scoring import Scores, dimension_parts, weighted_mean
from langgraph_engram.schema import Evidence, Intent, Record
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.stores.matches import Matches
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.tokens import words

REASONED = Wording(
    "First weigh the pieces in two or three sentences. Then write a last line that begins with "
    f'"Answer:" and holds the answer alone. On that line: {BRIEF} {CITE}\n{DATES} {NEWEST}',
    'Reason briefly, then give the line "Answer: ...".',
    f"Guess nothing that the pieces do not say. If they do not suffice, the last line is: Answer: {UNKNOWN}",
)
"""The fewest words after a short reasoning (appendix E)."""


@dataclass(frozen=True)
class DimMemRanker(RecordRanker):
    """Rank records route after route, without repeated content, as DimMem's code does."""

    numbers: DimMemSettings

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:
        """Yield the records that any route finds, each with the replies that the query asks for."""
        index = matches.index
        scores = text_scores(index, intent, query, self.routes)
        if "dimension" in self.routes:
            scores["dimension"] = constraint_scores(index.records, intent, self.numbers)
        wanted = self.numbers.assistant_replies
        wants_replies = wanted == "always" or (wanted == "asked_for" and intent.needs_assistant)
        for candidate in without_repeats(index, self.best_records(matches, scores)):
            yield with_assistant_replies(index, candidate) if wants_replies else candidate


def without_repeats(index: ScopeIndex, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield records without those that repeat another's content, whatever its case and spaces."""
    seen: set[str] = set()
    for candidate in candidates:
        content = " ".join(index.records.items[candidate.position].content.casefold().split())
        if content not in seen:
            seen.add(content)
            yield candidate


def constraint_scores(records: RecordIndex, intent: Intent, numbers: DimMemSettings) -> Scores:
    """Score n records by the constraints of a query, its keywords among them, in [0, 1] (Eq. 7)."""
    parts = dimension_parts(records, intent, unknown=0)
    if intent.keywords:
        phrase, token = keyword_scores(records.items, intent.keywords)
        parts += [(numbers.phrase_weight, phrase), (numbers.token_weight, token)]
    return weighted_mean(parts, len(records))


def with_assistant_replies(index: ScopeIndex, candidate: Candidate) -> Candidate:
    """Return a record with the assistant's reply to each turn that it cites (Eq. 8)."""
    cited = turns_of(index, candidate)
    replies = [reply for position in cited if (reply := reply_position(index, position)) >= 0]
    return candidate._replace(replies=tuple(reply for reply in dict.fromkeys(replies) if reply not in cited))


def keyword_scores(records: Sequence[Record], keywords: Sequence[str]) -> tuple[Scores, Scores]:
    """Return for each record the share of keywords found as phrases, and the share of their words found (Eq. 7).

    The location has a score of its own (Table 8).
    """
    phrases = [keyword.casefold() for keyword in keywords]
    tokens = {word for keyword in keywords for word in words(keyword)}
    texts = [
        " ".join([item.content, item.time_text, item.reason, item.purpose, *item.keywords]).casefold()
        for item in records
    ]
    phrase_shares = [sum(phrase in text for phrase in phrases) / len(phrases) for text in texts]
    token_shares = [len(tokens & set(words(text))) / len(tokens) if tokens else 0.0 for text in texts]
    return np.asarray(phrase_shares, dtype=np.float32), np.asarray(token_shares, dtype=np.float32)


def answer_form(numbers: DimMemSettings) -> AnswerForm:
    """Return how DimMem's reader is shown the records, with their dimensions unless these are taken out."""
    return AnswerForm(REASONED, with_dimensions if numbers.shows_dimensions else as_found, SOURCE)


def with_dimensions(evidence: Sequence[Evidence]) -> str:
    """Quote passages as they were found, each record with its dimensions behind it (appendix A.1)."""
    return "\n".join(
        quote_passage(number, passage) + (f" ({named})" if (named := _dimensions_of(passage.record)) else "")
        for number, passage in enumerate(evidence, start=1)
    )


def _dimensions_of(record: Record | None) -> str:
    """Name the dimensions of a record that are known: "type: episodic; time: 7 May 2023; location: Oslo"."""
    if record is None:
        return ""
    days = dict.fromkeys(format_day(moment) for moment in (record.event_start, record.event_end) if moment)
    named = {
        "type": record.memory_type or "",
        "time": " to ".join(days) or record.time_text,
        "location": record.location,
        "reason": record.reason,
        "purpose": record.purpose,
        "keywords": ", ".join(record.keywords),
    }
    return "; ".join(f"{name}: {plain(value)}" for name, value in named.items() if value)
