"""Tell what was just remembered without a model: its most central sentences, in order of time."""

from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.text.keywords import extractive_narrative


def write_synthesis(question: WriteSynthesis) -> str:
    """Give the sentences whose words recur most, those of earlier events first, under their days."""
    return extractive_narrative(question.buffer, question.history, question.most_words)
