"""Run LongMemEval (Wu et al., ICLR 2025) on a memory: write each haystack, ask its question, compute the figures.

Each question has a haystack and a memory of its own, which is gone once it is answered, and is asked at its own date.
Evidence comes from `search`, answers from `recall`. Questions that have no answer count for abstention alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path

from langgraph_engram.benchmarks.answer_scores import bleu1_amem, f1_amem
from langgraph_engram.benchmarks.evidence_scores import (
    BUDGETS,
    all_evidence_recall,
    answer_token_recall,
    evidence_recall,
    quote_recall,
    session_recall,
    statements_of,
)
from langgraph_engram.benchmarks.harness import (
    MEDIAN,
    NEARLY_ALL,
    Measured_co,
    MemoryProtocol,
    Progress,
    RecallFigures,
    RunUsage,
    Setup,
    WriteFigures,
    add_usage,
    mean,
    mean_at_budgets,
    measure_recall,
    percentile,
    recall_times,
    shown_means,
    split_by_answer,
    write_counts,
)
from langgraph_engram.benchmarks.resume import KeyedLine, LineKey, RunFolder, check_unique, fingerprint, open_run
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.datasets import item_sessions, listed, read_time
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import Session, shown
from langgraph_engram.llm.base import Model
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Frozen

ABSTENTION = "_abs"
"""The suffix of the id of a question that has no answer in its haystack."""
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
        """Whether the right answer is that nothing was said about it."""
        return self.question_id.endswith(ABSTENTION)


def read_questions(path: str | PathLike[str]) -> list[LongMemEvalQuestion]:
    """Read a file's questions, in order: JSON or JSON lines, gzipped or not.

    Raises:
        UnreadableFile: The file is missing or is not LongMemEval's.
        InvalidMessages: A turn of it cannot be stored.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        return [_read_question(item, number) for number, item in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error


def _read_question(item: Mapping[str, object], number: int) -> LongMemEvalQuestion:
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
        evidence_turns=list(_marked_turns(item)) if sessions else [],
    )


def _statements(session: Session) -> dict[str, list[str]]:
    return {str(message.external_id): statements_of(message.text, message.captions) for message in session.messages}


def _marked_turns(item: Mapping[str, object]) -> Iterable[str]:
    """Yield the ids of the turns that are marked as holding the answer, as `item_sessions` names them."""
    ids, sessions = item["haystack_session_ids"], item["haystack_sessions"]
    assert isinstance(ids, list)  # item_sessions has read both
    assert isinstance(sessions, list)
    for session_id, turns in zip(ids, sessions, strict=True):
        for number, turn in enumerate(turns, start=1):
            if turn.get("has_answer") is True and str(turn.get("content", "")).strip():
                yield f"{session_id}:{number}"


def _strings(value: object) -> set[str]:
    return {str(item) for item in value} if isinstance(value, list) else set()


ABSENT = "absent"
"""The verdict of a memory that abstains."""
Rates = dict[str, float | None]


class QuestionIntent(Frozen):
    """Whether a question asks for the assistant's words, and whether it was read so."""

    question_id: str
    asks_for_assistant: bool
    read_as_such: bool


class LongMemEvalLine(RecallFigures, KeyedLine):
    """One question, what was found for it at each budget, and what was answered."""

    question_id: str
    question_type: str
    question: str
    gold: str
    unanswerable: bool
    """Whether the right answer is that nothing was said about it."""
    evidence_sessions: dict[str, dict[str, list[str]]]
    """What the turns of each evidence session state, by session and turn id."""
    evidence_turns: list[str]
    """The turns that hold the answer."""
    intent: QuestionIntent

    @property
    def key(self) -> LineKey:
        """Return the question's id."""
        return (self.question_id,)


class LongMemEvalScores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    session_recall: Rates
    """Share of the evidence sessions that some passage holds a turn of."""
    turn_recall: Rates
    """Share of the turns marked as holding the answer that some passage holds."""
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
    """How often a memory answers that it does not know."""

    questions: int
    """Those that have no answer."""
    abstained: float | None
    """Share of them that was not answered."""
    abstained_wrongly: float | None
    """Share of the other questions that was not answered."""


