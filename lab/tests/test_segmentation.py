"""The node `segment` is measured on a file of dialogues, by the Pk, WindowDiff and F1 of the literature."""

import json

import pytest

from engram_lab.segmentation import read_dialogues, run_segmentation, score_dialogue, window_width
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import Settings
from langgraph_engram.stores.folders import open_store


def dialogue(*texts, boundaries=None):
    utterances = [{"speaker": "agent" if seq % 2 else "user", "text": text} for seq, text in enumerate(texts)]
    return {"utterances": utterances, "boundaries": boundaries or [*[0] * (len(texts) - 1), 1]}


@pytest.fixture
def store():
    opened = open_store("memory:", HashingEncoder())
    yield opened
    opened.close()


@pytest.fixture
def file(tmp_path):
    def write(*dialogues):
        path = tmp_path / "dialogues.jsonl"
        path.write_text("\n".join(item if isinstance(item, str) else json.dumps(item) for item in dialogues))
        return path

    return write


def test_windows_are_measured(store, file):
    """Windows of a message and its reply cut where the gold does in one dialogue, not in the other; one is skipped."""
    path = file(
        dialogue("Hi", "Hello", "Bees", "Honey", boundaries=[0, 1, 0, 1]), dialogue("a", "b", "c"), dialogue("Alone")
    )

    figures = run_segmentation(path, store, RuleModel(), Settings(paper=DimMemSettings(window=1, overlap=0)))

    assert (figures["dialogues"], figures["boundaries"]) == (2, {"predicted": 2, "gold": 1})
    assert figures["f1"] == 0.5
    assert figures["usage"] == {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "dialogue 0: expected an object"),
        (json.dumps({"utterances": "hello", "boundaries": []}), "its utterances cannot be read"),
        (json.dumps(dialogue("a", "b") | {"boundaries": [1]}), "expected boundaries with 2 labels"),
        (json.dumps(dialogue("a", "b") | {"boundaries": [2, 1]}), "boundaries of 0 and 1"),
        (json.dumps(dialogue("a")), "no dialogue of 2 utterances"),
    ],
)
def test_what_is_no_dialogue_is_refused(store, file, line, message):
    """The error says which dialogue, and what was expected."""
    with pytest.raises(InvalidInput, match=message):
        run_segmentation(file(line), store, RuleModel(), Settings())


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


def test_a_dialogue_worked_by_hand():
    """Six turns in two segments give windows of two; one boundary is missed by one turn."""
    scores = score_dialogue([0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 1])

    assert scores["pk"] == pytest.approx(2 / 5)
    assert scores["wd"] == pytest.approx(2 / 5)
    assert scores["f1"] == 0
    assert scores["score"] == pytest.approx((0 + 0.6 + 0.6) / 4)


@pytest.mark.parametrize(
    ("gold", "width"),
    [([0, 0], 2), ([0] * 10, 5), ([0, 1, 0, 0, 0, 0], 2), ([0] * 5 + [1] + [0] * 4, 2), ([0] * 13, 6), ([0] * 15, 8)],
)
def test_windows_are_half_a_mean_segment(gold, width):
    """At least two turns; halves round to the even number."""
    assert window_width(gold) == width
