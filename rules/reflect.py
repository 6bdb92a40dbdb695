"""Reflect without a model: what the query names and nothing found mentions is missing, and is looked for next."""

from langgraph_engram.language.tokens import content_stems, words
from langgraph_engram.prompts.reflect import Reflect, Reflection
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.rules.coverage import coverage, needed_stems


def reflect(question: Reflect) -> Reflection:
    """Call the answer complete when it exists and the pool mentions everything the query names."""
    needed = needed_stems(question.query, question.intent)
    covered = coverage(needed, question.pool)
    answered = bool(question.answer) and question.answer != UNKNOWN
    if answered and covered >= 1:
        return Reflection(complete=True)
    missing = _missing_words(question, needed)
    people = " ".join(question.intent.speakers)
    following = f"{people} {' '.join(missing)}".strip()
    asked_before = following.casefold() in {query.casefold() for query in question.asked}
    return Reflection(
        complete=answered,
        missing=", ".join(missing),
        next_query="" if answered or asked_before else following,
    )


def _missing_words(question: Reflect, needed: set[str]) -> list[str]:
    found = {stem for piece in question.pool for stem in content_stems(piece.text)}
    named = [word for word in dict.fromkeys(words(question.query)) if set(content_stems(word)) & needed]
    return [word for word in named if not set(content_stems(word)) <= found] or named
