"""Say what is kept of each question of LongMemEval: all that its figures are computed from.

This module does not know how a line is scored.
"""

from langgraph_engram.benchmarks.asking import Told, put
from langgraph_engram.benchmarks.door import MemoryDoor
from langgraph_engram.benchmarks.longmemeval_data import ASSISTANT_TYPE, LongMemEvalQuestion
from langgraph_engram.model import Model
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.schema import Frozen


class QuestionIntent(Frozen):
    """Whether a question asks for the assistant's words, and whether it was read so."""

    question_id: str
    asks_for_assistant: bool
    read_as_such: bool


class LongMemEvalLine(Told):
    """One question, what was found for it at each budget, and what was answered."""

    question_id: str
    question_type: str
    question: str
    gold: str
    unanswerable: bool
    """Whether the right answer is that nothing of it was said."""
    evidence_sessions: dict[str, dict[str, list[str]]]
    """What the turns of each evidence session state, by session and turn id."""
    evidence_turns: list[str]
    """The turns that hold the answer."""
    intent: QuestionIntent


def read_intent(model: Model, question: LongMemEvalQuestion) -> QuestionIntent:
    """Have a query read as `search` does: by rules."""
    read = model.ask(ParseIntent(question.question, question.asked_at)).answer
    return QuestionIntent(
        question_id=question.question_id,
        asks_for_assistant=question.question_type == ASSISTANT_TYPE,
        read_as_such=read is not None and read.needs_assistant,
    )


def ask_question(memory: MemoryDoor, question: LongMemEvalQuestion, intent: QuestionIntent) -> LongMemEvalLine:
    """Ask a question of the memory that holds its haystack, under the question's id as its user."""
    return LongMemEvalLine(
        question_id=question.question_id,
        question_type=question.question_type,
        question=question.question,
        gold=question.gold,
        unanswerable=question.is_unanswerable,
        evidence_sessions=question.evidence_sessions,
        evidence_turns=question.evidence_turns,
        intent=intent,
        **dict(put(memory, question.question_id, question.question, question.asked_at)),
    )
