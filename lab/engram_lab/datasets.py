"""Read LoCoMo (Maharana et al., ACL 2024), LongMemEval (Wu et al., ICLR 2025) and BEAM (ICLR 2026).

Of conversations only the dialogue is read. Search strings, image addresses, and the summaries and observations derived
from the dialogue are left out: they would give answers away.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from os import fspath
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from engram_lab.evidence_scores import statements_of
from engram_lab.harness import StrPath
from engram_lab.resume import KeyedLine
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.files import decode, parse_json, read_bytes
from langgraph_engram.formats.messages import ROLES, Session, read_captions, read_text, shown
from langgraph_engram.state import Message

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP = 1, 2, 3, 4
"""LoCoMo's category numbers."""
CATEGORIES = (MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP)
"""Those that are measured: the fifth, adversarial questions, stays out as in all four papers."""
ABSTENTION = "_abs"
"""The suffix of the id of a question that has no answer in its haystack (LongMemEval)."""

SESSION_KEY, TURN_ID = re.compile(r"session_(\d+)"), re.compile(r"D(\d+):(\d+)")
WEEKDAY = re.compile(r"\s*\(\w+\)")
LOCOMO_TIMES, LONGMEMEVAL_TIMES = ("%I:%M %p on %d %B, %Y",), ("%Y/%m/%d %H:%M", "%Y/%m/%d")
BEAM_DAYS = ("%B-%d-%Y",)
LIST_KEYS = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
MARK = re.compile(r"\s*->->\s*[\d,\s]+$")
"""What the generator of BEAM's chats left at the end of a message."""
GOLD_KEYS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


class Question(KeyedLine):
    """One question of a data set, and its right answer."""

    question: str
    gold: str


class LocomoQuestion(Question):
    """One question of categories 1 to 4."""

    KEY: ClassVar = ("sample", "index")
    sample: str
    index: int
    """Its index among all questions of the sample, from 0."""
    category: int
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""


class LongMemEvalQuestion(Question):
    """One question that is asked of a haystack."""

    KEY: ClassVar = ("question_id",)
    question_id: str
    question_type: str
    unanswerable: bool
    """Whether the right answer is that nothing was said about it."""
    evidence_sessions: dict[str, dict[str, list[str]]]
    """What the turns of each evidence session state, by session and turn id."""
    evidence_turns: list[str]
    """The turns that are marked as holding the answer."""

    @property
    def evidence(self) -> dict[str, list[str]]:
        """Return what the marked turns state, by id."""
        turns = {turn_id: stated for session in self.evidence_sessions.values() for turn_id, stated in session.items()}
        return _known(self.evidence_turns, turns)


class BeamQuestion(Question):
    """One question, the messages that its answer rests on, and the points by which an answer is judged."""

    KEY: ClassVar = ("sample", "question_type", "index")
    sample: str
    question_type: str
    """The ability that the question tests."""
    index: int
    """Its place among the questions of its ability."""
    rubric: list[str]
    evidence: dict[str, list[str]]
    """What the messages state, by id."""


Q = TypeVar("Q", bound=Question)
Shape = TypeVar("Shape")


@dataclass(frozen=True)
class Conversation(Generic[Q]):
    """A conversation, which gets a memory of its own, and the questions that are asked of it."""

    name: str
    """The user whose memory it is."""
    sessions: list[Session]
    """None where the file has the questions alone."""
    questions: list[Q]
    asked_at: datetime | None = None


def read_locomo(
    path: StrPath, limit: int | None = None, categories: Collection[int] = CATEGORIES
) -> list[Conversation[LocomoQuestion]]:
    """Read a LoCoMo file, one sample or a list, in order, and of its questions the first ones of some categories."""
    samples = _read(path, partial(_locomo_sample, categories=categories))
    return samples if limit is None else list(_first_questions(samples, limit))


def read_longmemeval(path: StrPath) -> list[Conversation[LongMemEvalQuestion]]:
    """Read a LongMemEval file, JSON or JSON lines, gzipped or not: each haystack with its question, in order."""
    return _read(path, _haystack)


def read_beam(path: StrPath) -> list[Conversation[BeamQuestion]]:
    """Read a file's chats, in order."""
    return _read(path, _chat)


READERS: Mapping[str, Callable[[StrPath], Sequence[Conversation[Any]]]] = {
    "locomo": read_locomo,
    "longmemeval": read_longmemeval,
}
"""What reads the conversations of a data set, by its name."""


def read_as(shape: type[Shape], path: StrPath, expected: str) -> Shape:
    """Read a JSON file of a shape, which an error names."""
    name = fspath(path)
    try:
        return TypeAdapter(shape).validate_python(parse_json(decode(read_bytes(name), name), name))
    except ValidationError as error:
        raise UnreadableFile(f"{name}: expected {expected}") from error


def _read(path: StrPath, read: Callable[[Mapping[str, Any], int], Conversation[Q]]) -> list[Conversation[Q]]:
    name = fspath(path)
    data = parse_json(decode(read_bytes(name), name), name)
    items = data if isinstance(data, list) else [data]
    try:
        _expect(bool(items), "at least one sample", items)
        for number, item in enumerate(items):
            _expect(isinstance(item, Mapping), f"an object as sample {number}", item)
        return [read(item, number) for number, item in enumerate(items)]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error


