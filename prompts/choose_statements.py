"""Ask of sessions that ended which few statements last, what each is good for, and for a note of each session.

No paper asks so. Everything that was said is kept and searched anyway: the answer only chooses, in lines as short as
they can be, and has no words of its own but where a sentence cannot be read alone (docs/decisions/0027).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, get_args

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import (
    DATA_ONLY,
    Sentence,
    captions_of,
    inside,
    number_sentences,
    plain,
    speaker_name,
)
from langgraph_engram.schema import Lasting, Turn
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.markdown import outline_of

EVENT = "event"
"""The kind of what lasts no longer than a day, and is told of later all the same."""
OUTLINE_CHARACTERS = 420
"""Characters of an assistant's reply that are shown."""
MOST_SETS = 3
MOST_NAME_WORDS = 5
"""Words of the name of a slot or a set."""
CHOSEN = re.compile(
    r"^[\s*•-]*\[?(?P<numbers>\d+(?:\s*[,;&+]\s*\d+)*)\]?[\s:.|,-]+(?P<kind>failed.attempt|[a-z]+)[\s|:,]*"
    r"(?P<significance>[0-3])\b\s*\|?(?P<rest>.*)$",
    re.IGNORECASE,
)
NOTE = re.compile(r"^[\s*•-]*note\s*\[?(?P<session>\d+)\]?\s*[:.-]\s*(?P<text>\S.*)$", re.IGNORECASE)
SYSTEM = f"""You read conversations that ended, and say which few statements of them still matter weeks later, and \
what for. Everything is kept and searched anyway: choose sparingly. A session begins at a line "== session"; what may \
be chosen has a number in brackets. Of an assistant's replies an outline is shown.
For each session write first
note SESSION: in at most 60 words, fewer where little happened, what was wanted, recommended, decided, done and \
changed, and what is open, with names, numbers and days;
then of its statements those that last, one a line, in order:
NUMBER KIND SIGNIFICANCE | SLOT | SETS | CONTENT
12 constraint 3 | diet | food rules
31 event 1 | | museum visits
KIND: instruction (how an assistant is to act from now on), constraint (health, diet, money, access, fear), \
preference, decision, commitment (what was promised or is planned), environment (what they own, use or work with), \
failed_attempt, lesson, goal, relationship (people and animals that belong to them), state (how things stand with \
them), or {EVENT} (what they did or what happened to them that a later count, list or date would ask for).
SIGNIFICANCE: 1 somebody may ask for it; 2 a thoughtful helper would use it; 3 ignoring it does harm.
SLOT: two to five words for that of which there is one at a time, so that a later value makes this one untrue \
("database version", "home city"), the same words on the line of each value that it has had; empty for what adds up, \
such as hobbies, visits or plans, and for rules and wishes that hold beside one another.
SETS: up to {MOST_SETS} plural names, by commas, of what a later question would count, sum up or list it among ("model \
kits", "weddings attended"); empty where none would.
CONTENT: only where the sentence cannot be read alone, and always for an assistant's reply: one sentence, in the \
speaker's own terms, with names for pronouns and nothing that they did not say; else leave it and the bars before it \
out.
Use names of slots and sets that are known where they fit. Leave out questions, tasks of the moment (how one text is \
to be changed), small talk, and general knowledge, whoever tells it. What somebody only answers to a proposal of the \
same session (likes it, thinks of it, will try it) does not last: what was done, bought, booked or promised does. \
Choose of an assistant's replies only what it committed to, recommended to this person and they took up, or decided \
with them.
{DATA_ONLY}"""


class Choice(NamedTuple):
    """A statement that lasts."""

    numbers: Sequence[int]
    """Of its sentences."""
    lasting: Lasting | None
    """None for what happened."""
    significance: int
    slot: str = ""
    sets: Sequence[str] = ()
    content: str = ""
    """What stands for the sentences, where they cannot be read alone."""


@dataclass(frozen=True)
class ChooseStatements(Question[str]):
    """What of these sessions lasts, and what did each come to?"""

    sessions: tuple[tuple[Turn, ...], ...]
    """The turns of each that are read, in order."""
    most: int
    """Statements that may be chosen at most."""
    slots: tuple[str, ...] = ()
    """Names that are known."""
    sets: tuple[str, ...] = ()

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        named = [("slots", self.slots), ("sets", self.sets)]
        known = "".join(f"Known {kind}: {plain('; '.join(names))}\n" for kind, names in named if names)
        asked = f"{known}Choose {self.most} statements at most, in all; fewer are better."
        conversation = inside("conversation", "\n".join(self._lines()))
        return [SystemMessage(SYSTEM), HumanMessage(f"{conversation}\n\n{asked}")]

    @cached_property
    def statements(self) -> list[list[Sentence]]:
        """Return what is shown of each session, numbered through: people's sentences, and each reply as one."""
        shown = [_shown(turns) for turns in self.sessions]
        numbers = iter(range(1, 1 + sum(map(len, shown))))
        return [
            [replace(sentence, number=next(numbers)) if sentence.number else sentence for sentence in session]
            for session in shown
        ]

    def _lines(self) -> Iterator[str]:
        for number, (turns, sentences) in enumerate(zip(self.sessions, self.statements, strict=True), start=1):
            yield f"== session {number}, {format_day(turns[0].said_at)}"
            for turn in turns:
                own = [_quoted(sentence) for sentence in sentences if sentence.turn is turn]
                if own:
                    yield f"{speaker_name(turn.speaker)}: {' '.join(own)}"


def read_choices(reply: str) -> tuple[list[Choice], dict[int, str]]:
    """Return the statements that a reply chooses, in its order, and its note of each session, by number."""
    choices: list[Choice] = []
    notes: dict[int, str] = {}
    for line in reply.splitlines():
        if note := NOTE.match(line):
            notes.setdefault(int(note["session"]), " ".join(note["text"].split()))
        elif chosen := CHOSEN.match(line):
            choices.append(_choice(chosen))
    return choices, notes


def _choice(chosen: re.Match[str]) -> Choice:
    kind = re.sub(r"\W", "_", chosen["kind"].casefold())
    slot, sets, content = [*chosen["rest"].split("|", 2), "", "", ""][:3]
    return Choice(
        list(dict.fromkeys(map(int, re.findall(r"\d+", chosen["numbers"])))),
        next((known for known in get_args(Lasting) if known == kind), None),
        int(chosen["significance"]),
        _name(slot),
        list(dict.fromkeys(filter(None, map(_name, sets.split(",")))))[:MOST_SETS],
        " ".join(content.split()),
    )


def _name(text: str) -> str:
    """Return the name of a slot or a set; empty for none, or for what is no name."""
    words = text.strip(" \"'.-").casefold().split()
    return " ".join(words) if len(words) <= MOST_NAME_WORDS else ""


def _shown(turns: Sequence[Turn]) -> list[Sentence]:
    """Return the sentences of people, without small talk, and what each reply of an assistant is outlined by."""
    found: list[Sentence] = []
    said = number_sentences(turns)
    for turn in turns:
        if turn.role == "assistant":
            found.append(Sentence(turn, outline_of(turn.text, OUTLINE_CHARACTERS) + captions_of(turn), number=1))
        else:
            found += [sentence for sentence in said if sentence.turn is turn and sentence.number]
    return [sentence for sentence in found if sentence.text.strip()]


def _quoted(sentence: Sentence) -> str:
    is_reply = sentence.turn.role == "assistant"
    text = plain(sentence.text if is_reply else f"({sentence.text})" if sentence.image else sentence.resolved)
    return f"[{sentence.number}] {text}" if sentence.number else text
