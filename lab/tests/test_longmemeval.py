"""A run of LongMemEval writes each haystack for its own user, and asks at the question's date."""

import gzip
import json
from dataclasses import replace

import pytest

from engram_lab.benches import QuestionIntent, run_longmemeval, score_trigger
from langgraph_engram.prompts.parse_intent import ParsedIntent
from langgraph_engram.testing import FakeModel

BUDGETS = ("500", "1000", "2000", "4000", "shown")


def item(question_id, kind, question, answer, marked=True):
    """Make a haystack of two sessions, of which the first one is evidence."""
    turns = [
        {"role": "user", "content": "I bought a red canoe. It leaks."},
        {"role": "assistant", "content": "Tar it."},
    ]
    if marked:
        turns = [{**turn, "has_answer": turn["role"] == "user"} for turn in turns]
    return {
        "question_id": question_id,
        "question_type": kind,
        "question": question,
        "answer": answer,
        "question_date": "2024/03/09 (Sat) 08:00",
        "haystack_session_ids": ["answer_1", "other"],
        "haystack_dates": ["2024/03/01 (Fri) 08:00", "2024/03/02"],
        "haystack_sessions": [
            turns,
            [{"role": "user", "content": "Bees sleep at night."}, {"role": "assistant", "content": ""}],
        ],
        "answer_session_ids": ["answer_1"],
    }  # fmt: skip


@pytest.fixture
def questions_file(tmp_path):
    """Write a question with an answer, one of a preference, one without an answer, and one without a haystack."""
    path = tmp_path / "questions.json.gz"
    items = [
        item("q1", "single-session-user", "What colour is my canoe?", "red"),
        item("q2", "single-session-preference", "Any tip for my canoe?", "prefers tar", marked=False),
        item("q3_abs", "multi-session", "What did my kayak cost?", "not mentioned"),
        {"question_id": "q4", "question_type": "single-session-assistant", "question": "What did you suggest?"},
    ]
    path.write_bytes(gzip.compress(json.dumps(items).encode()))
    return path


def test_a_run_has_the_figures_that_can_be_worked_out_by_hand(questions_file, setup, opened):
    """All turns fit every budget; the answer is the best turn; rubrics are no text; the unanswerable count apart."""
    figures = run_longmemeval(questions_file, setup)

    assert figures["questions"] == 2
    assert figures["session_recall"] == figures["turn_recall"] == dict.fromkeys(BUDGETS, 1.0)
    assert figures["evidence_recall"] == figures["turn_recall"]
    assert figures["answer_token_recall"] == dict.fromkeys(BUDGETS, 1.0)
    assert figures["f1_amem"] == pytest.approx(2 / 8)
    assert figures["by_category"]["single-session-preference"]["turn_recall"]["500"] is None
    assert "multi-session" not in figures["by_category"]
    assert figures["abstention"] == {"questions": 1, "abstained": 0.0, "abstained_wrongly": 0.0}
    assert figures["assistant_trigger"] == {
        "precision": 1.0, "recall": 1.0, "f1": 1.0, "questions": 4, "positives": 1
    }  # fmt: skip
    assert [list(memory.turns) for memory in opened.values()] == [["q1"], ["q2"], ["q3_abs"]]
    assert figures["seconds"]["write_haystack"] == pytest.approx(figures["seconds"]["write"] / 3)


def test_the_model_that_reads_queries_is_measured(questions_file, setup):
    """Where a preset has its model parse queries, the trigger is the model's, asked once a haystack by its rules."""
    model = FakeModel([ParsedIntent(anchor="anything", needs_assistant=True)] * 3)

    figures = run_longmemeval(questions_file, replace(setup, intent_model=model, intent_rules="Be strict."))

    assert [question.rules for question in model.asked] == ["Be strict."] * 3
    assert figures["assistant_trigger"]["questions"] == 3
    assert figures["assistant_trigger"]["precision"] < 1


def test_the_trigger_has_precision_and_recall():
    """One of two that are read so is right, and one of three that are so is read."""
    readings = [(True, True), (False, True), (True, False), (True, False)]
    intents = [
        QuestionIntent(question_id=str(number), asks_for_assistant=asks, read_as_such=read)
        for number, (asks, read) in enumerate(readings)
    ]

    found = score_trigger(intents)

    assert (found["precision"], found["recall"], found["f1"]) == (1 / 2, 1 / 3, pytest.approx(2 / 5))
    assert score_trigger([])["f1"] is None