class AssistantTrigger(Frozen):
    """How well queries for the assistant's words are recognised (DimMem Table 6)."""

    precision: float | None
    recall: float | None
    f1: float | None
    questions: int
    positives: int


class LongMemEvalFigures(LongMemEvalScores):
    """All figures of a run's lines."""

    by_category: dict[str, LongMemEvalScores]
    """By type of question."""
    abstention: Abstention
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""
    read: RunUsage
    read_p50: float | None
    read_p95: float | None
    """Seconds of a search."""


def run_longmemeval(
    path: str | PathLike[str],
    setup: Setup[Measured_co],
    *,
    limit: int | None = None,
    out: str | PathLike[str] | None = None,
    concurrency: int = 1,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a memory on a LongMemEval file.

    Args:
        path: The file, gzipped or not; it is read, never copied. Items without a haystack count for
            `assistant_trigger` alone, and only where rules read the queries.
        setup: What is measured.
        limit: The first questions up to this number; only their haystacks are written.
        out: A folder for `questions.jsonl`, one line a question, from which every figure can be recomputed. A run that
            was cut short goes on there; with a higher limit, one that was not.
        concurrency: How many haystacks are written and asked at once.
        progress: Called with each step.

    Returns:
        The figures as plain JSON: rates in [0, 1], times in seconds, None for what does not apply.

    Raises:
        InvalidInput: `limit` leaves no question, or the folder holds a run of other settings.
        UnreadableFile: The file is missing or is not LongMemEval's.
    """
    questions = read_questions(path)[:limit]
    if not questions:
        raise InvalidInput(f"no question to ask: limit is {limit!r}, and must be at least 1")
    check_unique(map(_key, questions), path)
    by_rules = {} if setup.intent_model else _read_intents(questions)
    made_with = {"command": "longmemeval", "data": fingerprint(path), "budgets": BUDGETS, **setup.described()}
    asked = {
        _key(question): (f"{number}", question, by_rules.get(question.question_id))
        for number, question in enumerate(questions)
        if question.sessions
    }
    with open_run(out, made_with, LongMemEvalLine) as run:
        run.ask_all(
            asked,
            lambda task: _run_question(run, setup, *task),
            concurrency,
            progress,
            after=lambda task: run.drop_memory(task[0]),
        )
        lines = run.finish(asked)
        written = [figures for name, _, _ in asked.values() if (figures := run.written(name))]
    return {
        **setup.names(),
        "resumed": run.resumed,
        **_report(lines, written),
        "assistant_trigger": score_trigger(by_rules.values() or [line.intent for line in lines]).model_dump(),
    }


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
        **dict(_score(answerable)),
        by_category={kind: _score([line for line in answerable if line.question_type == kind]) for kind in kinds},
        abstention=_score_abstention(lines),
        deep_ratio=mean(line.went_deep for line in lines),
        read=add_usage(line.read for line in lines),
        read_p50=percentile(seconds, MEDIAN),
        read_p95=percentile(seconds, NEARLY_ALL),
    )


def score_trigger(intents: Iterable[QuestionIntent]) -> AssistantTrigger:
    """Score whether questions are read as asking for the assistant's words; None for a ratio that is undefined."""
    read = list(intents)
    right = sum(intent.asks_for_assistant and intent.read_as_such for intent in read)
    positives = sum(intent.asks_for_assistant for intent in read)
    named = sum(intent.read_as_such for intent in read)
    return AssistantTrigger(
        precision=right / named if named else None,
        recall=right / positives if positives else None,
        f1=2 * right / (named + positives) if named + positives else None,
        questions=len(read),
        positives=positives,
    )


def _score(lines: Sequence[LongMemEvalLine]) -> LongMemEvalScores:
    """Score some questions that have an answer together."""
    textual = [line for line in lines if line.question_type != PREFERENCE_TYPE]
    quoted, _ = split_by_answer(lines)
    _, answered = split_by_answer(textual)
    return LongMemEvalScores(
        questions=len(lines),
        session_recall=mean_at_budgets(lines, lambda shown, line: session_recall(shown, line.evidence_sessions)),
        turn_recall=mean_at_budgets(lines, lambda shown, line: evidence_recall(shown, _marked(line))),
        all_evidence_recall=mean_at_budgets(lines, lambda shown, line: all_evidence_recall(shown, _marked(line))),
        answer_token_recall=mean_at_budgets(textual, lambda shown, line: answer_token_recall(shown, line.gold)),
        quote_1=mean(quote_recall(line.quotes, line.evidence_turns, 1) for line in quoted),
        quote_3=mean(quote_recall(line.quotes, line.evidence_turns, 3) for line in quoted),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in answered),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in answered),
    )


