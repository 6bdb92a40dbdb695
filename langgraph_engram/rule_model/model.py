"""Answer every question without a language model: what people without a key get. It finds and quotes."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, cast

from langgraph_engram.llm.base import Answer, Capability, LLMResult, Question
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.choose_statements import ChooseStatements
from langgraph_engram.prompts.decide_update import DecideUpdate
from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import ExtractLasting, ExtractRecords
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.judge_boundary import JudgeBoundary
from langgraph_engram.prompts.list_items import ListItems
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.prompts.select_lines import SelectLines
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.prompts.track_topics import TrackTopics
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.results import UsageEntry
from langgraph_engram.rule_model import turns
from langgraph_engram.rule_model.consolidation import decide_update, extractive_narrative
from langgraph_engram.rule_model.quoting import quote
from langgraph_engram.rule_model.recall import parse_intent, reflect, select_lines, select_records

RULES: dict[type[Question[Any]], Callable[[Any], Any]] = {
    AnswerLight: quote,
    ChooseStatements: turns.choose_statements,
    DecideUpdate: decide_update,
    DescribeBoundary: turns.describe_boundary,
    ExtractFacts: turns.extract_facts,
    ExtractKeySentences: turns.extract_key_sentences,
    ExtractLasting: turns.extract_records,
    ExtractRecords: turns.extract_records,
    ExtractRelations: turns.extract_relations,
    JudgeBoundary: turns.judge_boundary,
    ListItems: quote,
    ParseIntent: parse_intent,
    Reflect: reflect,
    SelectLines: select_lines,
    SelectRecords: select_records,
    TrackTopics: turns.track_topics,
    WriteAnswer: quote,
    WriteSynthesis: extractive_narrative,
}
"""The rule for each question. A question without one is a mistake of ours, and fails at once."""


class RuleModel:
    """Answer questions by rules. Deterministic; every question of `prompts/` has its rule."""

    name = "rules"
    by_rules = True

    def __init__(self) -> None:
        self.capability = Capability()

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question. Costs no call and no token."""
        start = perf_counter()
        answer = cast(Answer, RULES[type(question)](question))
        usage = UsageEntry(node="", model=self.name, seconds=perf_counter() - start, asked=1)
        return LLMResult(answer=answer, usage=usage, by_rule=True)

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions one after the other, in order."""
        return [self.ask(question) for question in questions]
