"""What a reply chooses is read leniently, and nothing is read into it."""

import pytest

from langgraph_engram.prompts.choose_statements import Choice, read_choices
from tests.prompts.conftest import questions_about


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("12 constraint 3 | diet | food rules", Choice([12], "constraint", 3, "diet", ["food rules"])),
        ("[12] Constraint 3", Choice([12], "constraint", 3)),
        ("- 12, 13 | goal | 2 | | | To ski | or swim.", Choice([12, 13], "goal", 2, content="To ski | or swim.")),
        ("7: event 1 | | visits, visits, ,days out", Choice([7], None, 1, sets=["visits", "days out"])),
        ("3 failed attempt 2 | a name of far too many words", Choice([3], "failed_attempt", 2)),
        ("3 banana 2", Choice([3], None, 2)),
    ],
)  # fmt: skip
def test_a_line_names_sentences_and_what_they_are_good_for(line, choice):
    """However it is set; an unknown kind lasts no longer than a day."""
    (read,), notes = read_choices(f"note 1: Ana was here.\n{line}\nThat is all.")

    assert (read._replace(sets=list(read.sets)), notes) == (
        choice._replace(sets=list(choice.sets)),
        {1: "Ana was here."},
    )


@pytest.mark.parametrize(
    "line", ["", "12", "constraint 3", "12 constraint 7", "In 2023 Ana had 3 cats.", "note: nothing"]
)
def test_what_is_no_such_line_chooses_nothing(line):
    assert read_choices(line) == ([], {})


def test_a_reply_of_an_assistant_has_one_number():
    """People's sentences have one each; what is known stands behind the conversation."""
    question = questions_about((("Ana", "I ski. I swim.", []), ("Ben", "So do I.", []), ("Ana", "Fine!", [])), "")[
        "ChooseStatements"
    ]
    replies = tuple(turn.model_copy(update={"role": "assistant"}) for turn in question.sessions[0])

    shown = [sentence.number for session in question.statements for sentence in session]
    answered = type(question)((replies,), 5).statements

    assert shown == list(range(1, len(shown) + 1))
    assert [sentence.number for sentence in answered[0]] == [1, 2]
    assert "Known slots: home city" in question.render()[1].text.rsplit("</conversation>", 1)[1]
