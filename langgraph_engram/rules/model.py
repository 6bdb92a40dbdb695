"""Answer every question without a model: no key, no network, no cost. `RuleModel` is what people without a key get."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, cast

from langgraph_engram.llm.base import Answer, LLMResult, Question
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.decide_update import DecideUpdate
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.extract_events import ExtractEvents
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.judge_boundary import JudgeBoundary
from langgraph_engram.prompts.label_sentences import LabelSentences
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.prompts.track_topics import TrackTopics
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.results import UsageEntry
from langgraph_engram.rules.answer_light import answer_light
from langgraph_engram.rules.decide_update import decide_update
from langgraph_engram.rules.describe_boundary import describe_boundary
from langgraph_engram.rules.extract_events import extract_events
from langgraph_engram.rules.extract_facts import extract_facts
from langgraph_engram.rules.extract_key_sentences import extract_key_sentences
from langgraph_engram.rules.extract_records import extract_records
from langgraph_engram.rules.extract_relations import extract_relations
from langgraph_engram.rules.judge_boundary import judge_boundary
from langgraph_engram.rules.label_sentences import label_sentences
from langgraph_engram.rules.parse_intent import parse_intent
from langgraph_engram.rules.reflect import reflect
from langgraph_engram.rules.select_records import select_records
from langgraph_engram.rules.track_topics import track_topics
from langgraph_engram.rules.write_answer import write_answer
from langgraph_engram.rules.write_synthesis import write_synthesis

RULES: dict[type[Question[Any]], Callable[[Any], Any]] = {
    AnswerLight: answer_light,
    DecideUpdate: decide_update,
    DescribeBoundary: describe_boundary,
    ExtractEvents: extract_events,
    ExtractFacts: extract_facts,
    ExtractKeySentences: extract_key_sentences,
    ExtractRecords: extract_records,
    ExtractRelations: extract_relations,
    JudgeBoundary: judge_boundary,
    LabelSentences: label_sentences,
    ParseIntent: parse_intent,
    Reflect: reflect,
    SelectRecords: select_records,
    TrackTopics: track_topics,
    WriteAnswer: write_answer,
    WriteSynthesis: write_synthesis,
}
"""The rule for each question. A question without one is a mistake of ours, and fails at once."""


class RuleModel:
    """Answer questions by rules. Deterministic; every question of `prompts/` has its rule."""

    name = "rules"

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question. Costs no call and no token."""
        start = perf_counter()
        answer = cast(Answer, RULES[type(question)](question))
        return LLMResult(
            answer=answer, usage=UsageEntry(node="", model=self.name, seconds=perf_counter() - start, asked=1)
        )

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions one after the other, in order."""
        return [self.ask(question) for question in questions]
