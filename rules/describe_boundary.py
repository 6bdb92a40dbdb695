"""Describe a boundary without a model: what ended, what began, and the time between."""

from langgraph_engram.prompts.describe_boundary import DescribeBoundary, tell_plainly


def describe_boundary(question: DescribeBoundary) -> str:
    """Give one sentence made of the two summaries."""
    return tell_plainly(question)
