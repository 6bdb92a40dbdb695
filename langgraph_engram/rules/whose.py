"""Tell whose a sentence is: of "I'm allergic to cats", said by Ana, nothing is known of Ben.

English, by pronouns, relatives and names at the start of a sentence. This module does not know what is read.
"""

import re
from collections.abc import Sequence

from langgraph_engram.rules.coverage import mentions
from langgraph_engram.rules.read_personal_name import PERSONAL
from langgraph_engram.rules.retell import without_lead_in
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.text.names import NOT_NAMES
from langgraph_engram.text.questions import AnswerType
from langgraph_engram.text.statements import DID, speaks_of_self, speaks_of_self_alone
from langgraph_engram.text.tokens import content_stems

OF_ONE: frozenset[AnswerType] = frozenset({"yes_no", "age"})
"""Types that are so of one person, and may not be of those around."""
VERB = rf"(?={DID}\b|(?:is|are|has|have|can|will|does|just|also|still|now)\b)"
SUBJECT = re.compile(
    rf"(?:(?P<pronoun>he|she|it|they)\b|(?:my|our)\s+(?P<relative>(?:\w+\s+)?{PERSONAL})\s+{VERB}|"
    rf"(?-i:(?P<name>[A-Z][\w’-]*))\s+{VERB})",
    re.IGNORECASE,
)
"""Whom a sentence begins with, in the third person."""
FIRST_PERSON_SUBJECT = re.compile(r"\bI\b")
THIRD_PERSON = re.compile(r"\b(?:he|she|it|they)\b", re.IGNORECASE)


def is_of_another(one: Utterance, query: str, kind: AnswerType, people: Sequence[str]) -> bool:
    """Say whether a sentence tells of somebody else than the people whom a query names.

    Args:
        one: The sentence.
        query: The question.
        kind: The type of answer that it expects.
        people: Whom it names; none where it names nobody who takes part.
    """
    told_by_another = bool(people) and bool(one.speaker) and one.speaker not in people
    if told_by_another and speaks_of_self_alone(one.text):
        return not mentions(one.text, people)
    if kind not in OF_ONE or not _asks_of_one(query, people):
        return False
    if told_by_another:
        return not mentions(f"{one.around} {one.answers}", people) and THIRD_PERSON.search(one.text) is not None
    return _begins_with_another(one, query)


def _asks_of_one(query: str, people: Sequence[str]) -> bool:
    """Say whether a query asks about a person, and not about what or whom they have."""
    names = "|".join(["I", *(re.escape(name) for name in people)])
    return re.search(rf"\b(?:{names})\b(?!['’]s)", query) is not None


def _begins_with_another(one: Utterance, query: str) -> bool:
    """Say whether a sentence is about a relative, a pet or somebody else whom the query does not name."""
    text = without_lead_in(one.text)
    match = SUBJECT.match(text)
    if match is None:
        return THIRD_PERSON.search(text) is not None and not speaks_of_self(text)
    if FIRST_PERSON_SUBJECT.search(text, match.end()):
        return False
    named = match["relative"] or match["name"] or ""
    if named.casefold() in NOT_NAMES:
        return False
    return match["pronoun"] is not None or set(content_stems(named)).isdisjoint(content_stems(query))