def _expect(is_so: bool, expected: str, found: object) -> None:
    if not is_so:
        raise UnreadableFile(f"expected {expected}, not {shown(found)}")


def _has(item: Any, *keys: str) -> bool:
    return isinstance(item, Mapping) and set(keys) <= item.keys()


def _locomo_sample(sample: Any, number: int, categories: Collection[int]) -> Conversation[LocomoQuestion]:
    """Read one sample, its sessions in the order of their numbers; the ids are "session_1", "session_2", ..."""
    conversation, items = sample.get("conversation"), sample.get("qa")
    _expect(isinstance(conversation, Mapping), "a LoCoMo sample with a `conversation` object", conversation)
    numbers = sorted(int(match[1]) for key in conversation if (match := SESSION_KEY.fullmatch(key)))
    sessions = _with_messages(_locomo_session(conversation, f"session_{number}") for number in numbers)
    name, stated = str(sample.get("sample_id", number)), _statements(sessions)
    _expect(isinstance(items, list), f"a list of questions at qa of sample {number}", items)
    for index, item in enumerate(items):
        asked = _has(item, "question") and isinstance(item["question"], str)
        _expect(asked, f"a question with its category, answer and evidence at qa[{index}]", item)
    questions = [
        _locomo_question(item, name, index, stated)
        for index, item in enumerate(items)
        if item.get("category") in categories
    ]
    return Conversation(name, sessions, questions)


def _locomo_session(conversation: Mapping[str, Any], key: str) -> Session:
    """Read a session. Every message has its time: LoCoMo dates sessions only."""
    date, turns = conversation.get(f"{key}_date_time"), conversation[key]
    said_at = None if date is None else _time(date, LOCOMO_TIMES, f'like "1:56 pm on 8 May, 2023" for {key}')
    _expect(isinstance(turns, list), f"a list of turns at {key}", turns)
    messages = [_locomo_turn(turn, said_at, f"{key}[{index}]") for index, turn in enumerate(turns)]
    return Session(key, [message for message in messages if message.text.strip() or message.captions])


def _locomo_turn(turn: Any, said_at: datetime | None, location: str) -> Message:
    _expect(_has(turn, "speaker", "dia_id", "text"), f"a turn with speaker, dia_id and text at {location}", turn)
    return Message(
        speaker=read_text(turn["speaker"], f"the speaker at {location}"),
        text=read_text(turn["text"], f"the text at {location}"),
        captions=read_captions(turn.get("blip_caption")),
        said_at=said_at,
        external_id=read_text(turn["dia_id"], f"the dia_id at {location}"),
    )


def _locomo_question(
    item: Mapping[str, Any], sample: str, index: int, stated: Mapping[str, list[str]]
) -> LocomoQuestion:
    return LocomoQuestion(
        sample=sample,
        index=index,
        category=item["category"],
        question=item["question"],
        gold=str(item.get("answer", "")),
        evidence=_known(normalise_ids(item.get("evidence") or []), stated),
    )


def normalise_ids(evidence: Sequence[object]) -> list[str]:
    """Return the turn ids named in an evidence field, in order, without repeats: "D8:06; D9:17" is D8:6 and D9:17."""
    found = [match for text in evidence for match in TURN_ID.finditer(str(text))]
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in found))


def _first_questions(samples: Sequence[Conversation[Q]], limit: int) -> Iterator[Conversation[Q]]:
    for sample in samples:
        questions = sample.questions[: max(0, limit)]
        limit -= len(questions)
        if questions:
            yield replace(sample, questions=questions)


def _haystack(item: Mapping[str, Any], number: int) -> Conversation[LongMemEvalQuestion]:
    named = all(isinstance(item.get(key), str) for key in ("question_id", "question_type", "question"))
    _expect(named, f"question_id, question_type and question at item {number}", item)
    name, date, answering = item["question_id"], item.get("question_date"), item.get("answer_session_ids")
    answering = set(map(str, answering)) if isinstance(answering, list) else set()
    sessions = _haystack_sessions(item) if "haystack_sessions" in item else []
    question = LongMemEvalQuestion(
        question_id=name,
        question_type=item["question_type"],
        question=item["question"],
        gold=str(item.get("answer", "")),
        unanswerable=name.endswith(ABSTENTION),
        evidence_sessions={str(s.session_id): _statements([s]) for s in sessions if s.session_id in answering},
        evidence_turns=list(_marked_turns(item)) if sessions else [],
    )
    return Conversation(name, sessions, [question], read_day(date) if date else None)


def _haystack_sessions(item: Mapping[str, Any]) -> list[Session]:
    """Read the sessions of one item. External ids are "SESSION:TURN", from turn 1; empty turns are left out."""
    for key in LIST_KEYS:
        _expect(isinstance(item.get(key), list), f"a LongMemEval item with a list {key}", item.get(key))
    lists = [item[key] for key in LIST_KEYS]
    lengths = [len(values) for values in lists]
    if len(set(lengths)) > 1:
        raise UnreadableFile(f"expected {', '.join(LIST_KEYS)} of equal length, not {', '.join(map(str, lengths))}")
    return _with_messages(_haystack_session(*session) for session in zip(*lists, strict=True))


