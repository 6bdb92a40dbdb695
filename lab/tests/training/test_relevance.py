"""Relevance can be learned again from any questions with known evidence, and comes out the same."""

import json

import pytest

from engram_lab.training.relevance import main
from engram_lab.training.relevance_data import read_locomo, with_foreign_questions
from langgraph_engram.retrieval.relevance import FEATURES

SAID = {
    "lake": [("Ana", "I went camping by the lake in June."), ("Ben", "My dog Rex ate a shoe.")],
    "town": [("Cleo", "I play the piano in a band."), ("Dan", "I paint boats in the harbour.")],
}
ASKED = {
    "lake": [("Where did Ana go camping?", ["D1:1"], 4), ("Where did Ben go camping?", ["D1:1"], 5)],
    "town": [("What does Cleo play?", ["D1:1"], 4), ("What might Dan like?", ["D1:2"], 3)],
}


@pytest.fixture
def locomo(tmp_path):
    """Two conversations of two turns, each with two questions: one is a trick, one asks for an inference."""
    samples = [
        {
            "sample_id": name,
            "conversation": {
                "speaker_a": said[0][0],
                "speaker_b": said[1][0],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    {"speaker": speaker, "dia_id": f"D1:{number}", "text": text}
                    for number, (speaker, text) in enumerate(said, start=1)
                ],
            },
            "qa": [
                {"question": question, "evidence": evidence, "category": category}
                for question, evidence, category in ASKED[name]
            ],
        }
        for name, said in SAID.items()
    ]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(samples))
    return path


def test_learning_twice_gives_the_same_weights(locomo, tmp_path):
    """A conversation is not stored twice, and the written files are equal."""
    written = [tmp_path / "one" / "relevance.json", tmp_path / "two" / "relevance.json"]

    for path in written:
        path.parent.mkdir()
        main(["--locomo", str(locomo), "--stores", str(tmp_path), "--out", str(path), "--encoder", "hashing"])

    assert written[0].read_bytes() == written[1].read_bytes()
    assert set(json.loads(written[0].read_text())["weights"]) == set(FEATURES)


def test_a_trick_question_has_no_evidence(locomo):
    """The turns it was made from do not answer it."""
    questions = [question for conversation in read_locomo(locomo) for question in conversation.questions]

    assert [(question.is_answerable, len(question.evidence), question.is_open) for question in questions] == [
        (True, 1, False),
        (False, 0, False),
        (True, 1, False),
        (True, 1, True),
    ]


def test_questions_of_others_are_asked_with_the_names_of_this_one(locomo):
    """Only those with an answer elsewhere, and none that asks for an inference."""
    talks = read_locomo(locomo)

    pairs = zip(talks, with_foreign_questions(talks, 9), strict=True)
    foreign = [asked.questions[len(talk.questions) :] for talk, asked in pairs]
    assert [[question.text for question in asked] for asked in foreign] == [
        ["What does Ana play?"],
        ["Where did Cleo go camping?"],
    ]
    assert not any(question.is_answerable for asked in foreign for question in asked)
