"""A run measures what the `segment` step does with a file of dialogues."""

import json

import pytest

from langgraph_engram.benchmarks.segmentation import read_dialogues, run_segmentation
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.folders import open_store

KEYS = {
    "strategy", "model", "pk", "wd", "f1", "score", "dialogues", "boundaries", "failures", "usage", "seconds",
}  # fmt: skip


def dialogue(*said, boundaries=None):
    utterances = [{"speaker": "agent" if place % 2 else "user", "text": text} for place, text in enumerate(said)]
    return {"utterances": utterances, "boundaries": boundaries or [*[0] * (len(said) - 1), 1]}


@pytest.fixture
def store():
    opened = open_store("memory:", HashingEncoder())
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path):
    def write(*dialogues):
        path = tmp_path / "dialogues.jsonl"
        path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in dialogues))
        return path

    return write


def test_windows_are_measured(store, file):
    """Windows of two turns cut where the gold does in one dialogue and not in the other; one turn is skipped."""
    path = file(
        dialogue("Hi", "Hello", "Bees", "Honey", boundaries=[0, 1, 0, 1]), dialogue("a", "b", "c"), dialogue("Alone")
    )

    figures = run_segmentation(path, store, RuleModel(), SegmentSettings(strategy="window", window=2, overlap=0))

    assert set(figures) == KEYS
    assert (figures["dialogues"], figures["boundaries"]) == (2, {"predicted": 2, "gold": 1})
    assert figures["f1"] == 0.5
    assert figures["usage"] == {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}


def test_only_the_first_dialogues_are_cut(store, file):
    """A limit counts dialogues of the file; progress is told for each that is cut."""
    told = []
    path = file(dialogue("a", "b"), dialogue("c", "d"), dialogue("e", "f"))

    figures = run_segmentation(
        path, store, RuleModel(), SegmentSettings(strategy="session"), limit=2, progress=lambda *args: told.append(args)
    )

    assert figures["dialogues"] == 2
    assert told == [("segmenting", 0, 2), ("segmenting", 1, 2)]


def test_the_side_that_answers_is_an_assistant(file):
    """Data sets name it differently; everybody else is a user."""
    (read,) = read_dialogues(file(dialogue("Hi", "Hello")))

    assert [turn.role for turn in read.turns] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[1]", "dialogue 0: expected an object"),
        (json.dumps({"utterances": "hello", "boundaries": []}), "its utterances cannot be read"),
        (json.dumps(dialogue("a", "b") | {"boundaries": [1]}), "expected boundaries with 2 labels"),
        (json.dumps(dialogue("a", "b") | {"boundaries": [2, 1]}), "boundaries of 0 and 1"),
        (json.dumps(dialogue("a")), "no dialogue of 2 utterances"),
    ],
)
def test_what_is_no_dialogue_is_refused(store, file, line, told):
    """The error says which dialogue, and what was expected."""
    with pytest.raises(InvalidInput, match=told):
        run_segmentation(file(line), store, RuleModel(), SegmentSettings())


def test_a_file_that_is_not_there_is_refused(store, tmp_path):
    """The error names the file."""
    with pytest.raises(UnreadableFile, match="missing"):
        run_segmentation(tmp_path / "missing.jsonl", store, RuleModel(), SegmentSettings())


@pytest.mark.parametrize(
    ("speaker", "role"),
    [("Wizard", "assistant"), ("system", "assistant"), ("bot", "assistant"), ("apprentice", "user"), ("human", "user")],
)
def test_the_side_that_answers_is_known_by_its_name(tmp_path, speaker, role):
    """Data sets call it by many names; everybody else asks."""
    path = tmp_path / "dialogues.json"
    path.write_text(json.dumps([{"utterances": [{"speaker": speaker, "text": "Hello."}], "boundaries": [1]}]))

    ((turn,),) = (dialogue.turns for dialogue in read_dialogues(path))

    assert turn.role == role
