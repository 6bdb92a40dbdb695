"""Reflect without a model: what the query names and nothing found mentions is missing, and is looked for next."""

import re

from langgraph_engram.prompts.reflect import Reflect, Reflection
from langgraph_engram.prompts.rendering import cited_numbers
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.rules.coverage import SUFFICIENT, coverage, needed_stems
from langgraph_engram.rules.one_answer import asked_noun
from langgraph_engram.schema import Evidence
from langgraph_engram.text.questions import answer_type, sums_up, time_question
from langgraph_engram.text.tokens import content_stems, words

NOT_SUMMED = "what all of it comes to"
"""What is missing where one amount was found and several are asked about: without a model nothing is added up."""

NOT_ADVISED = "what to advise"
"""What is missing where advice is asked for: without a model what is known of the matter is told."""
NOT_DECIDED = "whether it is so"
"""What is missing where yes or no is asked for, and what was said bears on it alone."""
PLAIN = re.compile(r"[\w'’-]+ \[")
"""Answers that say whether it is so, or which of two things is."""


def reflect(question: Reflect) -> Reflection:
    """Call the answer complete when the pieces it cites mention most of what the query names.

    An answer that rests on less is told with what its pieces do not mention; nothing more is looked for.
    """
    needed = needed_stems(question.query, question.intent)
    # The kind of thing that is asked for is seldom named beside it: a greyhound, not a greyhound dog.
    needed = needed - set(content_stems(asked_noun(question.query))) or needed
    answered = bool(question.answer) and question.answer != UNKNOWN
    if answered and sums_up(question.query) and not _is_summed(question):
        return Reflection(complete=False, missing=NOT_SUMMED)
    kind = answer_type(question.query)
    if answered and kind == "advice":
        return Reflection(complete=False, missing=NOT_ADVISED)
    if answered and kind == "yes_no" and not PLAIN.match(question.answer):
        return Reflection(complete=False, missing=NOT_DECIDED)
    if answered and coverage(needed, _cited(question)) >= SUFFICIENT:
        return Reflection(complete=True)
    missing = _missing_words(question, needed)
    people = " ".join(question.intent.speakers)
    following = f"{people} {' '.join(missing)}".strip()
    asked_before = following.casefold() in {query.casefold() for query in question.asked}
    return Reflection(
        complete=False,
        missing=", ".join(missing),
        next_query="" if answered or asked_before else following,
    )


def _is_summed(question: Reflect) -> bool:
    """Say whether an answer is counted from several pieces, or one piece says what it all comes to."""
    cited = _cited(question)
    return time_question(question.query) is not None or any(sums_up(piece.text) for piece in cited)


def _cited(question: Reflect) -> list[Evidence]:
    """Give the pieces that the answer cites; all of the pool where it cites none."""
    numbers = set(cited_numbers(question.answer))
    return [piece for number, piece in enumerate(question.pool, 1) if number in numbers] or list(question.pool)


def _missing_words(question: Reflect, needed: set[str]) -> list[str]:
    pieces = _cited(question) if question.answer else question.pool
    found = {stem for piece in pieces for stem in content_stems(piece.text)}
    named = [word for word in dict.fromkeys(words(question.query)) if set(content_stems(word)) & needed]
    return [word for word in named if not set(content_stems(word)) <= found] or named
