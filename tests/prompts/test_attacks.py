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
TOKEN = re.compile(r"<\|\w|<\w+_of_turn>|<</?SYS>>|\[/?INST\]|<[\s/]*(?:system|think|tool_call|s>)")
HIDDEN = ("Cf", "Mn", "Me")
BLANKS = "\u115f\u1160\u2800"
HEAD = re.compile(r"(?:\[\d+\])*\s*(?:\([^)]*\) )?([^:\[]*):")


def lenient(text):
    """Return a text as somebody reads it who sees nothing invisible or combining, and wide ones like narrow ones."""
    marks = unicodedata.normalize("NFKD", text.replace("\u2039", "(").replace("\uff3b", "("))
    return "".join(mark for mark in marks if unicodedata.category(mark) not in HIDDEN and mark not in BLANKS)


def shown(name, said):
    question = questions_about((said,) * 3, QUERY)[name]
    if isinstance(question, DescribeBoundary):
        # A title stands on a line of its own, which begins with it.
        question = replace(question, earlier_summary=f"Soup {said[1]}", later_summary=f"Soup {said[1]}")
    return text_of(question)


def text_of(question):
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
            assert not re.search(rf"\[\s*{attacks.FORGED}", lenient(text)), attack


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


def test_what_is_asked_and_answered_is_data_to_who_reads_it():
    """A query, and what was quoted from memory into an answer or a further query, leave their place as little."""
    questions = questions_about((("Zoe", "We ate soup.", []),) * 3, QUERY)
    parsing, checking = questions["ParseIntent"], questions["Reflect"]
    for attack in attacks.TEXTS:
        asked = replace(parsing, query=attack)
        checked = replace(checking, answer=attack, asked=(QUERY, attack))
        for quiet, attacked in ((parsing, asked), (checking, checked)):
            assert TAG.findall(lenient(text_of(attacked))) == TAG.findall(text_of(quiet)), attack
        assert len(text_of(checked).splitlines()) == len(text_of(checking).splitlines()), attack
