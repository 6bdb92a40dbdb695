"""A run asks every question of categories 1 to 4, and every figure can be computed from its lines."""

import json

import pytest

from engram_lab.benches import LocomoLine, locomo_figures, run_locomo
from langgraph_engram.errors import InvalidInput


def test_a_run_has_the_figures_that_can_be_worked_out_by_hand(locomo_file, setup):
    """All turns fit every budget, so that all evidence is shown; answers are the best turn, without citations.

    Of the gold answers only "Runa, her sister" occurs: the others name a date, a yes, and a number nobody said.
    """
    figures = run_locomo(locomo_file, setup)

    assert (figures["preset"], figures["model"], figures["questions"]) == ("engram", "words", 8)
    assert figures["evidence_recall"] == dict.fromkeys(("500", "1000", "2000", "4000", "shown"), 1.0)
    assert figures["all_evidence_recall"]["500"] == 1.0
    assert figures["shown_tokens"] > 0
    assert figures["answer_token_recall"]["500"] == 0.25
    assert figures["by_category"]["1"]["f1_locomo"] == pytest.approx((2 / 7 + 2 / 8) / 2)
    assert figures["by_category"]["1"]["questions"] == 2
    assert figures["by_category"]["3"]["evidence_recall"]["500"] is None
    assert figures["deep_ratio"] == 0.25
    assert figures["usage"] == {
        "write": {"calls": 4, "prompt_tokens": 60, "completion_tokens": 8, "by_node": {}},
        "read": {
            "calls": 8,
            "prompt_tokens": 160,
            "completion_tokens": 24,
            "by_node": {"judge_sufficiency": {"calls": 8, "prompt_tokens": 160, "completion_tokens": 24}},
        },
    }
    assert figures["seconds"]["recall_by_step"] == {
        "judge_sufficiency": {"p50": 1.0, "p95": 1.0},
        "write_answer": {"p50": 3.0, "p95": 3.0},
    }
    assert 0 < figures["seconds"]["read_p50"] <= figures["seconds"]["read_p95"]
    assert figures["written"] == {"stored_turns": 8, "records": 0, "quarantined": 0, "pending": 0}
    json.dumps(figures)


def test_a_limit_writes_only_the_samples_it_needs(locomo_file, setup, opened):
    """Four questions are about the first sample alone; a fifth needs the second."""
    progress = []

    four = run_locomo(locomo_file, setup, limit=4, progress=lambda *step: progress.append(step))
    five = run_locomo(locomo_file, setup, limit=5)

    assert (four["questions"], five["questions"]) == (4, 5)
    assert [list(memory.turns) for memory in opened.values()] == [["talk-1"], ["talk-1"], ["talk-2"]]
    assert ("asking talk-1", 3, 4) in progress


def test_every_figure_is_computed_from_the_lines(locomo_file, setup, tmp_path):
    """The file alone gives what the run gave, not a copy beside it; a line has the keys that are relied on."""
    figures = run_locomo(locomo_file, setup, out=tmp_path)
    lines = [LocomoLine.model_validate_json(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    found = {**lines[0].passages, "500": []}

    computed = locomo_figures(lines)
    changed = locomo_figures([lines[0].model_copy(update={"passages": found}), *lines[1:]])

    assert computed == {name: figures[name] for name in computed}
    assert changed["evidence_recall"]["500"] == pytest.approx(5 / 6)
    assert changed["evidence_recall"]["1000"] == 1.0
    assert {"sample", "index", "category", "question", "gold", "answer", "passages"} <= dict(lines[0]).keys()
    assert (lines[0].sample, lines[0].answer) == ("talk-1", "Lovely. My sister Runa sells cider.")
    assert dict(lines[0].passages["500"][0]) == {
        "text": "Ilse: Lovely. My sister Runa sells cider.", "turn_ids": ["D1:2"], "synthesis": False
    }  # fmt: skip


def test_a_file_without_questions_is_refused_before_anything_is_written(locomo_file, setup, opened):
    """A limit of none."""
    with pytest.raises(InvalidInput, match="limit 0"):
        run_locomo(locomo_file, setup, limit=0)

    assert opened == {}
