"""A reader is compared with the same model on plain turns and on those that hold the answer, question by question."""

import json
from functools import partial

import pytest

from engram_lab.datasets import read_locomo
from engram_lab.harness import Setup, ShownFigures
from engram_lab.reading import ReadingLine, compare, draw_questions, run_reading
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.paper_settings import CompressedReading
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Evidence
from tests.conftest import make_record, make_turn


@pytest.fixture
def rules():
    """Memories under presets that write and read by rules."""

    def make(*presets, reader="rules"):
        return [
            Setup(*(partial(open_by_rules, preset),) * 2, preset=preset, writer="rules", reader=reader)
            for preset in presets
        ]

    return make


def open_by_rules(preset, folder):
    return Memory(folder, "rules", preset, encoder=HashingEncoder())


@pytest.fixture
def line():
    """Make a line with an answer that is right or wrong."""

    def make(reader, index, *, right, calls=1, deep=False):
        return ReadingLine(
            model="m", reader=reader, sample="s", index=index, category=4, question="q", gold="cider",
            answer="cider" if right else "milk", read={"calls": calls}, went_deep=deep,
        )  # fmt: skip

    return make


def test_every_reader_answers_the_same_questions(locomo_file, rules, tmp_path):
    """Each preset, plain turns and gold turns: a line a question and reader, and figures for each."""
    report = run_reading(locomo_file, rules("engram", "hymem"), most=3, out=tmp_path / "out")

    lines = [json.loads(line) for line in (tmp_path / "out" / "questions.jsonl").read_text().splitlines()]
    assert list(report["readers"]) == ["engram", "hymem", "turns", "gold"]
    assert {reader["questions"] for reader in report["readers"].values()} == {3}
    assert (report["sample"], len(lines)) == ("talk-1", 12)
    assert [line["category"] for line in lines] == [1] * 4 + [2] * 4 + [4] * 4


class RememberingModel(RuleModel):
    """Answer by rules, and remember what was asked."""

    def __init__(self):
        self.asked = []

    def ask(self, question):
        self.asked.append(question)
        return super().ask(question)


def test_a_further_reader_is_shown_every_turn(locomo_file):
    """Each turn of the conversation, where another sees those that hold the answer."""
    model = RememberingModel()
    opened = [partial(Memory, model=name, preset="engram", encoder=HashingEncoder()) for name in ("rules", model)]

    report = run_reading(locomo_file, [Setup(*opened, preset="engram")], most=1, full=True)

    gold, full = (question.render()[-1].text for question in model.asked[-2:] if isinstance(question, WriteAnswer))
    assert list(report["readers"]) == ["engram", "turns", "gold", "full"]
    assert all(text in full for text in ("apple trees", "sells cider", "sold the orchard", "an empty barn"))
    assert "apple trees" not in gold


def test_a_run_goes_on_with_further_conversations(locomo_file, rules, tmp_path):
    """What was asked before is not asked again, and questions of one number are told apart."""
    run_reading(locomo_file, rules("hymem"), most=2, out=tmp_path / "out")

    report = run_reading(locomo_file, rules("hymem"), conversations=2, most=2, out=tmp_path / "out")

    lines = [json.loads(line) for line in (tmp_path / "out" / "questions.jsonl").read_text().splitlines()]
    assert (report["conversations"], report["resumed"]) == (2, 8)
    assert {(line["reader"], line["sample"]) for line in lines} == {
        (reader, sample) for reader in ("hymem", "turns", "gold", "level1") for sample in ("talk-1", "talk-2")
    }
    assert report["readers"]["hymem"]["over_gold"]["pairs"] == 4


