"""Learn the weights of relevance from questions with known evidence, and write them where the package ships them.

python training/relevance.py --locomo FILE --longmemeval FILE --evidence FILE --conversations FILE
    [--stores FOLDER] [--out FILE] [--encoder NAME]

Each kind of file may be given several times, or not at all (`training/asked_conversations.py` says what they hold). The
conversations are written by rules; with `--stores` they stay there, and are not written again. The figures that are
printed come from models that have not seen the conversation (cross-validation). The same files give the same weights.
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

from langgraph_engram.memory import Memory
from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.retrieval.queries import make_intent
from langgraph_engram.retrieval.relevance import FEATURES, WEIGHTS_FILE, RelevanceModel, relevance_features
from langgraph_engram.retrieval.routes import first_person_query
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.state import RecallRequest
from training.asked_conversations import READERS, AskedConversation, AskedQuestion, with_foreign_questions
from training.logistic import Numbers, fit_logistic

BUDGET = 4000
"""Tokens of the passages that are looked at."""
PASSAGES = 20
"""Passages of a question that are learned from."""
FOREIGN: Mapping[str, int] = {"locomo": 60, "longmemeval": 6, "evidence": 12, "conversations": 0}
"""Questions of other conversations that are put to each."""
PASSAGE_WEIGHT = 0.2
QUESTION_WEIGHT = 4.0
"""What each passage counts, and what the best passage of a question counts besides, with the question's own label."""
ROUNDS = 6
"""Times that the best passage of each question is chosen anew."""
FOLDS = 5
KEPT = (0.97, 0.95, 0.93, 0.91, 0.9, 0.85)
"""Shares of the answerable questions for which a threshold is told."""
DIGITS = 4
SHIPPED = Path(__file__).resolve().parent.parent / "langgraph_engram" / "retrieval" / WEIGHTS_FILE
Kind = Literal["answerable", "unanswerable", "foreign"]
KINDS: tuple[Kind, ...] = ("answerable", "unanswerable", "foreign")
REFUSED = KINDS[1:]
ALL = "all"


@dataclass(frozen=True)
class Lesson:
    """One question: the numbers of the passages found for it, and which of them hold an answer."""

    data_set: str
    conversation: str
    features: Numbers
    labels: Numbers
    kind: Kind

    @property
    def answerable(self) -> bool:
        """Return whether anything answers the question."""
        return self.kind == "answerable"


def collect(conversations: Sequence[AskedConversation], stores: Path, encoder: str | None) -> Iterator[Lesson]:
    """Write each conversation, unless it stands there, and search it for its questions and for those of others."""
    for data_set in dict.fromkeys(one.data_set for one in conversations):
        chosen = [one for one in conversations if one.data_set == data_set]
        with Memory(stores / data_set, "rules", "engram", encoder=encoder) as memory:
            for one in with_foreign_questions(chosen, FOREIGN[data_set]):
                if not memory.status(one.name).turns:
                    memory.remember_sessions(one.sessions, user_id=one.name)
                for question in one.questions:
                    yield _lesson(memory, one, question, foreign=False)
                for question in one.foreign:
                    yield _lesson(memory, one, question, foreign=True)


def train(lessons: Sequence[Lesson]) -> RelevanceModel:
    """Learn from passages, and from the best passage of each question: it decides whether anything was found.

    Which passage is the best depends on the weights, so that it is chosen anew a few times.
    """
    known = [one for one in lessons if len(one.features)]
    features = np.concatenate([one.features[:PASSAGES] for one in known])
    labels = np.concatenate([one.labels[:PASSAGES] for one in known])
    answerable = np.array([float(one.answerable) for one in known])
    counts = np.concatenate([np.full(len(labels), PASSAGE_WEIGHT), np.full(len(known), QUESTION_WEIGHT)])
    is_best = np.concatenate([np.zeros(len(labels)), np.ones(len(known))])
    intercept, weights = fit_logistic(features, labels, counts[: len(labels)])
    for _ in range(ROUNDS):
        best = np.array([one.features[np.argmax(one.features[:PASSAGES] @ weights)] for one in known])
        rows = np.column_stack([np.concatenate([features, best]), is_best])
        intercept, solution = fit_logistic(rows, np.concatenate([labels, answerable]), counts)
        weights = solution[:-1]
    named = {name: round(float(value), DIGITS) for name, value in zip(FEATURES, weights, strict=True)}
    return RelevanceModel(round(intercept, DIGITS), named)


