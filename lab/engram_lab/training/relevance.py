"""Learn the weights of relevance from questions with known evidence, and write them where the package ships them.

python -m engram_lab.training.relevance --locomo FILE --longmemeval FILE --evidence FILE --conversations FILE
    [--stores FOLDER] [--out FILE] [--encoder NAME]

Each kind of file may be given several times, or not at all (see `engram_lab.training.relevance_data`). The
conversations are written by rules; with `--stores` they stay there, and are not written again. The same files give the
same weights.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from engram_lab.training import SHIPPED
from engram_lab.training.logistic import fit_logistic, rounded, stored, write
from engram_lab.training.relevance_data import READERS, LabelledConversation, LabelledQuestion, with_foreign_questions
from langgraph_engram.logistic import LogisticRegression, Numbers
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.retrieval.fusion import Fusion
from langgraph_engram.retrieval.light import EXCHANGE_REACH
from langgraph_engram.retrieval.passages import approximate_tokens, turns_of
from langgraph_engram.retrieval.pool import fit_budget
from langgraph_engram.retrieval.queries import make_intent
from langgraph_engram.retrieval.relevance import FEATURES, WEIGHTS_FILE, Relevance
from langgraph_engram.retrieval.scoring import score_routes
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope

BUDGET = 4000
"""Tokens of the passages found for a question."""
PASSAGES = 20
"""Passages of a question that are learned from."""
FOREIGN: Mapping[str, int] = {"locomo": 60, "longmemeval": 6, "evidence": 12, "conversations": 0}
"""Questions of other conversations that are asked of each."""
PASSAGE_WEIGHT = 0.2
QUESTION_WEIGHT = 4.0
"""The weight of the best passage of each question, with the question's own label."""
ROUNDS = 6
"""Times that the best passage of each question is chosen again."""
DIGITS = 4


@dataclass(frozen=True)
class Example:
    """One question: the features of the passages found for it, and which of them hold an answer."""

    features: Numbers
    labels: Numbers
    answerable: bool


def collect(
    data_sets: Mapping[str, Sequence[LabelledConversation]], stores: Path, encoder: str | None
) -> Iterator[Example]:
    """Remember each conversation, unless it is stored, and search it for its questions and for those of others."""
    for data_set, conversations in data_sets.items():
        with Memory(stores / data_set, "rules", "engram", encoder=encoder) as memory:
            for conversation in with_foreign_questions(conversations, FOREIGN[data_set]):
                if not memory.status(conversation.name).turns:
                    memory.remember_sessions(conversation.sessions, user_id=conversation.name)
                for question in conversation.questions:
                    yield _example(memory, conversation.name, question)


def train(examples: Sequence[Example]) -> LogisticRegression:
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
    return rounded(FEATURES, intercept, weights, DIGITS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Learn the weights of relevance.")
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--stores", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=SHIPPED / "retrieval" / WEIGHTS_FILE)
    parser.add_argument("--encoder", default=None)
    chosen = parser.parse_args(arguments)
    files = {name: getattr(chosen, name) for name in READERS if getattr(chosen, name)}
    data_sets = {name: [read for path in paths for read in READERS[name](path)] for name, paths in files.items()}
    with TemporaryDirectory(prefix="engram-relevance-") as temporary:
        examples = list(collect(data_sets, chosen.stores or Path(temporary), chosen.encoder))
    write(stored(train(examples)), chosen.out)


def _example(memory: Memory, user_id: str, question: LabelledQuestion) -> Example:
    index, settings = memory.store.index(Scope(user_id=user_id)), memory.settings.retrieve
    now = question.asked_at or index.turns.newest
    intent = make_intent(
        question.text, RuleModel().ask(ParseIntent(question.text, now, tuple(index.turns.speakers))).answer, now
    )
    scores = score_routes(memory.store.encoder, settings.routes, index, intent)
    ranked = Fusion(index, intent, scores).ranked(EXCHANGE_REACH)
    found = fit_budget(ranked, BUDGET, size_of=approximate_tokens(index))
    features = Relevance(index, intent, scores.query).features(found)
    answers = [
        any(index.turns.items[position].external_id in question.evidence for position in turns_of(index, candidate))
        for candidate in found
    ]
    return Example(features=features, labels=np.array(answers, dtype=np.float64), answerable=question.is_answerable)


if __name__ == "__main__":
    main()
