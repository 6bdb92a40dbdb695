"""Run LoCoMo (Maharana et al., ACL 2024), LongMemEval (Wu et al., ICLR 2025) and BEAM (ICLR 2026) on a memory.

Each conversation is written into a memory of its own, is its user, and is asked its questions. Evidence comes from
`search`, answers from `recall`. A haystack of LongMemEval has one question, asked at its own date, and its memory goes
once it is answered; questions that have no answer count for abstention alone. The questions of BEAM are of ten
abilities, and its answers are judged by rubrics (`engram bench judge --protocol beam`).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Unpack

from nltk.metrics import f_measure, precision, recall

from engram_lab import datasets
from engram_lab.answer_scores import bleu1_amem, f1_amem, f1_locomo, scored_gold
from engram_lab.conversations import AnsweredLine, Keeping, measure, require_questions
from engram_lab.datasets import CATEGORIES, BeamQuestion, Conversation, LocomoQuestion, LongMemEvalQuestion
from engram_lab.evidence_scores import (
    SHOWN,
    all_evidence_recall,
    answer_token_recall,
    evidence_recall,
    quote_recall,
    session_recall,
)
from engram_lab.harness import MEDIAN, Figures, Setup, StrPath, mean, mean_at_budgets, percentile, split_by_answer
from langgraph_engram.errors import InvalidInput
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Frozen

ASSISTANT_TYPE = "single-session-assistant"
PREFERENCE_TYPE = "single-session-preference"
"""Questions whose answer is a rubric, not a text."""
ABSENT = "absent"
"""The verdict of a memory that abstains."""
BEAM_BUDGETS = (500, 1000, 2000, 4000, 8000)


class LocomoLine(LocomoQuestion, AnsweredLine):
    """One question, what was found for it at each budget, and what was answered."""


def run_locomo(path: StrPath, setup: Setup, *, limit: int | None = None, **keeping: Unpack[Keeping]) -> Figures:
    """Measure a memory on a LoCoMo file."""
    samples = datasets.read_locomo(path, limit)
    require_questions(samples, path, limit)
    run = measure("locomo", path, setup, samples, LocomoLine, **keeping)
    return run.report(locomo_figures(run.lines))


def locomo_figures(lines: Sequence[LocomoLine]) -> Figures:
    """Compute every figure of a run's lines, in all and by category."""
    categories = {category: [line for line in lines if line.category == category] for category in CATEGORIES}
    by_category = {str(category): _score_locomo(of_category) for category, of_category in categories.items()}
    return {**_score_locomo(lines), "by_category": by_category}


def _score_locomo(lines: Sequence[LocomoLine]) -> Figures:
    """Score some questions together: answers of a language model by their words, quotes by the turns they are from.

    `shown_tokens` is the median of the tokens that a search shows without a budget of its own.
    """
    quoted, answered = split_by_answer(lines)
    shown = [sum(count_tokens(passage.text) for passage in line.passages[SHOWN]) for line in lines]
    return {
        "questions": len(lines),
        "evidence_recall": mean_at_budgets(lines, lambda found, line: evidence_recall(found, line.evidence)),
        "all_evidence_recall": mean_at_budgets(lines, lambda found, line: all_evidence_recall(found, line.evidence)),
        "answer_token_recall": mean_at_budgets(
            lines, lambda found, line: answer_token_recall(found, scored_gold(line.gold, line.category))
        ),
        "shown_tokens": percentile(shown, MEDIAN),
        "quote_1": mean(quote_recall(line.quotes, line.evidence, 1) for line in quoted),
        "quote_3": mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
        "f1_locomo": mean(f1_locomo(line.answer, line.gold, line.category) for line in answered),
        "f1_amem": mean(f1_amem(line.answer, line.gold) for line in answered),
        "bleu1_amem": mean(bleu1_amem(line.answer, line.gold) for line in answered),
    }


class QuestionIntent(Frozen):
    """Whether a question asks for the assistant's words, and whether it was read so."""

    question_id: str
    asks_for_assistant: bool
    read_as_such: bool


class LongMemEvalLine(LongMemEvalQuestion, AnsweredLine):
    """One question, what was found for it at each budget, and what was answered."""

    intent: QuestionIntent


def run_longmemeval(path: StrPath, setup: Setup, *, limit: int | None = None, **keeping: Unpack[Keeping]) -> Figures:
    """Measure a memory on a LongMemEval file."""
    items = datasets.read_longmemeval(path)[:limit]
    if not items:
        raise InvalidInput(f"no question to ask: limit is {limit!r}, and must be at least 1")
    asked = [] if setup.intent_model else items
    by_rules = {item.name: read_intent(setup, item.questions[0], item.asked_at) for item in asked}

    def intent_of(item: Conversation[LongMemEvalQuestion], question: LongMemEvalQuestion) -> Figures:
        return {"intent": by_rules.get(item.name) or read_intent(setup, question, item.asked_at)}

    haystacks = [item for item in items if item.sessions]
    run = measure("longmemeval", path, setup, haystacks, LongMemEvalLine, intent_of, one_by_one=False, **keeping)
    trigger = score_trigger(by_rules.values() or [line.intent for line in run.lines])
    seconds = {"write_haystack": mean(write.seconds for write in run.written)}
    return run.report({**longmemeval_figures(run.lines), "assistant_trigger": trigger}, seconds)


