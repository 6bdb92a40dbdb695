"""Every question has its rule, and no text, however odd, stops one."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from langgraph_engram.rule_model.model import RULES, RuleModel
from langgraph_engram.schema import Evidence, Intent, Record, Turn

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="🏕️👩‍👩‍👧\u200d\u202e\x00\n\t .?!", max_size=20),
    st.sampled_from(
        ["", " ", "?", "...", "I", "9" * 400, "[1] [2]", "on 31 February 9999", "\ud7ff\ufffe", "İstanbul ß"]
    ),
)


def questions_about(first, second, said_at=None):
    """Return every question about two turns."""
    turns = tuple(
        Turn(turn_id=str(seq), session_id="s", seq=seq, role="user", speaker=speaker, text=text, captions=[text],
             said_at=said_at)
        for seq, (speaker, text) in enumerate((("Ana", first), (second[:20], second)))
    )  # fmt: skip
    records = tuple(
        Record(record_id=turn.turn_id, content=turn.text, speaker=turn.speaker, session_id="s", event_id="e",
               seq=turn.seq, source_turn_ids=[turn.turn_id], mentioned_at=said_at)
        for turn in turns
    )  # fmt: skip
    evidence = tuple(Evidence(evidence_id=record.record_id, text=record.content, record=record) for record in records)
    intent = Intent(query=second, anchor=second, speakers=["Ana"])
    return [
        AnswerLight(second, intent, evidence, said_at),
        DecideUpdate((records,)),
        DescribeBoundary("topic", first, second, turns[:1], turns[1:]),
        ExtractEvents(turns, (), (0, 1)),
        ExtractFacts(turns[1:], turns[:1]),
        ExtractKeySentences(turns),
        ExtractRecords(turns),
        ExtractRelations(turns),
        JudgeBoundary(turns[:1], turns[1:]),
        LabelSentences(turns[1:], turns[:1]),
        ParseIntent(second, said_at, (first, "Ana")),
        Reflect(second, intent, first, evidence, (first,)),
        SelectRecords(second, intent, evidence),
        TrackTopics(turns[1:], turns[:1], first),
        WriteAnswer(second, intent, evidence),
        WriteSynthesis(records, records),
    ]


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, TEXTS, st.sampled_from([None, datetime(2023, 5, 8, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]))
def test_no_text_stops_a_rule(first, second, said_at):
    """Whatever was said, each question gets an answer of its type, at no cost."""
    results = RuleModel().ask_all(questions := questions_about(first, second, said_at))

    assert {type(question) for question in questions} == set(RULES)
    for question, result in zip(questions, results, strict=True):
        assert isinstance(result.answer, question.answer_type())
        assert (result.failure, result.usage.calls, result.usage.prompt_tokens) == (None, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "I went to the lake with Tom last week because it was warm. " * 340,
        "word " * 4_000,
        "a" * 20_000,
        "?" * 20_000,
        "Ana " * 5_000,
        "1 " * 10_000,
        "😀" * 20_000,
    ],
    ids=["prose", "words", "letter", "marks", "names", "numbers", "emoji"],
)
@pytest.mark.timeout(20)
def test_a_very_long_turn_is_read_in_time(text):
    """Twenty thousand characters take seconds at most: no pattern of ours runs away."""
    results = RuleModel().ask_all(questions_about(text[:20_000], "Why?", datetime(2023, 5, 8, tzinfo=UTC)))

    assert all(result.answer is not None for result in results)
