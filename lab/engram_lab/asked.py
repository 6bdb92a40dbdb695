"""Read what is asked or said later, and what of a conversation it needs, out of every data set in one shape.

Beside the questions of LoCoMo, LongMemEval and BEAM these are messages as agents get them, on which something bears
that was said in passing: of invented people (`engram_lab.cases`), requests among a user's chats, remarks to a friend.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from engram_lab.cases import Split, among, read_people, read_topics, sessions_of
from engram_lab.datasets import TEMPORAL, Conversation, Question, read_as, read_beam, read_locomo, read_longmemeval
from engram_lab.evidence_scores import statements_of
from engram_lab.judge_protocols import ABSTENTION_KIND, TEMPORAL_KIND
from langgraph_engram.errors import InvalidInput
from langgraph_engram.formats.messages import Session, to_messages

IDLE, UNANSWERABLE = "idle", "unanswerable"
"""The types of messages that need nothing, follow-ups among them, and of questions that nothing answers."""
CHANGED, FORGOTTEN = "changed", "forgotten"
"""The types of questions about a value that has changed, and about what was to be forgotten."""
PREFERENCE = "single-session-preference"
"""The type of a message whose reply is judged by what it should take into account."""
MOST_VALUES = 4
SINCE = "As of this week:"
HAYSTACK = 3
"""The chats among which requests are put: those of this question of a LongMemEval file."""
LINE = re.compile(r"^(?:([AB])\s*:)? *(.+)", re.MULTILINE)
"""A line of LoCoMo-Plus, and which of two friends says it."""


class Asked(Question):
    """Something that is asked or said, and what it needs."""

    gold: str = ""
    needed: dict[str, dict[str, list[str]]]
    """By a name for each thing that is needed, the turns of which any will do, and what they state of it."""
    type: str = ""
    hard: bool = False
    """Whether it shares no word of a topic with what it needs."""
    thread: list[str] = []
    """What was said just before."""
    stale: dict[str, list[str]] = {}
    """The turns that hold no longer, and what they state: they may not stand before what is needed."""
    question_type: str = ""
    """By what its answer is judged, as LongMemEval names it."""


Sets = Mapping[str, Sequence[Conversation[Asked]]]
"""Conversations, and what is asked of each, by the name of their data set."""


class Case(BaseModel):
    """A request, and the messages of an earlier session that bear on it."""

    kind: str
    memory: list[dict[str, str]]
    request: str
    hard: bool


class Requests(BaseModel):
    """Requests, and further ones on which nothing bears."""

    cases: list[Case] = Field(min_length=1)
    idle: list[str]


class Remark(BaseModel):
    """A remark of LoCoMo-Plus, and the earlier lines of A and B that bear on it."""

    relation_type: str
    cue_dialogue: str
    trigger_query: str


def question_sets(locomo: Path | None, longmemeval: Path | None, beam: Path | None) -> Sets:
    """Read the data sets of which a file is given: each evidence turn of a question is needed."""
    read: dict[str, Sequence[Conversation[Any]]] = {
        "locomo": read_locomo(locomo) if locomo else [],
        "longmemeval": read_longmemeval(longmemeval) if longmemeval else [],
        "beam": read_beam(beam) if beam else [],
    }
    return {name: list(map(_asked, conversations)) for name, conversations in read.items() if conversations}


def message_sets(
    split: Split, requests: Path | None, haystacks: Path | None, remarks: Path | None, locomo: Path | None
) -> Sets:
    """Read what invented people say later; requests and remarks as well, where their files are given."""
    if (requests and not haystacks) or (remarks and not locomo):
        raise InvalidInput("requests are put among the chats of LongMemEval, remarks into LoCoMo: name its file too")
    people = read_people(split)
    sets = {
        "people": [Conversation(person["id"], sessions_of(person), list(_messages(person))) for person in people],
        "requests": [read_requests(requests, haystacks)] if requests and haystacks else [],
        "remarks": read_remarks(remarks, locomo) if remarks and locomo else [],
    }
    return {name: conversations for name, conversations in sets.items() if conversations}


def read_requests(path: Path, haystacks: Path) -> Conversation[Asked]:
    """Put what requests need among the chats of one haystack of LongMemEval, each in a session of its own."""
    read = read_as(Requests, path, "cases with kind, memory, request and hard, and idle")
    chats = read_longmemeval(haystacks)
    told = [_session(number, case.memory) for number, case in enumerate(read.cases)]
    asked = [
        Asked(question=case.request, needed=_needed(session), type=case.kind, hard=case.hard)
        for case, session in zip(read.cases, told, strict=True)
    ]
    asked += [Asked(question=text, needed={}, type=IDLE) for text in read.idle]
    return Conversation("requests", among(chats[HAYSTACK % len(chats)].sessions, told), asked)


def read_remarks(path: Path, locomo: Path) -> list[Conversation[Asked]]:
    """Put what remarks need among the talks of LoCoMo's samples, as many in each. A is who speaks first there."""
    remarks = read_as(list[Remark], path, "a list of relation_type, cue_dialogue and trigger_query")
    samples = read_locomo(locomo)
    return [_with_remarks(sample, remarks[place :: len(samples)]) for place, sample in enumerate(samples)]