def _haystack_session(session_id: object, date: object, turns: Any) -> Session:
    _expect(isinstance(turns, list), f"a list of turns in session {session_id}", turns)
    said_at = read_day(date)
    messages = [_haystack_turn(turn, said_at, f"{session_id}:{number}") for number, turn in enumerate(turns, start=1)]
    return Session(str(session_id), [message for message in messages if message.text.strip()])


def _haystack_turn(turn: Any, said_at: datetime, external_id: str) -> Message:
    spoken = _has(turn, "role") and str(turn["role"]) in ROLES
    _expect(spoken, f"a turn with role user or assistant and content at {external_id}", turn)
    role = ROLES[turn["role"]]
    text = read_text(turn.get("content"), f"the content at {external_id}")
    return Message(role=role, speaker=role, text=text, said_at=said_at, external_id=external_id)


def _marked_turns(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the turns that are marked as holding the answer, as `_haystack_sessions` names them."""
    for session_id, turns in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True):
        for number, turn in enumerate(turns, start=1):
            if turn.get("has_answer") is True and str(turn.get("content", "")).strip():
                yield f"{session_id}:{number}"


def read_day(value: object) -> datetime:
    """Read "2023/05/20 (Sat) 00:44" or "2023/05/20" as UTC."""
    text = WEEKDAY.sub("", str(value))
    return _time(text, LONGMEMEVAL_TIMES, 'like "2023/05/20 (Sat) 00:44" or "2023/05/20"', value)


def _chat(item: Any, number: int) -> Conversation[BeamQuestion]:
    batches, asked = item.get("chat"), item.get("probing_questions")
    is_chat = isinstance(batches, list) and isinstance(asked, Mapping)
    _expect(is_chat, f"chat and probing_questions at item {number}", item)
    sessions = _with_messages(_batch(batch, f"batch-{place}") for place, batch in enumerate(batches, start=1))
    name, stated = str(item.get("chat_id", number)), _statements(sessions)
    questions = [
        _beam_question(question, name, str(ability), index, stated)
        for ability, of_ability in asked.items()
        for index, question in enumerate(of_ability if isinstance(of_ability, list) else [])
    ]
    return Conversation(name, sessions, questions)


def _batch(batch: Any, name: str) -> Session:
    """Read a batch of messages as a session; a day holds until the next one is named."""
    turns: Any = batch["turns"] if _has(batch, "turns") else None
    are_lists = isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)
    _expect(are_lists, f"turns, a list of lists of messages, at {name}", batch)
    said_at: datetime | None = None
    messages: list[Message] = []
    for number, item in enumerate(item for turn in turns for item in turn):
        spoken = _has(item, "role", "id") and str(item["role"]) in ROLES
        _expect(spoken, f"a message with role, id and content at {name}[{number}]", item)
        if day := item.get("time_anchor"):
            said_at = _time(day, BEAM_DAYS, f'like "March-15-2024" in {name}')
        text = MARK.sub("", read_text(item.get("content"), f"the content at {name}[{number}]"))
        if text.strip():
            role = ROLES[str(item["role"])]
            messages.append(Message(role=role, text=text, said_at=said_at, external_id=str(item["id"])))
    return Session(name, messages)


def _beam_question(item: Any, sample: str, ability: str, index: int, stated: Mapping[str, list[str]]) -> BeamQuestion:
    asked = _has(item, "question") and isinstance(item["question"], str)
    _expect(asked, f"a question with its rubric at {ability}[{index}]", item)
    points = item.get("rubric")
    rubric = [str(point) for point in points] if isinstance(points, list) else []
    return BeamQuestion(
        sample=sample,
        question_type=ability,
        index=index,
        question=item["question"],
        gold=next((str(item[key]) for key in GOLD_KEYS if item.get(key)), "; ".join(rubric)),
        rubric=rubric,
        evidence=_known(_source_ids(item.get("source_chat_ids")), stated),
    )


def _source_ids(value: object) -> Iterator[str]:
    """Yield the ids in a list, or in the lists of a mapping or a list."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _source_ids(inner)
    elif value is not None:
        yield str(value)


def _with_messages(sessions: Iterable[Session]) -> list[Session]:
    return [session for session in sessions if session.messages]


def _statements(sessions: Sequence[Session]) -> dict[str, list[str]]:
    """Return what each turn states, by its id in the data set."""
    messages = [message for session in sessions for message in session.messages]
    return {str(message.external_id): statements_of(message.text, message.captions) for message in messages}


def _known(ids: Iterable[str], stated: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {turn_id: stated[turn_id] for turn_id in dict.fromkeys(ids) if turn_id in stated}


def _time(value: object, time_formats: Sequence[str], expected: str, found: object = None) -> datetime:
    for time_format in time_formats:
        try:
            return datetime.strptime(str(value).strip(), time_format).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise UnreadableFile(f"expected a time {expected}, not {shown(found or value)}")
