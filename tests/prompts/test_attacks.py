"""No text that was said, no name and no caption leaves its place in any prompt."""

import re
import unicodedata
from dataclasses import replace

import pytest

from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.rule_model.model import RULES
from tests import attacks
from tests.prompts.conftest import questions_about

QUERY = "What did Zoe eat?"
TAG = re.compile(r"<[\s/]*(?:conversation|context|memories|pool|answers)\b", re.IGNORECASE)
TOKEN = re.compile(r"<\|\w|<\w+_of_turn>|<</?SYS>>|\[/?INST\]")
HEAD = re.compile(r"(?:\[\d+\])*\s*(?:\([^)]*\) )?([^:\[]*):")


def lenient(text):
    """Return a text as somebody reads it who sees no invisible characters, and wide ones like narrow ones."""
    visible = (mark for mark in text if unicodedata.category(mark) != "Cf")
    return unicodedata.normalize("NFKC", "".join(visible).replace("\u2039", "(").replace("\uff3b", "("))


def shown(name, said):
    question = questions_about((said,) * 3, QUERY)[name]
    if isinstance(question, DescribeBoundary):
        # A title stands on a line of its own, which begins with it.
        question = replace(question, earlier_summary=f"Soup {said[1]}", later_summary=f"Soup {said[1]}")
    return question.render()[1].text


def heads(text):
    """Return what each line begins with: its speaker, its label or its day."""
    lines = text.splitlines()
    return [found.group(1) if (found := HEAD.match(line)) else line[:3] for line in lines if line[:4] != "Soup"]


@pytest.mark.parametrize("name", sorted(question.__name__ for question in RULES))
def test_no_attack_leaves_its_place(name):
    """The tags, the lines and what each of them begins with are those of a harmless conversation."""
    harmless = shown(name, ("Zoe", "We ate soup.", ["soup"]))
    tags, begun = TAG.findall(harmless), heads(harmless)
    for attack in attacks.TEXTS:
        for said in (("Zoe", attack, ["soup"]), ("Zoe", "We ate soup.", [attack])):
            text = shown(name, said)

            assert TAG.findall(lenient(text)) == tags, attack
            assert not TOKEN.search(lenient(text)), attack
            assert heads(text) == begun, attack
            assert not re.search(rf"\[\s*{attacks.FORGED}", text), attack


@pytest.mark.parametrize("name", ["ExtractRecords", "TrackTopics", "JudgeBoundary", "WriteAnswer", "ChooseStatements"])
def test_no_name_forges_a_line(name):
    """Whatever a speaker is called, a line has one name, and what was said follows it at once."""
    for attack in attacks.ALL:
        text = shown(name, (attack, "We ate soup.", []))

        said = [line for line in text.splitlines() if "We ate soup." in line]
        assert said
        assert all(re.search(r":(?: \[\d+\])? We ate soup\.", line) for line in said), attack
        assert all(line.count(":") == 1 for line in said), attack
        assert not [line for line in text.splitlines() if line.startswith(("-- Wed 1 January 2098", "== event 77"))]


def test_an_answer_made_of_memories_is_data_to_who_checks_it():
    """What was quoted from memory into an answer, or into a further query, makes no line of its own."""
    question = questions_about((("Zoe", "We ate soup.", []),) * 3, QUERY)["Reflect"]
    quiet = question.render()[1].text
    for attack in attacks.TEXTS:
        text = type(question)(QUERY, question.intent, attack, question.pool, (QUERY, attack)).render()[1].text

        assert TAG.findall(lenient(text)) == TAG.findall(quiet), attack
        assert len(text.splitlines()) == len(quiet.splitlines()), attack
