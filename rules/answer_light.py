"""Answer from light memory without a model, and say whether it suffices: by coverage of what the query names."""

from langgraph_engram.prompts.answer_light import AnswerLight, LightAnswer
from langgraph_engram.rules.coverage import SUFFICIENT
from langgraph_engram.rules.reading import read


def answer_light(question: AnswerLight) -> LightAnswer:
    """Give the answer that is read off the pieces, and whether it covers the query."""
    reading = read(question.query, question.intent, question.evidence)
    sufficient = reading.about and reading.coverage >= SUFFICIENT
    return LightAnswer(sufficient=sufficient, answer=reading.answer if sufficient else "")
