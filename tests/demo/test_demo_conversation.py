"""The sample conversation is what the demo promises, and its questions can be answered from it."""

import re
from datetime import timedelta
from itertools import pairwise

import pytest

from langgraph_engram.cli.demo import load_questions, load_sessions

DATES = re.compile(r"^\d{1,2} \w+ \d{4}$")


def test_it_spans_a_year_of_two_people_and_an_assistant():
    """At least eight sessions and 120 turns, about a year from the first to the last."""
    sessions = load_sessions()

    messages = [message for session in sessions for message in session.messages]

    assert len(sessions) >= 8
    assert len(messages) >= 120
    assert {(message.speaker, message.role) for message in messages} == {
        ("Maren", "user"), ("Idris", "user"), ("Assistant", "assistant"),
    }  # fmt: skip
    assert timedelta(days=330) < messages[-1].said_at - messages[0].said_at < timedelta(days=400)


def test_time_only_goes_forward():
    """Turns are dated, each after the one before, and sessions lie days apart."""
    sessions = load_sessions()

    moments = [message.said_at for session in sessions for message in session.messages]

    assert None not in moments
    assert all(one < other for one, other in pairwise(moments))
    assert len({session.session_id for session in sessions}) == len(sessions)


def test_exactly_one_question_has_no_answer():
    """Ten questions of ten kinds; the one that cannot be answered has neither gold nor evidence."""
    questions = load_questions()

    absent = [question for question in questions if question.verdict == "absent"]

    assert len({question.asks_for for question in questions}) == len(questions) == 10
    assert [(question.expected, question.evidence) for question in absent] == [("", [])]


@pytest.mark.parametrize("question", load_questions(), ids=lambda question: question.asks_for)
def test_the_evidence_holds_the_answer(question):
    """Each word of an expected answer is said in the turns named, but for dates to be reckoned and a yes."""
    said = {session.session_id: session.messages for session in load_sessions()}
    turns = [said[place.session_id][place.turn].text for place in question.evidence]

    words = set(re.findall(r"\w+", question.expected.casefold())) - {"a", "and", "yes"}

    assert bool(turns) == (question.verdict == "partial")
    if not DATES.match(question.expected):
        assert words <= set(re.findall(r"\w+", " ".join(turns).casefold()))
