"""A reader is compared with the same model on plain turns and on those that hold the answer, question by question."""

import json
from functools import partial

import numpy as np
import pytest

from langgraph_engram.benchmarks.harness import Setup, ShownFigures
from langgraph_engram.benchmarks.locomo_data import read_samples
from langgraph_engram.benchmarks.reading import TurnReader, draw_questions, run_reading
from langgraph_engram.benchmarks.reading_figures import ReadingLine, compare, paired_difference
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Evidence, Scope


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


class FirstWords:
    """Keep the first words of each text."""

    def __init__(self, rate):
        self.rate = rate

    def compress(self, texts):
        return [" ".join(text.split()[: int(self.rate * len(text.split()))]) for text in texts]


def test_further_readers_are_shown_every_turn_or_shortened_ones(locomo_file):
    """Each turn of the conversation; the words that a compressor leaves of the turns that hold the answer."""
    model = RememberingModel()
    opened = [partial(Memory, model=name, preset="engram", encoder=HashingEncoder()) for name in ("rules", model)]

    report = run_reading(
        locomo_file, [Setup(*opened, preset="engram")], most=1, full=True, compress_rate=0.5, open_compressor=FirstWords
    )

    gold, full, compressed = (
        question.render()[-1].text for question in model.asked[-3:] if isinstance(question, WriteAnswer)
    )
    assert list(report["readers"]) == ["engram", "turns", "gold", "full", "compressed-0.5"]
    assert all(text in full for text in ("apple trees", "sells cider", "sold the orchard", "an empty barn"))
    assert "apple trees" not in gold
    assert compressed == gold.replace("Lovely. My sister Runa sells cider.", "Lovely. My sister")


def test_what_was_asked_is_not_asked_again(locomo_file, rules, tmp_path):
    """A run goes on where the one before ended, and reports all questions."""
    run_reading(locomo_file, rules("engram"), most=1, out=tmp_path / "out")
    file = tmp_path / "out" / "questions.jsonl"
    first = file.read_text()

    report = run_reading(locomo_file, rules("engram"), most=2, sample_id="talk-1", out=tmp_path / "out")

    assert file.read_text().startswith(first)
    assert len(file.read_text().splitlines()) == 6
    assert report["readers"]["gold"]["questions"] == 2


def test_a_run_goes_on_after_a_line_that_was_cut_off(locomo_file, rules, without_times, tmp_path):
    """Half a line is taken out and asked again; what splits lines elsewhere splits none here."""
    run_reading(locomo_file, rules("engram"), most=1, out=tmp_path)
    file = tmp_path / "questions.jsonl"
    first, second, third = file.read_text().splitlines()
    odd = first.replace('"answer":"', '"answer":"a\u2028\x85b ')
    file.write_text(f"{odd}\n{second}\n{third[:40]}", encoding="utf-8")

    run_reading(locomo_file, rules("engram"), most=1, out=tmp_path)

    again = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert again[:2] == [odd, second]
    assert without_times(again[2:]) == without_times([third])


def test_lines_of_another_benchmark_are_refused(locomo_file, rules, tmp_path):
    """They are not overwritten."""
    run_reading(locomo_file, rules("engram"), most=1, out=tmp_path)
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "Who sells cider?"}\n')

    with pytest.raises(UnreadableFile, match="another folder"):
        run_reading(locomo_file, rules("engram"), most=1, out=tmp_path)

    assert file.read_text() == '{"question": "Who sells cider?"}\n'


@pytest.mark.parametrize(("presets", "sample_id"), [([], None), (["engram"], "talk-9")])
def test_nothing_to_ask_is_said(locomo_file, rules, presets, sample_id):
    """No preset, or a conversation that the file does not have."""
    with pytest.raises(InvalidInput):
        run_reading(locomo_file, rules(*presets), sample_id=sample_id)


def test_questions_are_drawn_evenly_and_always_the_same(locomo_file):
    """Any first part has as many of each category, give or take one."""
    questions = read_samples(locomo_file)[0].questions

    assert [question.category for question in draw_questions(questions, 4)] == [
        1,
        2,
        4,
    ]  # the third names no turn as evidence
    assert draw_questions(questions, 2) == draw_questions(questions, 4)[:2]


