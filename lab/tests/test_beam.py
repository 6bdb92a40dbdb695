"""A run of BEAM writes each chat for its own user, asks by ability, and its answers are judged by their rubrics."""

import gzip
import json

import pytest

from engram_lab.benches import run_beam
from engram_lab.judge import run_judge
from engram_lab.judge_protocols import RubricScores
from langgraph_engram.testing import FakeModel

BUDGETS = ("500", "1000", "2000", "4000", "8000")


def chat(chat_id):
    """Make a chat of two batches, with a question of three abilities."""
    first = [
        {"role": "user", "id": 0, "content": "My canoe leaks at the bow. ->-> 1,1", "time_anchor": "March-15-2024"},
        {"role": "assistant", "id": 1, "content": "Tar it."},
    ]
    second = [
        {"role": "user", "id": 2, "content": "The canoe is dry now.", "time_anchor": "April-02-2024"},
        {"role": "assistant", "id": 3, "content": " "},
    ]
    return {
        "chat_id": chat_id,
        "chat": [{"batch_number": 1, "turns": [first]}, {"batch_number": 2, "turns": [second]}],
        "probing_questions": {
            "knowledge_update": [
                {
                    "question": "Is my canoe dry?",
                    "answer": "Yes",
                    "rubric": ["says that it is dry", "says that it leaked"],
                    "source_chat_ids": {"original_info": [0], "updated_info": [[2], 99]},
                }
            ],
            "information_extraction": [
                {"question": "What leaks?", "answer": "The canoe", "rubric": ["the canoe"], "source_chat_ids": [0]}
            ],
            "abstention": [{"question": "What did it cost?", "ideal_response": "Unknown", "rubric": ["declines"]}],
        },
    }


@pytest.fixture
def beam_file(tmp_path):
    """Write two chats."""
    path = tmp_path / "chats.json.gz"
    path.write_bytes(gzip.compress(json.dumps([chat("a"), chat("b")]).encode()))
    return path


def test_a_run_has_the_figures_that_can_be_worked_out_by_hand(beam_file, setup, opened, tmp_path):
    """All messages fit every budget; a question without sources has no recall; the run is taken up where it was."""
    out = tmp_path / "run"

    figures = run_beam(beam_file, setup, out=out)

    assert figures["questions"] == 6
    assert figures["source_recall"] == dict.fromkeys((*BUDGETS, "shown"), 1.0)
    assert figures["by_category"]["abstention"]["source_recall"]["500"] is None
    assert figures["written"]["messages"] == 6
    assert {user for memory in opened.values() for user, *_ in memory.searches} == {"a", "b"}
    assert run_beam(beam_file, setup, out=out)["resumed"] == 6
    assert run_beam(beam_file, setup, limit=1)["questions"] == 3


def test_answers_are_judged_point_by_point(beam_file, setup, tmp_path):
    """The score of an answer is the mean over its rubric; as many scores as points, or it counts as failed."""
    out = tmp_path / "run"
    run_beam(beam_file, setup, limit=1, out=out)
    scores = [RubricScores(scores=["1", "0.5"]), RubricScores(scores=["1", "1"]), RubricScores(scores=["0"])]

    figures = run_judge(out, FakeModel(scores), "beam")

    assert (figures["questions"], figures["correct"], figures["failed"]) == (3, 0, 1)
    assert figures["accuracy"] == pytest.approx((0.75 + 0) / 2)
    assert figures["by_category"]["knowledge_update"]["accuracy"] == 0.75
    again = run_judge(out, FakeModel([RubricScores(scores=["1"])]), "beam")
    assert (again["failed"], again["correct"], again["resumed"]) == (0, 1, 3)