def read_intent(setup: Setup, question: LongMemEvalQuestion, asked_at: datetime | None) -> QuestionIntent:
    """Read a query as the memory's graph does."""
    model = setup.intent_model or RuleModel()
    intent = model.ask(ParseIntent(question.question, asked_at, rules=setup.intent_rules)).answer
    return QuestionIntent(
        question_id=question.question_id,
        asks_for_assistant=question.question_type == ASSISTANT_TYPE,
        read_as_such=intent is not None and intent.needs_assistant,
    )


def longmemeval_figures(lines: Sequence[LongMemEvalLine]) -> Figures:
    """Compute every figure of a run's lines, in all and by type of question."""
    answerable = [line for line in lines if not line.unanswerable]
    figures, kinds = _score_longmemeval(answerable), sorted({line.question_type for line in answerable})
    return {
        **figures,
        "evidence_recall": figures["turn_recall"],
        "by_category": {
            kind: _score_longmemeval([line for line in answerable if line.question_type == kind]) for kind in kinds
        },
        "abstention": {
            "questions": len(lines) - len(answerable),
            "abstained": mean(line.verdict == ABSENT for line in lines if line.unanswerable),
            "abstained_wrongly": mean(line.verdict == ABSENT for line in answerable),
        },
    }


def score_trigger(intents: Iterable[QuestionIntent]) -> dict[str, float | None]:
    """Score whether queries for the assistant's words are recognised (DimMem Table 6); None for an undefined ratio."""
    read = list(intents)
    asking = {intent.question_id for intent in read if intent.asks_for_assistant}
    found = {intent.question_id for intent in read if intent.read_as_such}
    ratios = {"precision": precision(asking, found), "recall": recall(asking, found), "f1": f_measure(asking, found)}
    return {**ratios, "questions": len(read), "positives": len(asking)}


def _score_longmemeval(lines: Sequence[LongMemEvalLine]) -> Figures:
    """Score some questions that have an answer together. Words are those of answers that are no rubric."""
    textual = [line for line in lines if line.question_type != PREFERENCE_TYPE]
    quoted, _ = split_by_answer(lines)
    _, answered = split_by_answer(textual)
    return {
        "questions": len(lines),
        "session_recall": mean_at_budgets(lines, lambda found, line: session_recall(found, line.evidence_sessions)),
        "turn_recall": mean_at_budgets(lines, lambda found, line: evidence_recall(found, line.evidence)),
        "all_evidence_recall": mean_at_budgets(lines, lambda found, line: all_evidence_recall(found, line.evidence)),
        "answer_token_recall": mean_at_budgets(textual, lambda found, line: answer_token_recall(found, line.gold)),
        "quote_1": mean(quote_recall(line.quotes, line.evidence_turns, 1) for line in quoted),
        "quote_3": mean(quote_recall(line.quotes, line.evidence_turns, 3) for line in quoted),
        "f1_amem": mean(f1_amem(line.answer, line.gold) for line in answered),
        "bleu1_amem": mean(bleu1_amem(line.answer, line.gold) for line in answered),
    }


class BeamLine(BeamQuestion, AnsweredLine):
    """One question, what was found for it at each budget, and what was answered."""


def run_beam(path: StrPath, setup: Setup, *, limit: int | None = None, **keeping: Unpack[Keeping]) -> Figures:
    """Measure a memory on a BEAM file."""
    chats = datasets.read_beam(path)[:limit]
    require_questions(chats, path, limit)
    run = measure("beam", path, setup, chats, BeamLine, budgets=BEAM_BUDGETS, **keeping)
    messages = sum(len(session.messages) for chat in chats for session in chat.sessions)
    records = sum(write.counts["records"] for write in run.written)
    counts = {"messages": messages, "records_per_message": records / max(1, messages)}
    return run.report(beam_figures(run.lines), counts=counts)


def beam_figures(lines: Sequence[BeamLine]) -> Figures:
    """Compute every figure of a run's lines, in all and by ability."""
    abilities = sorted({line.question_type for line in lines})
    by_category = {name: _score_beam([line for line in lines if line.question_type == name]) for name in abilities}
    return {**_score_beam(lines), "by_category": by_category}


def _score_beam(lines: Sequence[BeamLine]) -> Figures:
    """Score some questions together; those without sources have no recall."""
    quoted, _ = split_by_answer(lines)
    return {
        "questions": len(lines),
        "source_recall": mean_at_budgets(
            lines, lambda found, line: evidence_recall(found, line.evidence), BEAM_BUDGETS
        ),
        "quote_3": mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
    }