def cross_validated(lessons: Sequence[Lesson]) -> list[Numbers]:
    """Return the relevance of each lesson's passages by a model that has not seen its conversation."""
    folds: dict[str, int] = {}
    for data_set in dict.fromkeys(one.data_set for one in lessons):
        names = dict.fromkeys(one.conversation for one in lessons if one.data_set == data_set)
        folds |= {name: number % FOLDS for number, name in enumerate(names)}
    models = [
        train(rest) if (rest := [one for one in lessons if folds[one.conversation] != fold]) else None
        for fold in range(FOLDS)
    ]
    found = []
    for one in lessons:
        model = models[folds[one.conversation]]
        assert model is not None
        found.append(model.probability(one.features))
    return found


def figures(lessons: Sequence[Lesson], estimates: Sequence[Numbers]) -> dict[str, object]:
    """Return what the best relevance of each question tells: areas by data set, and what thresholds keep and refuse."""
    scores: defaultdict[tuple[str, Kind], list[float]] = defaultdict(list)
    for lesson, estimate in zip(lessons, estimates, strict=True):
        for name in (lesson.data_set, ALL):
            scores[name, lesson.kind].append(float(estimate.max(initial=0.0)))
    names = [*dict.fromkeys(lesson.data_set for lesson in lessons), ALL]
    thresholds = [float(np.quantile(scores[ALL, "answerable"], 1 - share)) for share in KEPT]
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
        "passages": calibration(lessons, estimates),
        "found_first": [found_among(lessons, estimates, most) for most in (1, 3)],
    }


def roc_area(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return how often a positive scores above a negative, ties counted half; None where one of them is missing."""
    if not positive or not negative:
        return None
    ours, others = np.array(positive)[:, None], np.array(negative)[None, :]
    return round(float(((ours > others) + 0.5 * (ours == others)).mean()), DIGITS)


def share_above(scores: Sequence[float], threshold: float) -> float | None:
    """Return the share of scores that reach a threshold; None for no score."""
    return round(float(np.mean(np.array(scores) >= threshold)), DIGITS) if scores else None


def calibration(lessons: Sequence[Lesson], estimates: Sequence[Numbers]) -> list[tuple[int, float, float]]:
    """Return, for each tenth of relevance, the number of passages, their mean relevance, and the share that answer."""
    labels = np.concatenate([lesson.labels[:PASSAGES] for lesson in lessons])
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


def found_among(lessons: Sequence[Lesson], estimates: Sequence[Numbers], most: int) -> dict[str, float]:
    """Return how often one of the first passages answers an answerable question: as found, and by relevance."""
    asked = [one for one in zip(lessons, estimates, strict=True) if one[0].answerable]
    as_found = [lesson.labels[:most].max(initial=0.0) for lesson, _ in asked]
    by_relevance = [lesson.labels[np.argsort(-one, kind="stable")[:most]].max(initial=0.0) for lesson, one in asked]
    return {
        "as_found": round(float(np.mean(as_found)), DIGITS),
        "by_relevance": round(float(np.mean(by_relevance)), DIGITS),
    }


def write(model: RelevanceModel, path: Path) -> None:
    """Write a model as the package reads it."""
    stored = {"intercept": model.intercept, "weights": dict(model.weights)}
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Learn the weights of relevance.")
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--stores", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--encoder", default=None)
    chosen = parser.parse_args(arguments)
    conversations = [one for name, read in READERS.items() for path in getattr(chosen, name) for one in read(path)]
    with ExitStack() as stack:
        folder = chosen.stores or Path(stack.enter_context(TemporaryDirectory(prefix="engram-relevance-")))
        lessons = list(collect(conversations, folder, chosen.encoder))
    print(json.dumps(figures(lessons, cross_validated(lessons)), indent=1))
    write(train(lessons), chosen.out)
    print(f"wrote {chosen.out}")


def _lesson(memory: Memory, conversation: AskedConversation, question: AskedQuestion, *, foreign: bool) -> Lesson:
    request = RecallRequest(query=question.text, user_id=conversation.name, mode="search", budget=BUDGET)
    index = memory.store.index(Scope(user_id=conversation.name))
    now = question.asked_at or index.newest
    intent = make_intent(
        question.text, RuleModel().ask(ParseIntent(question.text, now, tuple(index.speakers))).answer, now
    )
    search = LightRetrieve(memory.store, memory.settings.retrieve)
    passages = search({"request": request, "query": question.text, "intent": intent})["evidence"]
    features = relevance_features(index, intent, memory.store.encoder.encode([first_person_query(intent)])[0], passages)
    answers = [any(turn.external_id in question.evidence for turn in passage.turns) for passage in passages]
    return Lesson(
        data_set=conversation.data_set,
        conversation=conversation.name,
        features=features,
        labels=np.array(answers, dtype=np.float64) * (not foreign),
        kind="foreign" if foreign else "answerable" if question.is_answerable else "unanswerable",
    )


if __name__ == "__main__":
    main()
