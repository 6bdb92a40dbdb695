"""Describe a boundary without a model: what ended, what began, and the time between."""

from langgraph_engram.prompts.describe_boundary import DescribeBoundary


def describe_boundary(question: DescribeBoundary) -> str:
    """Give one sentence made of the two summaries."""
    who = question.first_turns[0].speaker if question.first_turns else "Somebody"
    later = question.later_summary or "something new"
    if question.kind == "opening":
        return f"The conversation opens with {who} on {later}."
    if question.kind == "session_break":
        after = f" {question.gap} later" if question.gap else ""
        return f"A new conversation begins{after}: after {question.earlier_summary}, {who} speaks of {later}."
    return f"After {question.earlier_summary or 'another subject'}, {who} moves on to {later}."
