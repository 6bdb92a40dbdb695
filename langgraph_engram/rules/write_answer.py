"""Write the answer without a model: what is read off the evidence, or that it is not there."""

from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.rules.reading import read

PARTIAL = 0.2
"""Least share of what the query names under which nothing is told."""


def write_answer(question: WriteAnswer) -> str:
    """Give the answer with its citations, or say that it is not known."""
    reading = read(question.query, question.intent, question.evidence)
    return reading.answer if reading.about and reading.coverage >= PARTIAL else UNKNOWN
