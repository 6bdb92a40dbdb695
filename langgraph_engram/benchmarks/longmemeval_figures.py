"""Compute every figure of a LongMemEval run from its lines.

Questions that have no answer count for abstention alone. This module does not know a memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path

from langgraph_engram.benchmarks.questions import MemoryProtocol, RecallFigures, Spent, put
from langgraph_engram.benchmarks.quotes import quote_recall, split_by_answer
from langgraph_engram.benchmarks.scores import (
    all_evidence_recall,
    answer_token_recall,
    bleu1_amem,
    evidence_recall,
    f1_amem,
    session_recall,
    statements_of,
)
from langgraph_engram.benchmarks.statistics import MEDIAN, NEARLY_ALL, at_budgets, mean, percentile
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.datasets import item_sessions, listed, read_time
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import Session, shown
from langgraph_engram.llm.base import Model
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.schema import Frozen

ABSTENTION = "_abs"
"""How the id of a question ends that has no answer in its haystack."""
ASSISTANT_TYPE = "single-session-assistant"
PREFERENCE_TYPE = "single-session-preference"
"""Questions whose answer is a rubric, not a text."""


@dataclass(frozen=True)
class LongMemEvalQuestion:
    """One question, and the haystack it is asked of."""

    question_id: str
    question_type: str
    question: str
    gold: str
    asked_at: datetime | None
    sessions: list[Session]
    """The haystack; none where the file has the question alone."""
    evidence_sessions: dict[str, dict[str, list[str]]]
    """What the turns of each evidence session state, by session and turn id."""
    evidence_turns: list[str]
    """The ids of the turns that hold the answer."""

    @property
    def is_unanswerable(self) -> bool:
        """Say whether the right answer is that nothing of it was said."""
        return self.question_id.endswith(ABSTENTION)


def read_questions(path: str | PathLike[str]) -> list[LongMemEvalQuestion]:
    """Read a file's questions, in order: JSON or JSON lines, gzipped or not.

    Raises:
        UnreadableFile: The file is missing or is not LongMemEval's.
        InvalidMessages: A turn of it cannot be kept.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        return [_read(item, number) for number, item in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error


def _read(item: Mapping[str, object], number: int) -> LongMemEvalQuestion:
    if not all(isinstance(item.get(key), str) for key in ("question_id", "question_type", "question")):
        raise UnreadableFile(f"expected question_id, question_type and question at item {number}, not {shown(item)}")
    sessions = item_sessions(item) if "haystack_sessions" in item else []
    answering = _strings(item.get("answer_session_ids"))
    date = item.get("question_date")
    return LongMemEvalQuestion(
        question_id=str(item["question_id"]),
        question_type=str(item["question_type"]),
        question=str(item["question"]),
        gold=str(item.get("answer", "")),
        asked_at=read_time(date) if date else None,
        sessions=sessions,
        evidence_sessions={
            session.session_id: _statements(session)
            for session in sessions
            if session.session_id in answering and session.session_id
        },
        evidence_turns=list(_marked(item)) if sessions else [],
    )


def _statements(session: Session) -> dict[str, list[str]]:
    return {str(one.external_id): statements_of(one.text, one.captions) for one in session.messages}


def _marked(item: Mapping[str, object]) -> Iterable[str]:
    """Name the turns that are marked as holding the answer, as `item_sessions` names them."""
    ids, sessions = item["haystack_session_ids"], item["haystack_sessions"]
    assert isinstance(ids, list)  # item_sessions has read both
    assert isinstance(sessions, list)
    for session_id, turns in zip(ids, sessions, strict=True):
        for number, turn in enumerate(turns, start=1):
            if turn.get("has_answer") is True and str(turn.get("content", "")).strip():
                yield f"{session_id}:{number}"


def _strings(value: object) -> set[str]:
    return {str(one) for one in value} if isinstance(value, list) else set()


class QuestionIntent(Frozen):
    """Whether a question asks for the assistant's words, and whether it was read so."""

    question_id: str
    asks_for_assistant: bool
    read_as_such: bool


class LongMemEvalLine(RecallFigures):
    """One question, what was found for it at each budget, and what was answered."""

    question_id: str
    question_type: str
    question: str
    gold: str
    unanswerable: bool
    """Whether the right answer is that nothing of it was said."""
    evidence_sessions: dict[str, dict[str, list[str]]]
    """What the turns of each evidence session state, by session and turn id."""
    evidence_turns: list[str]
    """The turns that hold the answer."""
    intent: QuestionIntent


def read_intent(model: Model, question: LongMemEvalQuestion) -> QuestionIntent:
    """Have a query read as `search` does: by rules."""
    read = model.ask(ParseIntent(question.question, question.asked_at)).answer
    return QuestionIntent(
        question_id=question.question_id,
        asks_for_assistant=question.question_type == ASSISTANT_TYPE,
        read_as_such=read is not None and read.needs_assistant,
    )


def ask_question(memory: MemoryProtocol, question: LongMemEvalQuestion, intent: QuestionIntent) -> LongMemEvalLine:
    """Ask a question of the memory that holds its haystack, under the question's id as its user."""
    return LongMemEvalLine(
        question_id=question.question_id,
        question_type=question.question_type,
        question=question.question,
        gold=question.gold,
        unanswerable=question.is_unanswerable,
        evidence_sessions=question.evidence_sessions,
        evidence_turns=question.evidence_turns,
        intent=intent,
        **dict(put(memory, question.question_id, question.question, question.asked_at)),
    )


ABSENT = "absent"
"""The verdict of a memory that abstains."""
Rates = dict[str, float | None]


class LongMemEvalScores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    session_recall: Rates
    """Share of the evidence sessions that some piece holds a turn of."""
    turn_recall: Rates
    """Share of the turns marked as holding the answer that some piece holds."""
    all_evidence_recall: Rates
    """Share of questions with all of their marked turns."""
    answer_token_recall: Rates
    """Preferences are left out: their gold answer is a rubric."""
    quote_1: float | None
    """Share of questions whose first quote is from an evidence turn; absent where a language model answered."""
    quote_3: float | None
    """The same of the first three."""
    f1_amem: float | None
    bleu1_amem: float | None


class Abstention(Frozen):
    """How often a memory says that it does not know."""

    questions: int
    """Those that have no answer."""
    abstained: float | None
    """Share of them that was not answered."""
    abstained_wrongly: float | None
    """Share of the other questions that was not answered."""


class Trigger(Frozen):
    """How well queries for the assistant's words are told from others (DimMem Table 6)."""

    precision: float | None
    recall: float | None
    f1: float | None
    questions: int
    positives: int


class LongMemEvalFigures(LongMemEvalScores):
    """All that a run's lines tell."""

    by_category: dict[str, LongMemEvalScores]
    """By type of question."""
    abstention: Abstention
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""
    read: Spent
    read_p50: float | None
    read_p95: float | None
    """Seconds of a search."""


def recompute(path: str | PathLike[str]) -> LongMemEvalFigures:
    """Compute every figure from a `questions.jsonl`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return compute([LongMemEvalLine.model_validate_json(line) for line in lines])


def compute(lines: Sequence[LongMemEvalLine]) -> LongMemEvalFigures:
    """Compute every figure from a run's lines."""
    answerable = [line for line in lines if not line.unanswerable]
    seconds = [line.read_seconds for line in lines]
    kinds = sorted({line.question_type for line in answerable})
    return LongMemEvalFigures(
        **dict(score(answerable)),
        by_category={kind: score([line for line in answerable if line.question_type == kind]) for kind in kinds},
        abstention=abstention(lines),
        deep_ratio=mean(line.went_deep for line in lines),
        read=sum((line.read for line in lines), Spent()),
        read_p50=percentile(seconds, MEDIAN),
        read_p95=percentile(seconds, NEARLY_ALL),
    )


def score(lines: Sequence[LongMemEvalLine]) -> LongMemEvalScores:
    """Score some questions that have an answer together."""
    told = [line for line in lines if line.question_type != PREFERENCE_TYPE]
    quoted, _ = split_by_answer(lines)
    _, answered = split_by_answer(told)
    return LongMemEvalScores(
        questions=len(lines),
        session_recall=at_budgets(lines, lambda pieces, line: session_recall(pieces, line.evidence_sessions)),
        turn_recall=at_budgets(lines, lambda pieces, line: evidence_recall(pieces, stated(line))),
        all_evidence_recall=at_budgets(lines, lambda pieces, line: all_evidence_recall(pieces, stated(line))),
        answer_token_recall=at_budgets(told, lambda pieces, line: answer_token_recall(pieces, line.gold)),
        quote_1=mean(quote_recall(line.quotes, line.evidence_turns, 1) for line in quoted),
        quote_3=mean(quote_recall(line.quotes, line.evidence_turns, 3) for line in quoted),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in answered),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in answered),
    )


