"""Read the answer that one sentence gives to a query. This module does not know how sentences are ranked."""

import re
from dataclasses import dataclass

from langgraph_engram.rules.answer_phrases import phrase
from langgraph_engram.rules.read_types import read_part, read_type
from langgraph_engram.rules.retell import retold, without_lead_in
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.temporal.find import find_times
from langgraph_engram.text.questions import AUXILIARY, AnswerType
from langgraph_engram.text.tokens import content_stems

DEED = re.compile(
    r"\b(?:do|does|did|doing|done)\b[^?]*\b(?:do|doing|done)\b|\b(?:is|are|was|were|been)\b[^?]*\bdoing\b|"
    r"^\W*how\s+(?:do|does|did|is|are|has|have)\b",
    re.IGNORECASE,
)
"""Queries that ask for something done."""
NOUN = re.compile(
    r"\b(?:what|which)\s+(?:(?:kinds?|types?|sorts?|styles?|forms?)\s+of\s+)?(?:[\w'’-]+\s+){0,2}?(?P<noun>[\w'’-]+)\s+"
    rf"(?:{AUXILIARY})\b",
    re.IGNORECASE,
)
BEFORE_TIME = re.compile(r"\b(?:in|on|at|by|since|during|of|from)\s+$", re.IGNORECASE)


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


def answer(wanted: Wanted, said: Utterance) -> str:
    """Give what a sentence answers: what is of the type that is asked for, else what it says that is new."""
    return typed(wanted, said) or opened(wanted, said)


def typed(wanted: Wanted, said: Utterance) -> str:
    """Give what is of the type that is asked for; empty where there is none."""
    return read_type(wanted.query, wanted.kind, said, wanted.asked)


def opened(wanted: Wanted, said: Utterance) -> str:
    """Give what a sentence says that the query does not."""
    text = read_part(wanted.query, without_times(said))
    if not content_stems(text):
        return retold(without_lead_in(said.text))
    return retold(phrase(text, wanted.asked, asked_noun(wanted.query), DEED.search(wanted.query) is not None))


def asked_noun(query: str) -> str:
    """Give the noun that a query asks for: "art" of "What kind of art does"; empty where it asks for none."""
    match = NOUN.search(query)
    return match.group("noun") if match else ""


def without_times(said: Utterance) -> str:
    """Give a sentence without the times it names; as it is where nothing else is left."""
    text = said.text
    for mention in reversed(find_times(text, said.said_at)):
        opening = BEFORE_TIME.search(text[: mention.start_char])
        text = text[: opening.start() if opening else mention.start_char] + text[mention.end_char :].lstrip(" ,")
    return text if content_stems(text) else said.text
