"""Each question's wording is kept in a file, so that a change of it is seen in review.

Run with ENGRAM_WRITE_GOLDEN=1 to write the files anew, and read what has changed.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from langgraph_engram.rule_model.model import RULES

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted(question.__name__ for question in RULES)


def text_of(question):
    """Give what a chat model reads: the messages, and what is said of each field of the answer."""
    messages = [f"=== {message.type} ===\n{message.text}" for message in question.render()]
    answer = question.answer_type()
    fields = fields_of(answer) if issubclass(answer, BaseModel) else ["plain text"]
    return "\n\n".join([*messages, "=== answer ===\n" + "\n".join(fields)]) + "\n"


def fields_of(model, indent=""):
    found = []
    for name, field in model.model_fields.items():
        found.append(f"{indent}{name}: {field.description or 'no description'}")
        inner = [field.annotation, *getattr(field.annotation, "__args__", ())]
        for part in inner:
            if isinstance(part, type) and issubclass(part, BaseModel):
                found.extend(fields_of(part, indent + "  "))
    return found


def assert_on_file(name, text):
    path = FOLDER / f"{name}.txt"
    if os.environ.get("ENGRAM_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_wording_is_the_one_on_file(questions, name):
    """One example of each question reads as it was last agreed on."""
    assert_on_file(name, text_of(questions[name]))


@pytest.mark.parametrize("breadth", ["timeline", "summary"])
def test_the_wording_for_each_breadth_is_the_one_on_file(questions, breadth):
    """A timeline and a summary are asked for in other words than a list."""
    asked = questions["ListItems"]
    asked = replace(asked, intent=asked.intent.model_copy(update={"breadth": breadth}))
    assert_on_file(f"ListItems.{breadth}", text_of(asked))


def test_there_is_no_file_without_a_question():
    """A question that is gone takes its file with it."""
    assert sorted({path.name.split(".")[0] for path in FOLDER.glob("*.txt")}) == NAMES
