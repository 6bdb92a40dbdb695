"""Parse what a query asks for without a language model: by question words, names, times and cues."""

import re
from collections.abc import Mapping

from langgraph_engram.prompts.parse_intent import ParsedIntent, ParseIntent
from langgraph_engram.schema import Dimension, MemoryType
from langgraph_engram.temporal.find import parse_constraint
from langgraph_engram.text.names import proper_names
from langgraph_engram.text.questions import AnswerType, answer_type, asks_for_assistant
from langgraph_engram.text.tokens import STOP_WORDS, words

DIMENSIONS: Mapping[AnswerType, Dimension] = {
    "time": "time",
    "clock_time": "time",
    "weekday": "time",
    "place": "location",
    "reason": "reason",
}
"""The dimension that holds answers of a type."""
PURPOSE = re.compile(r"\bwhat for\b|\bfor what purpose\b|\bwhat(?:'s| is| was) the (?:purpose|goal)\b", re.IGNORECASE)
PROFILE = re.compile(
    r"\b(?:favou?rites?|likes?|loves?|enjoys?|prefers?|hobb(?:y|ies)|interests?|personality|usually|often|kind of "
    r"person|traits?|allergic|dream)\b",
    re.IGNORECASE,
)
EPISODIC = re.compile(r"\b(?:did|when|happened|went|visited|last|ago|first time|planning|plans?)\b", re.IGNORECASE)
QUESTION_WORDS = frozenset("many much long often kind type sort did happened happen would could should might".split())


def parse_intent(question: ParseIntent) -> ParsedIntent:
    """Return what the query asks for. The dimension asked for is left open as a constraint."""
    query = question.query
    dimension = DIMENSIONS.get(answer_type(query), "purpose" if PURPOSE.search(query) else "content")
    constraint = parse_constraint(query, question.now)
    return ParsedIntent(
        anchor=query.strip(),
        target_types=_types(query, dimension),
        keywords=_keywords(query),
        time=constraint.text if constraint else "",
        location="" if dimension == "location" else _location(query, question.speakers),
        speakers=[name for name in question.speakers if _names(query, name)],
        answer_dimension=dimension,
        needs_assistant=asks_for_assistant(query),
    )


def _types(query: str, dimension: Dimension) -> list[MemoryType]:
    if dimension == "time":
        return ["episodic"]
    if PROFILE.search(query):
        return ["profile", "fact"]
    return ["episodic", "fact"] if EPISODIC.search(query) else []


def _keywords(query: str) -> list[str]:
    names = proper_names(query)
    in_names = {word for name in names for word in words(name)}
    rest = (word for word in words(query) if word not in STOP_WORDS | QUESTION_WORDS | in_names)
    return list(dict.fromkeys([*names, *rest]))


def _location(query: str, speakers: tuple[str, ...]) -> str:
    people = {word for name in speakers for word in words(name)}
    for match in re.finditer(r"\b(?:in|at|near|to)\s+((?:[A-Z][\w'’-]*)(?:\s+[A-Z][\w'’-]*)*)", query):
        place = match.group(1)
        if not people & set(words(place)) and parse_constraint(match.group(), None) is None:
            return place
    return ""


def _names(query: str, speaker: str) -> bool:
    query_words = set(words(query))
    return any(word in query_words for word in words(speaker)) and speaker not in ("user", "assistant")
