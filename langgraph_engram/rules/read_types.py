"""Read an answer of the expected type off a sentence, and tell whether it holds one.

This module does not know which sentence is right, nor how a type is told from a query.
"""

import re
from collections.abc import Set

from langgraph_engram.language.endings import asks_for_present, still_so
from langgraph_engram.rules.read_age import read_age
from langgraph_engram.rules.read_amount import read_duration, read_number
from langgraph_engram.rules.read_clauses import ASKS_FEELING, read_feeling, read_reason
from langgraph_engram.rules.read_clock import read_clock_time, read_weekday
from langgraph_engram.rules.read_doer import asks_for_doer, read_doer
from langgraph_engram.rules.read_names import read_name, read_person
from langgraph_engram.rules.read_personal_name import asks_for_personal_name, read_personal_name
from langgraph_engram.rules.read_places import read_place
from langgraph_engram.rules.read_time import name_mention, nearest_mention, read_time
from langgraph_engram.rules.read_yes_no import read_yes_no
from langgraph_engram.rules.retell import retold
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.temporal.find import find_times
from langgraph_engram.text.questions import AnswerType
from langgraph_engram.text.statements import affirmed, asks_for_denied
from langgraph_engram.text.tokens import content_stems

LIMITS = re.compile(r"\b(?:until|till|before|since)\b", re.IGNORECASE)
"""Behind a denial these tell the time from or up to which it holds: "not until June"."""
HAPPENED = re.compile(r"\b(?:did|was|were|has|have|had)\b", re.IGNORECASE)


def read_type(query: str, kind: AnswerType, one: Utterance, asked: Set[str]) -> str:
    """Give the answer of the expected type that a sentence holds, as people say it.

    Args:
        query: The question.
        kind: The type that it expects.
        one: The sentence.
        asked: Stems of the question, names included.

    Returns:
        The answer; empty where the sentence holds none, or the type is open.
    """
    if kind == "time":
        return "" if _is_denied(query, one.text, asked) else read_time(one, asked)
    if kind == "clock_time":
        return read_clock_time(read_part(query, one.text), asked) or _named_time(query, one, asked)
    if kind == "yes_no":
        return retold(read_yes_no(query, one, asked))
    return retold(_part(query, kind, one, asked))


def _named_time(query: str, one: Utterance, asked: Set[str]) -> str:
    """Give the time that a sentence names, for a query that asks by "what time" for what happened."""
    mentions = find_times(one.text, one.said_at) if HAPPENED.search(query) else []
    return name_mention(nearest_mention(one.text, mentions, asked), one.said_at) if mentions else ""


def holds_type(query: str, kind: AnswerType, one: Utterance, asked: Set[str]) -> bool:
    """Say whether a sentence holds an answer of the expected type; false where anything could be one."""
    if kind == "time":
        return bool(find_times(one.text, one.said_at)) or bool(one.record and one.record.event_start)
    return kind != "yes_no" and bool(_part(query, kind, one, asked))


def read_part(query: str, text: str) -> str:
    """Give what of a sentence is read for a query: what it affirms, unless what is not so is asked for.

    Where it is asked for what is so now, what was so and is over is left out.
    """
    if asks_for_denied(query):
        return text
    return still_so(affirmed(text)) if asks_for_present(query) else affirmed(text)


def _is_denied(query: str, text: str, asked: Set[str]) -> bool:
    """Say whether a sentence denies all that it says of what is asked: what did not happen has no time."""
    if LIMITS.search(text):
        return False
    said = asked & set(content_stems(text))
    return bool(said) and said.isdisjoint(content_stems(read_part(query, text)))


def _part(query: str, kind: AnswerType, one: Utterance, asked: Set[str]) -> str:
    text = read_part(query, one.text)
    match kind:
        case "clock_time":
            return read_clock_time(text, asked)
        case "weekday":
            return read_weekday(one, text, asked)
        case "age":
            return read_age(text, asked)
        case "duration":
            return read_duration(text)
        case "number":
            return read_number(query, text)
        case "place":
            return read_place(query, text, asked)
        case "person":
            doer = read_doer(query, one, text, asked) if asks_for_doer(query) else ""
            return doer or read_person(text, asked)
        case "name":
            personal = asks_for_personal_name(query)
            return read_personal_name(query, one, text, asked) if personal else read_name(text, asked)
        case "reason":
            return read_reason(text)
    return read_feeling(text) if ASKS_FEELING.search(query) else ""
