"""Answer from light memory without a model, and say whether it suffices: by coverage of what the query names."""

from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.rules.coverage import SUFFICIENT
from langgraph_engram.rules.reading import read


def answer_light(question: AnswerLight) -> str:
    """Give the answer that is read off the pieces where it covers the query; unknown where it does not."""
    reading = read(question.query, question.intent, question.evidence)
    sufficient = reading.about and reading.coverage >= SUFFICIENT
    return reading.answer if sufficient else UNKNOWN