def test_plain_turns_are_found_by_words_and_gold_ones_by_id(locomo_file, rules, tmp_path):
    """Within the budget, the best first."""
    sample = read_samples(locomo_file)[0]
    with open_by_rules("engram", tmp_path) as memory:
        memory.remember_sessions(sample.sessions, user_id="u")
        turns = TurnReader(memory.store, memory.model, Scope(user_id="u"))

        found = turns.search("Who sells cider?", budget=20)
        (named,) = turns.select(["D2:1"])

    assert found[0].turns[0].external_id == "D1:2"
    assert len(found) == 1
    assert "orchard" in named.text


def test_what_each_reader_takes_is_reported_by_step(locomo_file, rules):
    """Seconds of a memory's answers by step; of plain turns, which take no steps, of the answers alone."""
    report = run_reading(locomo_file, rules("engram"), most=2)

    memory, turns = (report["readers"][reader]["seconds"] for reader in ("engram", "turns"))
    assert {"parse_intent", "light_retrieve", "conclude"} <= set(memory["recall_by_step"])
    assert turns["recall_by_step"] == {}
    assert 0 < turns["recall_p50"] <= turns["recall_p95"]


def test_readers_are_compared_on_the_questions_they_share(line):
    """One better answer of two is half a point; a question that only one was asked says nothing of both."""
    lines = [
        *(line("engram", index, right=True, calls=index, deep=index == 3) for index in (1, 2, 3)),
        *(line("turns", index, right=index == 1) for index in (1, 2)),
        *(line("gold", index, right=True) for index in (1, 2)),
    ]

    figures = compare(lines).readers["engram"]

    assert (figures.over_turns.mean, figures.over_turns.pairs) == (0.5, 2)
    assert (figures.over_gold.mean, figures.over_half_way.mean) == (0.0, 0.25)
    assert (figures.questions, figures.f1_locomo, figures.calls_p50) == (3, 1.0, 2)
    assert (figures.deep_ratio, figures.light_within_two_calls) == (pytest.approx(1 / 3), 1.0)


def test_a_steady_gain_has_a_narrow_interval_above_zero():
    """Pairing takes out what the questions differ by: every one gains a tenth."""
    first = [0.0, 0.2, 0.5, 0.8, 0.9]

    difference = paired_difference(first, [score + 0.1 for score in first])

    assert (difference.mean, difference.low, difference.high) == pytest.approx((0.1, 0.1, 0.1))


def test_noise_has_an_interval_around_zero_of_the_expected_width():
    """For many independent differences it is the mean, two standard errors each way."""
    noise = np.random.default_rng(1).normal(0, 1, 400).tolist()

    difference = paired_difference([0.0] * 400, noise, resamples=4000)

    error = np.std(noise) / 20
    assert difference.pairs == 400
    assert difference.low == pytest.approx(difference.mean - 1.96 * error, abs=0.01)
    assert difference.high == pytest.approx(difference.mean + 1.96 * error, abs=0.01)


def test_the_same_seed_gives_the_same_interval():
    """A report can be repeated."""
    first, second = [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]

    assert paired_difference(first, second, seed=3) == paired_difference(first, second, seed=3)
    assert paired_difference(first, second, seed=3).mean == 0.0


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [1.0, 0.0])])
def test_runs_of_different_questions_cannot_be_compared(first, second):
    """Nothing to pair is an error, not a difference of zero."""
    with pytest.raises(ValueError, match="paired scores must be as many"):
        paired_difference(first, second)


def test_what_a_reader_was_shown_is_counted(record, turn):
    """Records, narratives and raw turns apart, so that a reader can be held against its paper."""
    evidence = [
        Evidence(evidence_id="r", text="Ana skis.", record=record(0), turns=[turn(0)]),
        Evidence(evidence_id="s", text="Ana's year in sports.", synthesis_id="s"),
        Evidence(evidence_id="e", text="Ana: I ski. Ben: So do I.", turns=[turn(1), turn(2)]),
    ]

    shown = ShownFigures.of(evidence)

    assert (shown.records, shown.syntheses, shown.raw_passages, shown.raw_turns) == (1, 1, 1, 2)
    assert shown.tokens == sum(count_tokens(passage.text) for passage in evidence)
