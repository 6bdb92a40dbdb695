"""Give one example of each question, made of a short conversation of two people."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from langgraph_engram.llm.base import Question
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
from langgraph_engram.prompts.rendering import quoted
from langgraph_engram.prompts.select_lines import SelectLines
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.prompts.track_topics import TrackTopics
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.schema import Evidence, Intent, Turn
from tests.conftest import NOON, make_record, make_turn

SAID = (
    ("Ana", "I went camping by the lake yesterday.", []),
    ("Ben", "Lovely! Was it cold?", ["a red tent under pines"]),
    ("Ana", "No. By the way, my sister Runa moved to Oslo.", []),
)


Said = tuple[tuple[str, str, list[str]], ...]


def turns_of(said: Said, said_at: datetime | None) -> tuple[Turn, ...]:
    return tuple(
        make_turn(seq, text, speaker=speaker, captions=captions, said_at=said_at and said_at + timedelta(days=seq // 2))
        for seq, (speaker, text, captions) in enumerate(said)
    )


def questions_about(said: Said, query: str, said_at: datetime | None = NOON) -> dict[str, Question[Any]]:
    """Give one question of each kind about what was said, by name."""
    turns = turns_of(said, said_at)
    records = tuple(
        make_record(turn.seq, f"{turn.speaker}: {turn.text}", mentioned_at=turn.said_at, speaker=turn.speaker)
        for turn in turns
    )
    evidence = tuple(
        Evidence(evidence_id=record.record_id, text=record.content, record=record, turns=[turn])
        for record, turn in zip(records, turns, strict=True)
    )
    intent = Intent(query=query, anchor=query)
    summary = said[0][1]
    lines = tuple(f"{number}: {quoted(turn.text)}" for number, turn in enumerate(turns, start=1))
    questions: list[Question[Any]] = [
        AnswerLight(query, intent, evidence, NOON),
        ChooseStatements((turns[:2], turns[2:]), 5, ("home city",), ("model kits",)),
        DecideUpdate((records[:2], records[1:])),
        DescribeBoundary(
            "session_break", summary, said[-1][1], turns[:2], turns[2:], "3 days", ("camping", "lake"), ("Oslo",)
        ),
        ExtractFacts(turns[1:], turns[:1]),
        ExtractKeySentences(turns[1:], turns[:1]),
        ExtractLasting(turns[1:], turns[:1]),
        ExtractRecords(turns[1:], turns[:1]),
        ExtractRelations(turns[1:], turns[:1]),
        JudgeBoundary(turns[:2], turns[2:]),
        ParseIntent(query, NOON, tuple(dict.fromkeys(turn.speaker for turn in turns))),
        ListItems(query, intent.model_copy(update={"breadth": "list"}), evidence, NOON),
        Reflect(query, intent, "By the lake [1].", evidence, (query,)),
        SelectLines(lines[:1], lines[1:], query, (summary,), NOON),
        SelectRecords(query, intent, evidence),
        TrackTopics(turns[1], turns[:1], summary),
        WriteAnswer(query, intent, evidence, NOON),
        WriteSynthesis(records[1:], records[:1]),
    ]
    return {question.name: question for question in questions}


@pytest.fixture
def questions() -> dict[str, Question[Any]]:
    return questions_about(SAID, "Where did Ana camp in May?")
