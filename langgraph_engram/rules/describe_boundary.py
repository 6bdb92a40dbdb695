"""Describe a boundary without a model: what ended, what began, and the time between."""

from langgraph_engram.prompts.describe_boundary import DescribeBoundary, plain_text


def describe_boundary(question: DescribeBoundary) -> str:
    """Give one sentence made of the two summaries."""
    return plain_text(question)
