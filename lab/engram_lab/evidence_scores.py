"""Score what a memory shows: which evidence turns its passages hold within a budget, and which turns it quotes.

A passage holds a turn that it cites and whose words it has; whoever cites many turns holds none. Without a language
model an answer is quotes, one a line, and counts as right where a quote is from an evidence turn.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile

from langgraph_engram.prompts.rendering import cited_numbers
from langgraph_engram.results import Recollection, count_tokens
from langgraph_engram.schema import Evidence, Frozen
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.words import STOP_WORDS, stem

BUDGETS = (500, 1000, 2000, 4000)
"""Tokens; evidence is measured at each."""
SHOWN = "shown"
"""The name, beside the budgets, of what a search shows without being given one."""
MOST_CITED = 3
"""Turns that a passage may cite and still hold each."""
LEAST_SHARE = 0.5
"""Share of a statement's content stems that a passage has to contain."""
WORD = re.compile(r"[a-z0-9]+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
ASKED = re.compile(r'asked ".*?": (?=")')
"""The question that a quoted reply answers: it is not what is quoted."""

Turns = Mapping[str, Sequence[str]]
"""What turns state, by their ids in the data set: the sentences and captions of each."""


class Passage(Frozen):
    """A passage as it is shown, and the turns it cites."""

    text: str
    turn_ids: list[str]
    """The data set's own ids; a turn that has none is cited by ours."""
    synthesis: bool = False


def to_passage(evidence: Evidence) -> Passage:
    """Return evidence as a passage with its citations; sources that come without their turn are cited all the same."""
    shown = {turn.turn_id: turn.external_id or turn.turn_id for turn in evidence.turns}
    sources = evidence.record.source_turn_ids if evidence.record else []
    cited = shown | {turn_id: turn_id for turn_id in sources if turn_id not in shown}
    return Passage(
        text=evidence.text, turn_ids=list(dict.fromkeys(cited.values())), synthesis=evidence.synthesis_id is not None
    )


def fit_budget(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """Return the longest ranked prefix whose texts together fit."""
    totals = accumulate(count_tokens(passage.text) for passage in passages)
    return [passage for passage, _ in takewhile(lambda pair: pair[1] <= budget, zip(passages, totals, strict=True))]


@lru_cache(maxsize=50_000)
def content_stems(text: str) -> frozenset[str]:
    """Return the distinct content stems: lower case, runs of a-z and 0-9, minus the stop list, Porter-stemmed."""
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS)


def statements_of(text: str, captions: Sequence[str] = ()) -> list[str]:
    """Return what a turn states: its sentences and captions, in order, without those that have no content stem."""
    statements = [*SENTENCE_END.split(text), *captions]
    return [statement.strip() for statement in statements if content_stems(statement)]


def holds(passage: Passage, turn_id: str, statements: Sequence[str]) -> bool:
    """Return whether a passage holds a turn."""
    if passage.synthesis or turn_id not in passage.turn_ids or len(passage.turn_ids) > MOST_CITED:
        return False
    contained = content_stems(passage.text)
    stated = [stems for stems in map(content_stems, statements) if stems]
    return not stated or any(len(stems & contained) >= LEAST_SHARE * len(stems) for stems in stated)


def evidence_recall(passages: Sequence[Passage], evidence: Turns) -> float | None:
    """Return the share of the evidence turns that some passage holds, in [0, 1]; None without evidence."""
    return session_recall(passages, {turn_id: {turn_id: stated} for turn_id, stated in evidence.items()})


def all_evidence_recall(passages: Sequence[Passage], evidence: Turns) -> float | None:
    """Return 1 where every evidence turn is held, else 0; None for a question without evidence."""
    recall = evidence_recall(passages, evidence)
    return None if recall is None else float(recall == 1)


def session_recall(passages: Sequence[Passage], evidence: Mapping[str, Turns]) -> float | None:
    """Return the share of the evidence sessions of which some passage holds a turn, in [0, 1]; None without any."""
    if not evidence:
        return None
    held = [
        any(holds(passage, turn_id, stated) for turn_id, stated in turns.items() for passage in passages)
        for turns in evidence.values()
    ]
    return sum(held) / len(held)


def answer_token_recall(passages: Sequence[Passage], gold: str) -> float | None:
    """Return the share of the gold answer's distinct content stems that the passages have; None where it has none."""
    wanted = content_stems(gold)
    if not wanted:
        return None
    shown = frozenset().union(*(content_stems(passage.text) for passage in passages))
    return len(wanted & shown) / len(wanted)


def quoted_turns(recollection: Recollection) -> list[list[str]]:
    """Return for each quote of an answer the turns that it is from, by the data set's ids; empty for other answers."""
    if not recollection.quoted:
        return []
    return [_turns_of(line, recollection) for line in (recollection.answer or "").splitlines()]


def quote_recall(quotes: Sequence[Sequence[str]] | None, evidence: Collection[str], most: int) -> float | None:
    """Return 1 where one of the first quotes is from an evidence turn, else 0; None for a question without evidence."""
    return float(any(turn in evidence for quote in (quotes or ())[:most] for turn in quote)) if evidence else None


def _turns_of(line: str, recollection: Recollection) -> list[str]:
    passages = [recollection.evidence[number - 1] for number in cited_numbers(line)]
    turns = {turn.turn_id: turn for passage in passages for turn in passage.turns}
    quoted = ASKED.sub("", line)
    return [
        turn.external_id or turn.turn_id
        for turn in turns.values()
        if any(f'"{sentence}"' in quoted for sentence in (*split_sentences(turn.text), *turn.captions))
    ]