def _marked(line: LongMemEvalLine) -> dict[str, list[str]]:
    """Return what the marked turns of a question state, by id."""
    turns = {turn_id: stated for session in line.evidence_sessions.values() for turn_id, stated in session.items()}
    return {turn_id: turns[turn_id] for turn_id in line.evidence_turns if turn_id in turns}


def _score_abstention(lines: Sequence[LongMemEvalLine]) -> Abstention:
    return Abstention(
        questions=sum(line.unanswerable for line in lines),
        abstained=mean(line.verdict == ABSENT for line in lines if line.unanswerable),
        abstained_wrongly=mean(line.verdict == ABSENT for line in lines if not line.unanswerable),
    )


def _key(question: LongMemEvalQuestion) -> LineKey:
    return (question.question_id,)


def _run_question(
    run: RunFolder[LongMemEvalLine],
    setup: Setup[Measured_co],
    name: str,
    question: LongMemEvalQuestion,
    by_rules: QuestionIntent | None,
) -> LongMemEvalLine:
    """Write a haystack and ask its question, after a search that is not timed: it loads the index."""
    user_id = question.question_id
    intent = by_rules or _read_intent(setup.intent_model or RuleModel(), question)
    run.write_memory(name, setup.open_writer, question.sessions, user_id)
    with setup.open_reader(str(run.memory(name))) as memory:
        memory.search(question.question, user_id=user_id)
        return _ask(memory, question, intent)


def _ask(memory: MemoryProtocol, question: LongMemEvalQuestion, intent: QuestionIntent) -> LongMemEvalLine:
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
        **dict(measure_recall(memory, question.question_id, question.question, question.asked_at)),
    )


def _read_intents(questions: Iterable[LongMemEvalQuestion]) -> dict[str, QuestionIntent]:
    """Read queries by rules, which costs nothing: those without a haystack too."""
    rules = RuleModel()
    return {question.question_id: _read_intent(rules, question) for question in questions}


def _read_intent(model: Model, question: LongMemEvalQuestion) -> QuestionIntent:
    """Read a query as the memory's graph does."""
    intent = model.ask(ParseIntent(question.question, question.asked_at)).answer
    return QuestionIntent(
        question_id=question.question_id,
        asks_for_assistant=question.question_type == ASSISTANT_TYPE,
        read_as_such=intent is not None and intent.needs_assistant,
    )


def _report(lines: Sequence[LongMemEvalLine], written: Sequence[WriteFigures]) -> dict[str, object]:
    """Return a run's figures under the names of the command line's JSON."""
    figures = compute(lines)
    return {
        **figures.model_dump(exclude={"read", "read_p50", "read_p95"}),
        "evidence_recall": figures.turn_recall,
        "usage": {"write": add_usage(write.usage for write in written).model_dump(), "read": figures.read.model_dump()},
        "seconds": {
            "write": sum(write.seconds for write in written),
            "write_haystack": mean(write.seconds for write in written),
            "read_p50": figures.read_p50,
            "read_p95": figures.read_p95,
            **recall_times(lines),
        },
        "shown": shown_means(lines),
        "written": write_counts(written),
    }
