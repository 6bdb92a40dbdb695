"""Serve the systems that run in the lab's own environment: engram, and the floors that take no package of others.

python -m engram_peers.own NAME    answers as the drivers of others do
"""

import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from langgraph.store.memory import InMemoryStore
from rank_bm25 import BM25Okapi

from engram_lab.evidence_scores import statements_of, to_passage
from engram_lab.opening import Opener
from engram_peers.serve import Message, Passage, System, most, query_of, serve, text_of
from engram_peers.vector_store import VectorStore
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.results import count_tokens
from langgraph_engram.state import Message as Said

RULES = "rules"
PAID = "engram-paid"
WORD = re.compile(r"\w+")
RRF_K = 60
"""How little the first ranks of reciprocal rank fusion count for more than the next (Cormack et al., SIGIR 2009)."""


class Engram:
    """Our own memory, by one of its presets; the paid one writes and reads with a language model."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def remember(self, user: str, messages: Sequence[Message]) -> dict[str, int]:
        """Remember session by session; all that is not the message itself is left out of it."""
        sessions = [
            Session(name, [Said.model_validate({key: said[key] for key in Said.model_fields if key in said})
                           for said in session])
            for name, session in groupby(messages, key=lambda message: message["session"])
        ]  # fmt: skip
        receipt = self.memory.remember_sessions(sessions, user_id=user)
        usage = receipt.usage
        return {
            "stored": receipt.stored_turns,
            "calls": usage.calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        }

    def search(self, user: str, asked: Mapping[str, Any], tokens: int | None) -> list[Passage]:
        """Search as users do, or for all that fits the tokens, however weak."""
        found = self.memory.search(
            asked["text"], user_id=user, now=asked["now"], thread=asked["thread"],
            budget=tokens, stop=0 if tokens else None,
        )  # fmt: skip
        return [_passage(evidence) for evidence in found.evidence]

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()


def _passage(evidence: Any) -> Passage:
    passage = to_passage(evidence)
    return {"text": passage.text, "ids": passage.turn_ids, "dated": True, "summary": passage.synthesis}


class Sentences(VectorStore):
    """The sentences and captions of the user's messages instead of turns; of two friends both are users."""

    def texts(self, message: Message) -> list[str]:
        """Return each sentence under its speaker's name."""
        stated = statements_of(message["text"], message["captions"]) if message["role"] == "user" else []
        return [f"{message['speaker']}: {text}" for text in stated]


class BM25(VectorStore):
    """Words alone."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Count the words."""
        return BM25Okapi([WORD.findall(text.casefold()) for text in texts])

    def scores(self, user: str, query: str) -> Any:
        """Return the BM25 scores."""
        return self.index[user].get_scores(WORD.findall(query.casefold()))


class Hybrid(VectorStore):
    """Words and vectors by reciprocal rank fusion."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Make both indices."""
        return BM25.embed(self, texts), self.encode(texts)  # type: ignore[arg-type]

    def scores(self, user: str, query: str) -> Any:
        """Return the sums of reciprocal ranks."""
        words, vectors = self.index[user]
        both = words.get_scores(WORD.findall(query.casefold())), vectors @ self.encode([query])[0]
        ranks = [np.argsort(np.argsort(-scores, kind="stable")) for scores in both]
        return sum(1 / (RRF_K + 1 + rank) for rank in ranks)


class Last(VectorStore):
    """The last turns, newest first, whatever is asked."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Count the turns."""
        return len(texts)

    def scores(self, user: str, query: str) -> Any:  # noqa: ARG002 - whatever is asked
        """Return places."""
        return np.arange(self.index[user])


class Whole(Last):
    """The whole conversation, whatever is asked and however few tokens there are."""

    def search(self, user: str, asked: Mapping[str, Any], tokens: int | None) -> list[Passage]:  # noqa: ARG002
        """Return every turn."""
        return self.passages[user]


class Store:
    """LangGraph's store in memory with its index, a turn an item."""

    def __init__(self, encoder: Encoder) -> None:
        dims = encoder.encode(["dimensions"]).shape[1]
        self.store = InMemoryStore(index={"embed": lambda texts: encoder.encode(texts).tolist(), "dims": dims,
                                          "fields": ["text"]})  # fmt: skip

    def remember(self, user: str, messages: Sequence[Message]) -> int:
        """Put each turn."""
        for message in messages:
            self.store.put(("turns", user), message["id"], {"text": text_of(message)})
        return len(messages)

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        """Search by the query's vector."""
        found = self.store.search(("turns", user), query=query_of(asked), limit=most(tokens))
        return [{"text": item.value["text"], "ids": [item.key]} for item in found]

    def close(self) -> None:
        """Nothing is held."""


FLOORS: Mapping[str, type[VectorStore]] = {
    "turns": VectorStore, "sentences": Sentences, "bm25": BM25, "hybrid": Hybrid, "last": Last, "whole": Whole,
}  # fmt: skip
PRESETS = {"engram": "engram", "dimmem": "dimmem", "es-mem": "esmem", "structmem": "structmem", "hymem": "hymem"}
OWN = (*PRESETS, *FLOORS, "store")
"""The systems that need no environment of their own."""


def open_system(name: str, options: Mapping[str, Any]) -> System:
    """Open a system of `OWN`, or engram with a model."""
    opener = Opener(options["variables"])
    vectors = Path(options["vectors"]) if options["vectors"] else None
    encoder = opener.encoder(options["encoder"], vectors=vectors)
    if name in FLOORS:
        return FLOORS[name](encoder.encode)
    if name == "store":
        return Store(encoder)
    settings = opener.settings(PRESETS.get(name, "engram"))
    model = f"openai:{options['model']}" if name == PAID else RULES
    return Engram(opener.memory(options["folder"], model, settings, encoder))


if __name__ == "__main__":
    count_tokens("Loads the vocabulary.")
    serve(partial(open_system, sys.argv[1]), "langgraph-engram")
