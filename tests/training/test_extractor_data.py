"""Recordings of an extractor become fine-tuning examples, and nothing else does."""

import json

import pytest

from langgraph_engram.errors import InvalidInput
from langgraph_engram.llm.replay import ReplayModel
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.testing import FakeModel
from training.extractor_data import main, make_examples

SAID = [
    {"role": "user", "content": "I planted three pear trees behind the house, because I like pears."},
    {"role": "assistant", "content": "Pear trees need sun."},
    {"role": "user", "content": "My sister Runa moved to Oslo in May."},
]


def recording_of(path, name):
    """Record what a memory asks while it remembers a conversation under a preset."""
    teacher = FakeModel([lambda question: RULES[type(question)](question)] * 50, name="teacher")
    with Memory("memory:", ReplayModel(path, teacher), encoder="hashing", settings=preset(name)) as memory:
        memory.remember(SAID, user_id="ana", session_id="s1", close_session=True)
    return path


@pytest.fixture
def answered(tmp_path, turn):
    """Record answers about one turn of two sentences; return the examples made of them."""

    def run(*answers, **limits):
        path = tmp_path / "answers.jsonl"
        for number, answer in enumerate(answers):
            question = ExtractRecords((turn(number, "I ski in Oslo. I keep bees."),))
            ReplayModel(path, FakeModel([answer])).ask(question)
        return make_examples([path], **limits)

    return run


@pytest.mark.parametrize("name", ["dimmem", "engram"])
def test_an_extraction_is_an_example(tmp_path, name):
    """The rules, the conversation as the model read it, and the records as JSON: what the pipeline asks and takes."""
    out = tmp_path / "train.jsonl"

    main([str(recording_of(tmp_path / "run.jsonl", name)), "--out", str(out)])

    (line,) = out.read_text(encoding="utf-8").splitlines()
    system, user, assistant = json.loads(line)["messages"]
    assert [message["role"] for message in (system, user, assistant)] == ["system", "user", "assistant"]
    assert "[1] I planted three pear trees" in user["content"]
    records = json.loads(assistant["content"])["records"]
    assert ("I like pears" in records[0]["reason"], records[0]["sources"]) == (True, [1])


def test_a_recording_without_extractions_is_refused(tmp_path):
    """ES-Mem extracts nothing: there is nothing to learn from it."""
    path = recording_of(tmp_path / "run.jsonl", "esmem")

    with pytest.raises(InvalidInput, match=r'run\.jsonl.*"dimmem"'):
        make_examples([path])
    with pytest.raises(InvalidInput, match=r"nowhere\.jsonl"):
        make_examples([path.with_name("nowhere.jsonl")])


def test_unusable_answers_are_left_out(answered):
    """One without records, one that cites nothing, and one that cites what it was not shown teach what is wrong."""
    good = Extraction(records=[RecordDraft(sources=[2], content="Ana keeps bees.")])
    wrong = [Extraction(records=[RecordDraft(sources=sources)]) for sources in ([], [3])]

    (example,) = answered(good, Extraction(records=[]), *wrong)

    assert json.loads(example["messages"][-1]["content"])["records"][0]["content"] == "Ana keeps bees."
    with pytest.raises(InvalidInput):
        answered(good, max_tokens=20)


def test_a_recording_without_prompts_is_refused(tmp_path):
    """A recording made before prompts were kept replays, and teaches nothing."""
    path = recording_of(tmp_path / "run.jsonl", "dimmem")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps({**line, "prompt": []}) + "\n" for line in lines))

    with pytest.raises(InvalidInput):
        make_examples([path])