class Halves:
    """Leaves out the second half of what turns say."""

    settings = CompressedReading(compression=0.5)

    def __call__(self, turns):
        return {turn.turn_id: turn.model_copy(update={"text": turn.text[: len(turn.text) // 2]}) for turn in turns}


def test_a_further_reader_is_shown_the_answers_turns_compressed(locomo_file):
    """HyMem Figure 6: the same turns, and a part of their words."""
    model = RememberingModel()
    opened = [partial(Memory, model=name, preset="hymem", encoder=HashingEncoder()) for name in ("rules", model)]

    setup = Setup(*opened, preset="hymem")
    report = run_reading(locomo_file, [setup], most=1, compressors=[Halves()])

    gold, half, _ = [question.render()[-1].text for question in model.asked if isinstance(question, WriteAnswer)][-3:]
    assert list(report["readers"]) == ["hymem", "turns", "gold", "gold@0.5", "level1"]
    assert "Lovely. My sister Runa sells cider." in gold
    assert "Lovely. My sister" in half
    assert "cider" not in half.split("Question")[0]


def test_haystacks_are_read_whole_at_their_own_date(haystacks_file):
    """HyMem Figure 5 on LongMemEval: every turn, and figures by type of question."""
    model = RememberingModel()
    opened = [partial(Memory, model=name, preset="hymem", encoder=HashingEncoder()) for name in ("rules", model)]

    setup = Setup(*opened, preset="hymem")
    report = run_reading(haystacks_file, [setup], data="longmemeval", conversations=2, full=True)

    told = [question for question in model.asked if isinstance(question, WriteAnswer)]
    most = max(told, key=lambda question: len(question.evidence))
    assert list(report["readers"]) == ["hymem", "turns", "gold", "full", "level1"]
    assert list(report["readers"]["full"]["f1_by_category"]) == ["single-session-user"]
    assert (report["readers"]["full"]["questions"], len(most.evidence)) == (2, 2)
    assert most.now is not None


def test_hymem_is_read_from_its_own_key_sentences(locomo_file):
    """HyMem Figure 6: the answer's units, compressed by its own Level 1, read in its own wording; nothing of others."""
    model = RememberingModel()
    opened = [partial(Memory, model=name, preset="hymem", encoder=HashingEncoder()) for name in ("rules", model)]

    report = run_reading(locomo_file, [Setup(*opened, preset="hymem")], most=1)

    level1 = [question for question in model.asked if isinstance(question, WriteAnswer)][-1]
    assert list(report["readers"]) == ["hymem", "turns", "gold", "level1"]
    assert all(passage.record.kind == "key_sentence" for passage in level1.evidence)
    assert "Runa sells cider" in level1.render()[-1].text
    assert "orchard" not in level1.render()[-1].text
    assert "Name every answer that the pieces allow" in level1.render()[0].text


def test_questions_are_drawn_evenly_and_always_the_same(locomo_file):
    """Any first part has as many of each category, give or take one."""
    questions = read_locomo(locomo_file)[0].questions

    drawn = [question.category for question in draw_questions(questions, 4)]
    assert drawn == [1, 2, 4]  # the third names no turn as evidence
    assert draw_questions(questions, 2) == draw_questions(questions, 4)[:2]


def test_readers_are_compared_on_the_questions_they_share(line):
    """One better answer of two is half a point; a question that only one was asked says nothing of both."""
    lines = [
        *(line("engram", index, right=True, calls=index, deep=index == 3) for index in (1, 2, 3)),
        *(line("turns", index, right=index == 1) for index in (1, 2)),
        *(line("gold", index, right=True) for index in (1, 2)),
    ]

    figures = compare(lines)["engram"]

    means = [figures[f"over_{name}"]["mean"] for name in ("turns", "gold")]
    assert (means, figures["over_turns"]["pairs"]) == ([0.5, 0.0], 2)
    assert (figures["questions"], figures["f1_locomo"], figures["calls_p50"]) == (3, 1.0, 2)
    assert figures["deep_ratio"] == pytest.approx(1 / 3)


def test_what_a_reader_was_shown_is_counted():
    """Records, narratives and raw turns apart, so that a reader can be held against its paper."""
    evidence = [
        Evidence(evidence_id="r", text="Ana skis.", record=make_record(0), turns=[make_turn(0)]),
        Evidence(evidence_id="s", text="Ana's year in sports.", synthesis_id="s"),
        Evidence(evidence_id="e", text="Ana: I ski. Ben: So do I.", turns=[make_turn(1), make_turn(2)]),
    ]

    shown = ShownFigures.of(evidence)

    assert (shown.records, shown.syntheses, shown.raw_passages, shown.raw_turns) == (1, 1, 1, 2)
    assert shown.tokens == sum(count_tokens(passage.text) for passage in evidence)
