"""Learn the weights of relevance from questions with known evidence, and write them where the package ships them.

python training/relevance.py --locomo FILE --longmemeval FILE --evidence FILE --conversations FILE
    [--stores FOLDER] [--out FILE] [--encoder NAME] [--keep]

Each kind of file may be given several times, or not at all (see `training/relevance_data.py`). The
conversations are written by rules; with `--stores` they stay there, and are not written again. The figures that are
printed come from models that have not seen the conversation (cross-validation). The same files give the same weights.
Beside them go those that tell whether anything found answers a question; `--keep` fits only these, to the shipped ones.
"""

import json
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from langgraph_engram.logistic import LogisticModel, Numbers
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.retrieval.fusion import Fusion
from langgraph_engram.retrieval.passages import approximate_tokens, fit_budget, turns_of
from langgraph_engram.retrieval.queries import make_intent
from langgraph_engram.retrieval.relevance import (
    ANSWERED_FEATURES,
    ANSWERED_FILE,
    FEATURES,
    WEIGHTS_FILE,
    Relevance,
    answered_features,
    load_model,
)
from langgraph_engram.retrieval.routes import Routes
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope
from training.logistic import fit_logistic, write_weights
from training.relevance_data import READERS, LabelledConversation, LabelledQuestion, with_foreign_questions

BUDGET = 4000
"""Tokens of the passages found for a question."""
PASSAGES = 20
"""Passages of a question that are learned from."""
FOREIGN: Mapping[str, int] = {"locomo": 60, "longmemeval": 6, "evidence": 12, "conversations": 0}
"""Questions of other conversations that are asked of each."""
PASSAGE_WEIGHT = 0.2
"""The weight of each passage."""
QUESTION_WEIGHT = 4.0
"""The weight of the best passage of each question, with the question's own label."""
FOREIGN_WEIGHT = 0.5
"""The weight of a question of another conversation in whether anything answers it: fewer such are asked."""
ROUNDS = 6
"""Times that the best passage of each question is chosen again."""
FOLDS = 5
SHARES = (0.97, 0.95, 0.93, 0.91, 0.9, 0.85)
"""Shares of the answerable questions for which a threshold is reported."""
DIGITS = 4
SHIPPED = Path(__file__).resolve().parent.parent / "langgraph_engram" / "retrieval" / WEIGHTS_FILE
Kind = Literal["answerable", "unanswerable", "foreign"]
KINDS: tuple[Kind, ...] = ("answerable", "unanswerable", "foreign")
REFUSED = KINDS[1:]
ALL = "all"


@dataclass(frozen=True)
class Example:
    """One question: the features of the passages found for it, and which of them hold an answer."""

    data_set: str
    conversation: str
    features: Numbers
    labels: Numbers
    kind: Kind

    @property
    def answerable(self) -> bool:
        """Return whether anything answers the question."""
        return self.kind == "answerable"


def collect(conversations: Sequence[LabelledConversation], stores: Path, encoder: str | None) -> Iterator[Example]:
    """Remember each conversation, unless it is stored, and search it for its questions and for those of others."""
    for data_set in dict.fromkeys(conversation.data_set for conversation in conversations):
        chosen = [conversation for conversation in conversations if conversation.data_set == data_set]
        with Memory(stores / data_set, "rules", "engram", encoder=encoder) as memory:
            for conversation in with_foreign_questions(chosen, FOREIGN[data_set]):
                if not memory.status(conversation.name).turns:
                    memory.remember_sessions(conversation.sessions, user_id=conversation.name)
                for question in conversation.questions:
                    yield _example(memory, conversation, question, foreign=False)
                for question in conversation.foreign:
                    yield _example(memory, conversation, question, foreign=True)


def train(examples: Sequence[Example]) -> LogisticModel:
    """Learn from passages, and from the best passage of each question: it decides whether anything was found.

    Which passage is the best depends on the weights, so it is chosen again a few times.
    """
    known = [example for example in examples if len(example.features)]
    features = np.concatenate([example.features[:PASSAGES] for example in known])
    labels = np.concatenate([example.labels[:PASSAGES] for example in known])
    answerable = np.array([float(example.answerable) for example in known])
    row_weights = np.concatenate([np.full(len(labels), PASSAGE_WEIGHT), np.full(len(known), QUESTION_WEIGHT)])
    is_best = np.concatenate([np.zeros(len(labels)), np.ones(len(known))])
    intercept, weights = fit_logistic(features, labels, row_weights[: len(labels)])
    for _ in range(ROUNDS):
        best = np.array([example.features[np.argmax(example.features[:PASSAGES] @ weights)] for example in known])
        rows = np.column_stack([np.concatenate([features, best]), is_best])
        intercept, solution = fit_logistic(rows, np.concatenate([labels, answerable]), row_weights)
        weights = solution[:-1]
    named = {name: round(float(value), DIGITS) for name, value in zip(FEATURES, weights, strict=True)}
    return LogisticModel(FEATURES, round(intercept, DIGITS), named)


def train_answered(examples: Sequence[Example], model: LogisticModel) -> LogisticModel:
    """Learn whether anything that was found answers a question, given the weights of relevance."""
    known = [example for example in examples if len(example.features)]
    rows = np.stack([answered_features(example.features, model.probability(example.features)) for example in known])
    labels = np.array([float(example.answerable) for example in known])
    row_weights = np.array([FOREIGN_WEIGHT if example.kind == "foreign" else 1.0 for example in known])
    intercept, weights = fit_logistic(rows, labels, row_weights)
    named = {name: round(float(value), DIGITS) for name, value in zip(ANSWERED_FEATURES, weights, strict=True)}
    return LogisticModel(ANSWERED_FEATURES, round(intercept, DIGITS), named)


