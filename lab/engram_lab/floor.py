"""Compare a memory with plain vector search at equal tokens: the floor below which it must not fall.

What a plain vector search finds is whole turns, or single sentences of the user's, embedded by the memory's own
encoder and ranked by their cosine to the query. What is shown counts as it does for the other benches.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from engram_lab.asked import Asked, Sets
from engram_lab.datasets import Conversation
from engram_lab.evidence_scores import Passage, fit_budget, session_recall, statements_of, to_passage
from engram_lab.harness import MEDIAN, MemoryOpener, Progress, mean, percentile
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.rendering import dated
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Frozen
from langgraph_engram.state import Message

BUDGETS = (250, 500, 1000, 2000)
"""Tokens; evidence is measured at each."""
COMPARED_AT, TOLERANCE = 1000, 0.02
"""The tokens at which a memory is held against the floor, and how much less it may show there."""
ENGRAM = "engram"

TextsOf = Callable[[Message], list[str]]
Rows = dict[str, dict[str, float | None]]
"""Rows of figures: the shares of what is needed, in [0, 1], and numbers of tokens."""


def whole_turns(message: Message) -> list[str]:
    """Return a message with its captions as one text."""
    return [" ".join([message.text, *message.captions])]


def user_sentences(message: Message) -> list[str]:
    """Return the sentences and captions of a user's message; of two friends both are users."""
    return statements_of(message.text, message.captions) if message.role == "user" else []


BASELINES: Mapping[str, TextsOf] = {"turns": whole_turns, "sentences": user_sentences}
"""What is searched, by its name beside `engram`."""


class VectorSearch:
    """Rank texts by the cosine of their vectors to a query's."""

    def __init__(self, encoder: Encoder, messages: Sequence[Message], texts_of: TextsOf) -> None:
        """Embed the texts of messages under their speakers' names; they are shown under their day, as passages are."""
        said = [(message, f"{message.speaker}: {text}") for message in messages for text in texts_of(message)]
        self._encoder = encoder
        self._vectors = encoder.encode([text for _, text in said])
        self._passages = [
            Passage(text=dated(text, message.said_at), turn_ids=[str(message.external_id)]) for message, text in said
        ]

    def search(self, query: str) -> list[Passage]:
        """Return all texts, best first."""
        cosines = self._vectors @ self._encoder.encode([query])[0]
        return [self._passages[position] for position in np.argsort(-cosines, kind="stable")]


class FoundLine(Frozen):
    """What was found of what one question or message needs, in [0, 1]; None for one that needs nothing."""

    asked: Asked
    shown: float | None
    """By a search that is given no budget."""
    tokens: int
    """Tokens of all that it shows."""
    within: dict[str, float | None]
    """By the ranking and the tokens that are shown of it: "engram 250", "turns 500"."""


def run_floor(sets: Sets, open_memory: MemoryOpener, progress: Progress = None) -> Rows:
    """Measure evidence at equal tokens: a row for each data set, for what is hard in it, and for each type."""
    rows: Rows = {}
    for name, conversations in sets.items():
        lines = search_all(conversations, open_memory, progress)
        needing = [line for line in lines if line.asked.needed]
        parts = {name: needing, f"{name}, hard": [line for line in needing if line.asked.hard]}
        for kind in sorted({line.asked.type for line in lines} - {""}):
            parts[f"{name}, {kind}"] = [line for line in lines if line.asked.type == kind]
        rows |= {part: figures(of_part) for part, of_part in parts.items() if of_part}
    return rows


def below_floor(rows: Rows, names: Iterable[str]) -> list[str]:
    """Return the data sets on which a memory shows less than a plain vector search."""
    shares = {name: [rows[name][f"{by} {COMPARED_AT}"] or 0.0 for by in (ENGRAM, *BASELINES)] for name in names}
    return [name for name, (own, *plain) in shares.items() if own < max(plain) - TOLERANCE]


def search_all(
    conversations: Sequence[Conversation[Asked]], open_memory: MemoryOpener, progress: Progress = None
) -> list[FoundLine]:
    """Remember each conversation, and search it for all that is asked."""
    lines: list[FoundLine] = []
    for number, conversation in enumerate(conversations):
        if progress:
            progress("searching", number, len(conversations))
        messages = [message for session in conversation.sessions for message in session.messages]
        with open_memory("memory:") as memory:
            memory.remember_sessions(conversation.sessions, user_id=conversation.name)
            plain = {name: VectorSearch(memory.store.encoder, messages, texts) for name, texts in BASELINES.items()}
            lines += [_find(memory, conversation, plain, asked) for asked in conversation.questions]
    return lines


def figures(lines: Sequence[FoundLine]) -> dict[str, float | None]:
    """Return the means over some lines, and the median of the tokens shown."""
    tokens = [line.tokens for line in lines]
    return {
        "asked": len(lines),
        "shown": mean(line.shown for line in lines),
        "tokens": mean(tokens),
        "tokens p50": percentile(tokens, MEDIAN),
        **{name: mean(line.within[name] for line in lines) for name in lines[0].within},
    }


def _find(
    memory: Memory, conversation: Conversation[Asked], plain: Mapping[str, VectorSearch], asked: Asked
) -> FoundLine:
    def search(budget: int | None = None, stop: float | None = None) -> list[Passage]:
        user_id, now = conversation.name, conversation.asked_at
        found = memory.search(asked.question, user_id=user_id, now=now, thread=asked.thread, budget=budget, stop=stop)
        return [to_passage(evidence) for evidence in found.evidence]

    query, shown = "\n".join([*asked.thread, asked.question]), search()
    ranked = {ENGRAM: search(max(BUDGETS), stop=0), **{name: texts.search(query) for name, texts in plain.items()}}
    return FoundLine(
        asked=asked,
        shown=session_recall(shown, asked.needed),
        tokens=sum(count_tokens(passage.text) for passage in shown),
        within={
            f"{name} {budget}": session_recall(fit_budget(passages, budget), asked.needed)
            for name, passages in ranked.items()
            for budget in BUDGETS
        },
    )
