"""Have a language model judge the answers of a run (`engram bench judge`), and compute the accuracy.

Verdicts are kept beside the answers, in a file for each protocol and judge. Where a judge gives no valid verdict the
line is marked as failed: it counts apart, never as wrong, and is asked again by the next run.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from os import fspath
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from engram_lab.datasets import TEMPORAL, read_as
from engram_lab.harness import Figures, Progress, StrPath, bootstrap_interval, cost, mean
from engram_lab.judge_protocols import (
    ABSTENTION_KIND,
    BEAM,
    PROTOCOLS,
    TEMPORAL_KIND,
    JudgedAnswer,
    Label,
    RubricScores,
    judging_question,
    rules_of,
)
from engram_lab.reading import GOLD, LEVEL1
from engram_lab.resume import QUESTIONS_FILE, KeyedLine, LineKey, check_unique, open_run, whole_lines
from langgraph_engram.errors import InvalidInput, ModelUnavailable, UnreadableFile
from langgraph_engram.llm.base import Model
from langgraph_engram.llm.replies import RequestFailure
from langgraph_engram.results import Usage, total
from langgraph_engram.rule_model.model import RuleModel

ANSWERING_BENCHES = "`engram bench locomo`, `longmemeval`, `beam` or `reading`"
GOLD_STANDS = "WRONG_CITATION"
"""The finding of an audit that leaves the gold answer as it is."""
NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")


class AnswerLine(JudgedAnswer):
    """What is judged of a line: the rest of it, which the benches do not share, is passed over."""

    reader: str = ""
    sample: str = ""
    index: int | None = None
    category: int | None = None
    question_id: str = ""
    question_type: str = ""
    unanswerable: bool = False

    @property
    def key(self) -> LineKey:
        """Return what identifies the answer in its file."""
        if self.question_id:
            return (self.reader, self.question_id)
        ability = (self.question_type,) if self.rubric else ()
        return (self.reader, self.sample, *ability, self.index or 0)

    @property
    def kind(self) -> str:
        """Return the type of the question, as LongMemEval names it."""
        if self.unanswerable:
            return ABSTENTION_KIND
        return TEMPORAL_KIND if self.category == TEMPORAL else self.question_type

    @property
    def group(self) -> str:
        """Return the category under which it is reported: one without an answer stays in its type, as in the papers."""
        return str(self.category) if self.category is not None else self.question_type


class JudgedLine(KeyedLine):
    """An answer and its verdict."""

    answer_key: list[str | int]
    reader: str
    category: str
    unanswerable: bool = False
    question: str
    gold: str
    answer: str
    label: Label | None = None
    """None where the judge gave no valid verdict, or scored the points of a rubric."""
    points: list[float] | None = None
    """The score of each point of the rubric, 0, .5 or 1."""
    reason: str = ""
    failure: str = ""
    usage: Usage

    @property
    def key(self) -> LineKey:
        """Return the key of the answer."""
        return tuple(self.answer_key)

    @property
    def score(self) -> float | None:
        """Return how right the answer is, in [0, 1]; None where the judge gave no valid verdict."""
        if self.points is not None:
            return mean(self.points)
        return float(self.label == "CORRECT") if self.label else None


class AuditEntry(BaseModel):
    """What an audit finds of one question."""

    question_id: str = Field(pattern=r"^locomo_\d+_qa\d+$")
    question: str
    error_type: str


def run_judge(
    lines: StrPath,
    model: Model,
    protocol: str,
    *,
    errors: StrPath | None = None,
    concurrency: int = 1,
    progress: Progress = None,
) -> Figures:
    """Judge the answers of a run, those without a verdict of this judge."""
    path = Path(lines) / QUESTIONS_FILE if Path(lines).is_dir() else Path(lines)
    if protocol not in PROTOCOLS:
        raise InvalidInput(f"unknown protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    if isinstance(model, RuleModel):
        raise InvalidInput("rules cannot judge answers: name a language model with --model")
    lines_of_run = read_answers(path)
    check_unique((line.key for line in lines_of_run), path)
    answers = {line.key: line for line in lines_of_run}
    wrong = read_audit(errors) if errors is not None else None
    if protocol == BEAM and not all(line.rubric for line in lines_of_run):
        raise InvalidInput(f"{path} has answers without a rubric: the protocol beam is for `engram bench beam`")
    if wrong is not None and not any(line.category for line in lines_of_run):
        raise InvalidInput(f"{fspath(errors or '')} is about LoCoMo's answers, and {path} has none")
    name = f"judged-{protocol}-{NOT_IN_FILE_NAMES.sub('_', model.name)}"
    rules = hashlib.sha256("\n".join(rules_of(protocol)).encode()).hexdigest()
    made_with = {"command": "judge", "protocol": protocol, "judge": model.name, "rules": rules}
    with open_run(path.parent, made_with, JudgedLine, f"{name}.jsonl", f"{name}.json") as run:
        before = run.lines_of(answers)
        _check_answers(before, answers, path.parent / f"{name}.jsonl")
        run.forget([line.key for line in before if line.score is None])
        run.ask_all(answers, lambda line: judge(model, protocol, line), concurrency, progress, "judging")
        judged = run.finish(answers)
    readers = dict.fromkeys(line.reader for line in judged)
    by_reader = {
        name: {**_report(own, answers, wrong), **(_failures(own, judged) if LEVEL1 in readers else {})}
        for name in readers
        if (own := [line for line in judged if line.reader == name])
    }
    return {
        "judge": model.name,
        "protocol": protocol,
        "resumed": run.resumed,
        **({"readers": by_reader} if any(readers) else by_reader[""]),
        "usage": cost([line.usage for line in judged]),
    }


def judge(model: Model, protocol: str, line: AnswerLine) -> JudgedLine:
    """Ask the judge about one answer."""
    result = model.ask(judging_question(protocol, line.kind, line))
    if isinstance(result.failure, RequestFailure) and result.failure.affects_all:
        raise ModelUnavailable(f"{model.name} cannot judge: {result.failure.reason}")
    verdict, failure = result.answer, result.failure.reason if result.failure else ""
    points: list[float] | None = None
    if isinstance(verdict, RubricScores):
        points = [float(score) for score in verdict.scores]
        if len(points) != len(line.rubric):
            points, failure = None, f"{len(verdict.scores)} scores for {len(line.rubric)} points"
    return JudgedLine(
        answer_key=list(line.key),
        category=line.group,
        label=getattr(verdict, "label", None),
        points=points,
        reason=getattr(verdict, "reason", ""),
        failure=failure,
        usage=total([result.usage]),
        **line.model_dump(include={"reader", "unanswerable", "question", "gold", "answer"}),
    )


def read_answers(path: Path) -> list[AnswerLine]:
    """Read the answers of a run; a last line that is still being written is left out."""
    refusal = UnreadableFile(f"{path} holds no answers: give the lines of {ANSWERING_BENCHES}")
    try:
        answers = [AnswerLine.model_validate_json(line) for line in whole_lines(path).splitlines()]
    except (OSError, ValidationError) as error:
        raise refusal from error
    if not any(answer.answer for answer in answers):
        raise refusal
    return answers


def read_audit(path: StrPath) -> set[tuple[int | None, str]]:
    """Read which questions of LoCoMo have a gold answer that an audit finds wrong, by index and text.

    An audit is a list of objects with `question_id` ("locomo_0_qa2": sample, index), `question` and `error_type`.
    """
    audit = read_as(list[AuditEntry], path, "a list of question_id, question and error_type")
    return {
        (int(entry.question_id.rpartition("_qa")[2]), entry.question)
        for entry in audit
        if entry.error_type != GOLD_STANDS
    }


def _check_answers(judged: Sequence[JudgedLine], answers: Mapping[LineKey, AnswerLine], path: Path) -> None:
    """Compare the answers that have a verdict with those of the run."""
    for line in judged:
        answer = answers[line.key]
        if (line.question, line.gold, line.answer) != (answer.question, answer.gold, answer.answer):
            raise InvalidInput(f"{path} judges another answer to {line.question!r}: delete it, or give another folder")


def _report(
    judged: Sequence[JudgedLine], answers: Mapping[LineKey, AnswerLine], wrong: set[tuple[int | None, str]] | None
) -> Figures:
    """Return the figures of all answers, and of those whose gold answer stands."""
    figures = _figures(judged)
    if wrong is None:
        return figures
    asked = {key: (line.index, line.question) for key, line in answers.items()}
    stand = [line for line in judged if asked[line.key] not in wrong]
    return {**figures, "audited": {"left_out": len(judged) - len(stand), **_figures(stand)}}


def _figures(judged: Sequence[JudgedLine]) -> Figures:
    categories = sorted({line.category for line in judged})
    by_category = {name: _accuracy([line for line in judged if line.category == name]) for name in categories}
    unanswerable = [line for line in judged if line.unanswerable]
    abstention = {ABSTENTION_KIND: _accuracy(unanswerable)} if unanswerable else {}
    return {**_accuracy(judged), "by_category": by_category, **abstention}


def _failures(own: Sequence[JudgedLine], judged: Sequence[JudgedLine]) -> Figures:
    """Return the share of questions that a reader gets wrong by what would have helped (HyMem section 3.1).

    The key sentences of the right units: `retrieval`; else the turns that hold the answer: `compression`.
    """
    right = {line.key for line in judged if line.score == 1.0}
    wrong = [line.key[1:] for line in own if line.score == 0.0]
    helped = ["retrieval" if (LEVEL1, *key) in right else "compression" if (GOLD, *key) in right else "reasoning"
              for key in wrong]  # fmt: skip
    return {"failures": {name: helped.count(name) / len(own) for name in ("retrieval", "compression", "reasoning")}}


def _accuracy(judged: Sequence[JudgedLine]) -> Figures:
    """Count right answers. What failed is not in the accuracy, nor in its 95 % interval (bootstrap over questions)."""
    scores = [score for line in judged if (score := line.score) is not None]
    low, high = bootstrap_interval(scores) if scores else (None, None)
    return {
        "questions": len(judged),
        "correct": scores.count(1.0),
        "failed": len(judged) - len(scores),
        "accuracy": mean(scores),
        "low": low,
        "high": high,
    }
