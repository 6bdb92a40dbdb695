"""A run asks every question of categories 1 to 4, and every figure can be computed from its lines."""

import json

import pytest

from langgraph_engram.benchmarks.locomo import recompute, run_locomo
from langgraph_engram.benchmarks.locomo_data import normalise_ids, read_samples
from langgraph_engram.errors import InvalidInput, UnreadableFile

FIGURES = ("evidence_recall", "all_evidence_recall", "answer_token_recall", "f1_locomo", "f1_amem", "bleu1_amem")


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D9:1 D4:4", "D4:04"], ["D9:1", "D4:4"]),
        (["D30:05"], ["D30:5"]),
        (["D", "D:11:26", "D1:2"], ["D1:2"]),
        ([], []),
    ],
)
def test_evidence_ids_are_normalised(evidence, ids):
    """Several in one string are taken apart, zeros go, what is no id is left out, repeats count once."""
    assert normalise_ids(evidence) == ids


def test_questions_keep_their_index_and_the_evidence_that_exists(locomo_file):
    """Adversarial questions are not read; ids without a turn are dropped; answers are text."""
    first, _ = read_samples(locomo_file)

    assert [(question.index, question.category, question.gold) for question in first.questions][2:] == [
        (2, 3, "Yes; she planted"),
        (3, 4, "7"),
    ]
    assert [list(question.evidence) for question in first.questions] == [["D1:2"], ["D1:1"], [], ["D2:1", "D2:2"]]
    assert first.questions[3].evidence["D2:2"] == ["a photo of an empty barn"]


def test_a_run_has_the_figures_that_can_be_worked_out_by_hand(locomo_file, setup):
    """All turns fit every budget, so that all evidence is shown; answers are the best turn, without citations.

    Of the gold answers only "Runa, her sister" occurs: the others name a date, a yes, and a number nobody said.
    """
    figures = run_locomo(locomo_file, setup)

    assert (figures["preset"], figures["model"], figures["questions"]) == ("engram", "words", 8)
    assert figures["evidence_recall"] == dict.fromkeys(("500", "1000", "2000", "4000", "shown"), 1.0)
    assert figures["all_evidence_recall"]["500"] == 1.0
    assert 0 < figures["evidence_precision"]["shown"] < 1
    assert figures["shown_tokens"] > 0
    assert figures["answer_token_recall"]["500"] == 0.25
    assert figures["by_category"]["1"]["f1_locomo"] == pytest.approx((2 / 7 + 2 / 8) / 2)
    assert figures["by_category"]["1"]["questions"] == 2
    assert figures["by_category"]["1"]["temporal_interval"] is None
    assert figures["by_category"]["3"]["evidence_recall"]["500"] is None
    assert figures["temporal_interval"] == 0.0
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


def test_every_figure_can_be_recomputed_from_the_lines(locomo_file, setup, tmp_path):
    """The file alone gives what the run gave, and a line has the keys that are relied on."""
    figures = run_locomo(locomo_file, setup, out=tmp_path / "out")

    path = tmp_path / "out" / "questions.jsonl"
    again = recompute(path).model_dump()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {
        name: again[name] for name in (*FIGURES, "questions", "temporal_interval", "deep_ratio", "by_category")
    } == {name: figures[name] for name in (*FIGURES, "questions", "temporal_interval", "deep_ratio", "by_category")}
    assert again["read_p95"] == figures["seconds"]["read_p95"]
    assert again["read"] == figures["usage"]["read"]
    assert {"sample", "index", "category", "question", "gold", "answer", "passages"} <= lines[0].keys()
    assert (lines[0]["sample"], lines[0]["answer"]) == ("talk-1", "Lovely. My sister Runa sells cider.")
    assert lines[0]["passages"]["500"][0] == {
        "text": "Ilse: Lovely. My sister Runa sells cider.", "turn_ids": ["D1:2"], "synthesis": False
    }  # fmt: skip


def test_a_changed_line_changes_the_figures(locomo_file, setup, tmp_path):
    """The figures are computed from the lines, not copied beside them."""
    run_locomo(locomo_file, setup, out=tmp_path)
    path = tmp_path / "questions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    lines[0]["passages"]["500"] = []
    path.write_text("\n".join(json.dumps(line) for line in lines))

    figures = recompute(path)
    assert figures.evidence_recall["500"] == pytest.approx(5 / 6)
    assert figures.evidence_recall["1000"] == 1.0


def test_a_limit_writes_only_the_samples_it_needs(locomo_file, setup, opened):
    """Four questions are about the first sample alone; a fifth needs the second."""
    progress = []

    four = run_locomo(locomo_file, setup, limit=4, progress=lambda *step: progress.append(step))
    five = run_locomo(locomo_file, setup, limit=5)

    assert (four["questions"], five["questions"]) == (4, 5)
    assert [list(memory.turns) for memory in opened.values()] == [["talk-1"], ["talk-1"], ["talk-2"]]
    assert ("asking talk-1", 3, 4) in progress


def test_searches_have_the_largest_budget_and_are_warmed_up(locomo_file, setup, opened):
    """One search a sample is not timed; then one as users ask is, and one asks for all that is measured."""
    run_locomo(locomo_file, setup, limit=2)

    [memory] = opened.values()
    assert [(budget, stop) for _, _, budget, stop in memory.searches] == [
        (None, None),
        *[(None, None), (4000, 0), (None, None)] * 2,
    ]


def test_a_file_without_questions_is_refused_before_anything_is_written(locomo_file, setup, opened, tmp_path):
    """A limit of none, no questions, another file."""
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({"conversation": {}}))

    with pytest.raises(InvalidInput, match="limit 0"):
        run_locomo(locomo_file, setup, limit=0)
    with pytest.raises(UnreadableFile, match=r"bare.json: expected a list of questions at qa of sample 0"):
        run_locomo(bare, setup)
    with pytest.raises(UnreadableFile, match="No such file"):
        run_locomo(tmp_path / "none.json", setup)
    assert opened == {}
