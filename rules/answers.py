"""Tell the answers that ranked sentences give: one, several where several things are asked for, or what was so before.

Of sentences that answer nearly as well the newest holds. What a newer record superseded answers a query for the past,
or for what it says besides and no other sentence does. This module does not know how sentences are ranked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.language.answer_types import AUXILIARY, AnswerType, asks_for_past, asks_for_several
from langgraph_engram.language.attributes import attribute_of
from langgraph_engram.language.times import find_times
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.rules.answer_phrases import phrase, says_new
from langgraph_engram.rules.choose_sentence import Ranked
from langgraph_engram.rules.read_types import read_type
from langgraph_engram.rules.retell import retold
from langgraph_engram.rules.utterances import Utterance

DEED = re.compile(
    r"\b(?:do|does|did|doing|done)\b[^?]*\b(?:do|doing|done)\b|\b(?:is|are|was|were|been)\b[^?]*\bdoing\b|"
    r"^\W*how\s+(?:do|does|did|is|are|has|have)\b",
    re.IGNORECASE,
)
"""Queries that ask for something done."""
PLANNED = re.compile(r"^\W*(?:when|what\s+\w+)\s+(?:is|are|will)\b|\bnow\b", re.IGNORECASE)
"""Queries for the time of what is still to come."""
NOUN = re.compile(
    r"\b(?:what|which)\s+(?:(?:kinds?|types?|sorts?|styles?|forms?)\s+of\s+)?(?:[\w'’-]+\s+){0,2}?(?P<noun>[\w'’-]+)\s+"
    rf"(?:{AUXILIARY})\b",
    re.IGNORECASE,
)
BEFORE_TIME = re.compile(r"\b(?:in|on|at|by|since|during|of|from)\s+$", re.IGNORECASE)
NO_LONGER = "no longer so"
MOST = 5
"""Answers of a list, at most."""
CLOSE = 0.75
"""Share of the best score from which a sentence joins a list, or stands in for one without the expected type."""
SAME = 0.25
"""Share of what the best sentence and its surroundings cover that another one's must cover to stand in for it."""
EQUAL = 0.88
"""Share of the best score from which a newer sentence that covers as much takes its place."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer and the sentence it is read from."""

    text: str
    said: Utterance


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a query wants."""

    query: str
    kind: AnswerType
    asked: frozenset[str]
    """Stems of the query and of the people it names."""


def answers_of(wanted: Wanted, ranked: Sequence[Ranked]) -> list[Told]:
    """Give the answers of ranked sentences, best first; at least one of at least one sentence."""
    holding = [one for one in ranked if not one.said.is_superseded]
    past = next((one for one in ranked if one.said.is_superseded and one.score >= CLOSE * ranked[0].score), None)
    if past and asks_for_past(wanted.query):
        was = Told(f"{_answer(wanted, past)} ({NO_LONGER})", past.said)
        return [was, Told(_answer(wanted, holding[0]), holding[0].said)] if holding else [was]
    if past and (beside := _told_beside(wanted, past, holding)):
        return [beside]
    ordered = holding or list(ranked)
    # What happened has its own time, whatever was told later; what is planned may have moved.
    ordered = ordered if wanted.kind == "time" and not PLANNED.search(wanted.query) else newest_first(ordered)
    near = [one for one in ordered if one.score >= CLOSE * ordered[0].score] or ordered[:1]
    if not asks_for_several(wanted.query):
        same = [one for one in near if one.context >= SAME * near[0].context]
        first = next((Told(text, one.said) for one in same if (text := _typed(wanted, one))), None)
        return [first or _first_new(wanted, same)]
    typed = [Told(text, one.said) for one in near if (text := _typed(wanted, one))]
    joined = [Told(_open(wanted, one), one.said) for one in near if (one.own or one is near[0])]
    joined = [one for one in joined if says_new(one.text, wanted.asked)] or joined[:1]
    return distinct(typed or joined)[:MOST]


def _first_new(wanted: Wanted, near: Sequence[Ranked]) -> Told:
    """Give the best phrase that says something new, else the best one."""
    told = [Told(_open(wanted, one), one.said) for one in near]
    return next((one for one in told if says_new(one.text, wanted.asked)), told[0])


def _told_beside(wanted: Wanted, past: Ranked, holding: Sequence[Ranked]) -> Told | None:
    """Read what a superseded sentence says besides what has changed, where no other covers and answers as much."""
    if any(one.score >= CLOSE * past.score and one.own >= past.own for one in holding):
        return None
    told, changed = _answer(wanted, past), attribute_of(past.said.text, past.said.speaker)
    outdated = changed and changed.value in told.casefold() and changed.value not in wanted.query.casefold()
    return None if outdated else Told(told, past.said)


def newest_first(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Put the newest of the sentences that answer as well as the best in front of it."""
    best = ranked[0]
    equal = [one for one in ranked if one.score >= EQUAL * best.score and one.own >= best.own]
    newest = max(equal, key=lambda one: (one.said.told_at, one.score), default=best)
    return [newest, *(one for one in ranked if one is not newest)]


def distinct(told: Sequence[Told]) -> list[Told]:
    """Leave out what another answer says already."""
    kept: list[Told] = []
    seen: list[set[str]] = []
    for one in told:
        stems = set(content_stems(one.text))
        if not kept or (stems and not any(stems <= known or known <= stems for known in seen)):
            kept.append(one)
            seen.append(stems)
    return kept


def asked_noun(query: str) -> str:
    """Give the noun that a query asks for: "art" of "What kind of art does"; empty where it asks for none."""
    match = NOUN.search(query)
    return match.group("noun") if match else ""


def without_times(one: Utterance) -> str:
    """Give a sentence without the times it names; as it is where nothing else is left."""
    text = one.text
    for mention in reversed(find_times(text, one.said_at)):
        opening = BEFORE_TIME.search(text[: mention.start_char])
        text = text[: opening.start() if opening else mention.start_char] + text[mention.end_char :].lstrip(" ,")
    return text if content_stems(text) else one.text


def _answer(wanted: Wanted, one: Ranked) -> str:
    return _typed(wanted, one) or _open(wanted, one)


def _typed(wanted: Wanted, one: Ranked) -> str:
    return read_type(wanted.query, wanted.kind, one.said, wanted.asked)


def _open(wanted: Wanted, one: Ranked) -> str:
    deed = DEED.search(wanted.query) is not None
    return retold(phrase(without_times(one.said), wanted.asked, asked_noun(wanted.query), deed))