def cross_validated(examples: Sequence[Example]) -> list[Numbers]:
    """Return the relevance of each example's passages by a model that has not seen its conversation."""
    folds: dict[str, int] = {}
    for data_set in dict.fromkeys(example.data_set for example in examples):
        names = dict.fromkeys(example.conversation for example in examples if example.data_set == data_set)
        folds |= {name: number % FOLDS for number, name in enumerate(names)}
    models = [
        train(rest) if (rest := [example for example in examples if folds[example.conversation] != fold]) else None
        for fold in range(FOLDS)
    ]
    estimates = []
    for example in examples:
        model = models[folds[example.conversation]]
        assert model is not None
        estimates.append(model.probability(example.features))
    return estimates


def figures(examples: Sequence[Example], estimates: Sequence[Numbers]) -> dict[str, object]:
    """Return figures of the best relevance of each question: areas by data set, and shares above thresholds."""
    scores: defaultdict[tuple[str, Kind], list[float]] = defaultdict(list)
    for example, estimate in zip(examples, estimates, strict=True):
        for name in (example.data_set, ALL):
            scores[name, example.kind].append(float(estimate.max(initial=0.0)))
    names = [*dict.fromkeys(example.data_set for example in examples), ALL]
    thresholds = [float(np.quantile(scores[ALL, "answerable"], 1 - share)) for share in SHARES]
    return {
        "roc_area": {
            name: {kind: roc_area(scores[name, "answerable"], scores[name, kind]) for kind in REFUSED} for name in names
        },
        "thresholds": {
            f"{threshold:.3f}": {
                name: {kind: share_above(scores[name, kind], threshold) for kind in KINDS} for name in names
            }
            for threshold in thresholds
        },
        "passages": calibration(examples, estimates),
        "found_first": [found_among(examples, estimates, most) for most in (1, 3)],
    }


def roc_area(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return how often a positive scores above a negative, ties counted half; None where one of them is missing."""
    if not positive or not negative:
        return None
    above, below = np.array(positive)[:, None], np.array(negative)[None, :]
    return round(float(((above > below) + 0.5 * (above == below)).mean()), DIGITS)


def share_above(scores: Sequence[float], threshold: float) -> float | None:
    """Return the share of scores that reach a threshold; None for no score."""
    return round(float(np.mean(np.array(scores) >= threshold)), DIGITS) if scores else None


def calibration(examples: Sequence[Example], estimates: Sequence[Numbers]) -> list[tuple[int, float, float]]:
    """Return, for each tenth of relevance, the number of passages, their mean relevance, and the share that answer."""
    labels = np.concatenate([example.labels[:PASSAGES] for example in examples])
    found = np.concatenate([estimate[:PASSAGES] for estimate in estimates])
    tenths = np.minimum((found * 10).astype(int), 9)
    return [
        (
            int((tenths == tenth).sum()),
            round(float(found[tenths == tenth].mean()), DIGITS),
            round(float(labels[tenths == tenth].mean()), DIGITS),
        )
        for tenth in np.unique(tenths)
    ]


def found_among(examples: Sequence[Example], estimates: Sequence[Numbers], most: int) -> dict[str, float]:
    """Return how often one of the first passages answers an answerable question: as found, and by relevance."""
    answerable = [pair for pair in zip(examples, estimates, strict=True) if pair[0].answerable]
    as_found = [example.labels[:most].max(initial=0.0) for example, _ in answerable]
    by_relevance = [
        example.labels[np.argsort(-estimate, kind="stable")[:most]].max(initial=0.0) for example, estimate in answerable
    ]
    return {
        "as_found": round(float(np.mean(as_found)), DIGITS),
        "by_relevance": round(float(np.mean(by_relevance)), DIGITS),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Learn the weights of relevance.")
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--stores", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--encoder", default=None)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args(arguments)
    conversations = [
        conversation for name, read in READERS.items() for path in getattr(chosen, name) for conversation in read(path)
    ]
    with ExitStack() as stack:
        folder = chosen.stores or Path(stack.enter_context(TemporaryDirectory(prefix="engram-relevance-")))
        examples = list(collect(conversations, folder, chosen.encoder))
    print(json.dumps(figures(examples, cross_validated(examples)), indent=1))
    learned = {} if chosen.keep else {chosen.out: train(examples)}
    model = learned.get(chosen.out, load_model())
    learned[chosen.out.with_name(ANSWERED_FILE)] = train_answered(examples, model)
    for path, fitted in learned.items():
        write_weights(fitted.intercept, fitted.weights, path)
        print(f"wrote {path}")


def _example(
    memory: Memory, conversation: LabelledConversation, question: LabelledQuestion, *, foreign: bool
) -> Example:
    index, settings = memory.store.index(Scope(user_id=conversation.name)), memory.settings.retrieve
    now = question.asked_at or index.newest
    intent = make_intent(
        question.text, RuleModel().ask(ParseIntent(question.text, now, tuple(index.speakers))).answer, now
    )
    scores = Routes(memory.store.encoder, settings).score(index, intent)
    ranked = Fusion(index, intent, scores, settings).ranked(settings.exchange_reach)
    found = fit_budget(ranked, BUDGET, size_of=approximate_tokens(index, settings))
    features = Relevance(index, intent, scores.query).features(found)
    answers = [
        any(index.turns.items[position].external_id in question.evidence for position in turns_of(index, candidate))
        for candidate in found
    ]
    return Example(
        data_set=conversation.data_set,
        conversation=conversation.name,
        features=features,
        labels=np.array(answers, dtype=np.float64) * (not foreign),
        kind="foreign" if foreign else "answerable" if question.is_answerable else "unanswerable",
    )


if __name__ == "__main__":
    main()