def stated(line: LongMemEvalLine) -> dict[str, list[str]]:
    """Give what the marked turns of a question state, by id."""
    turns = {turn_id: said for session in line.evidence_sessions.values() for turn_id, said in session.items()}
    return {turn_id: turns[turn_id] for turn_id in line.evidence_turns if turn_id in turns}


def abstention(lines: Sequence[LongMemEvalLine]) -> Abstention:
    """Say how often nothing was answered, with right and wrongly."""
    return Abstention(
        questions=sum(line.unanswerable for line in lines),
        abstained=mean(line.verdict == ABSENT for line in lines if line.unanswerable),
        abstained_wrongly=mean(line.verdict == ABSENT for line in lines if not line.unanswerable),
    )


def trigger(intents: Iterable[QuestionIntent]) -> Trigger:
    """Score whether questions are read as asking for the assistant's words; None where nothing is to be divided."""
    read = list(intents)
    right = sum(one.asks_for_assistant and one.read_as_such for one in read)
    positives, named = sum(one.asks_for_assistant for one in read), sum(one.read_as_such for one in read)
    return Trigger(
        precision=right / named if named else None,
        recall=right / positives if positives else None,
        f1=2 * right / (named + positives) if named + positives else None,
        questions=len(read),
        positives=positives,
    )