def read_updates(split: Split, seed: int = 0) -> list[Conversation[Asked]]:
    """Make up conversations in which values change and things are to be forgotten, among the talk of a split.

    Each topic of `updates.json` has two to four values in turn, some days apart; after the last one it is asked about.
    """
    topics = read_topics()
    people = [person for person in read_people(split) if person["form"] == "assistant"]
    return [_with_updates(person, topics, random.Random(f"{seed} {person['id']}")) for person in people]


def _with_updates(
    person: Mapping[str, Any], topics: Mapping[str, Sequence[Mapping[str, Any]]], draw: random.Random
) -> Conversation[Asked]:
    rounds: list[list[tuple[str, str]]] = [[] for _ in range(MOST_VALUES)]
    """What is said of each topic, by its id, session by session."""
    asked: list[Asked] = []
    for number, topic in enumerate(topics[CHANGED]):
        values = draw.sample(topic["values"], draw.randint(2, MOST_VALUES))
        turns = {f"{CHANGED}-{number}:{at}": [value] for at, value in enumerate(values)}
        says = list(topic["say"][: len(values)])
        if draw.random() < 0.5:  # else what was said first would always be closest to the question
            says[-1] = f"{SINCE} {topic['say'][0]}"
        for at, (turn, say) in enumerate(zip(turns, says, strict=True)):
            rounds[MOST_VALUES - len(values) + at].append((turn, say.format(values[at])))
        newest = f"{CHANGED}-{number}:{len(values) - 1}"
        needed, stale = {newest: {newest: turns.pop(newest)}}, turns
        asked.append(Asked(question=topic["ask"], gold=values[-1], needed=needed, stale=stale, type=CHANGED))
    for number, topic in enumerate(topics[FORGOTTEN]):
        turn, value = f"{FORGOTTEN}-{number}", draw.choice(topic["values"])
        rounds[0].append((turn, topic["say"].format(value)))
        rounds[2].append((f"{turn}:wish", topic["forget"]))
        asked.append(Asked(question=topic["ask"], needed={}, stale={turn: [value]}, type=FORGOTTEN))
    told = [_told(number, said, draw) for number, said in enumerate(rounds)]
    return Conversation(f"updates-{person['id']}", among(sessions_of(dict(person)), told), asked)


def _told(number: int, said: list[tuple[str, str]], draw: random.Random) -> Session:
    draw.shuffle(said)
    messages = [
        {"external_id": f"{turn}{part}", "role": role, "text": text}
        for turn, told in said
        for role, part, text in (("user", "", told), ("assistant", ":reply", "All right."))
    ]
    return Session(f"told-{number}", to_messages(messages))


def _asked(conversation: Conversation[Any]) -> Conversation[Asked]:
    asked = [
        Asked(
            question=question.question,
            gold=question.gold,
            needed={turn: {turn: stated} for turn, stated in question.evidence.items()},
            type=UNANSWERABLE if _judged_as(question) == ABSTENTION_KIND else "",
            question_type=_judged_as(question),
        )
        for question in conversation.questions
    ]
    return replace(conversation, questions=asked)


def _judged_as(question: Any) -> str:
    if getattr(question, "category", None) == TEMPORAL:
        return TEMPORAL_KIND
    return ABSTENTION_KIND if getattr(question, "unanswerable", False) else getattr(question, "question_type", "")


def _messages(person: Mapping[str, Any]) -> Iterator[Asked]:
    facts = {fact["id"]: {fact["turn"]: statements_of(fact["sentence"])} for fact in person["facts"]}
    for message in person["messages"]:
        yield Asked(
            question=message["text"],
            needed={fact_id: facts[fact_id] for fact_id in message["needs"]},
            type=message["type"] if message["needs"] else IDLE,
            hard=message["hard"],
            thread=[turn["text"] for turn in message["before"]],
        )


def _with_remarks(sample: Conversation[Any], remarks: Sequence[Remark]) -> Conversation[Asked]:
    names = dict.fromkeys(message.speaker for session in sample.sessions for message in session.messages)
    speakers = dict(zip(("A", "B"), names, strict=False))
    cues = [LINE.findall(remark.cue_dialogue) for remark in remarks]
    told = [
        _session(number, [{"speaker": speakers[who or "A"], "text": text} for who, text in cue])
        for number, cue in enumerate(cues)
    ]
    asked = [
        Asked(question=LINE.findall(remark.trigger_query)[0][1], needed=_needed(session), type=remark.relation_type)
        for remark, session in zip(remarks, told, strict=True)
    ]
    return Conversation(sample.name, among(sample.sessions, told), asked)


def _session(number: int, messages: Sequence[Mapping[str, str]]) -> Session:
    name = f"told-{number}"
    return Session(name, to_messages([{**said, "external_id": f"{name}:{at}"} for at, said in enumerate(messages)]))


def _needed(session: Session) -> dict[str, dict[str, list[str]]]:
    """Return that a session is needed: any of its messages will do."""
    return {str(session.session_id): {str(said.external_id): statements_of(said.text) for said in session.messages}}
