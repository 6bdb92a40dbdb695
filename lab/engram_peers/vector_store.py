"""Find the turns of a conversation by the cosine of their vectors: the memory that anybody writes in an afternoon."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engram_peers.serve import Message, Passage, most, query_of, text_of
from langgraph_engram.embeddings.base import Vectors


class VectorStore:
    """Every turn is a text and a vector, in memory."""

    def __init__(self, encode: Callable[[Sequence[str]], Vectors]) -> None:
        self.encode = encode
        self.passages: dict[str, list[Passage]] = {}
        self.index: dict[str, Any] = {}

    def texts(self, message: Message) -> list[str]:
        return [text_of(message)]

    def remember(self, user: str, messages: Sequence[Message]) -> int:
        self.passages[user] = [{"text": text, "ids": [said["id"]]} for said in messages for text in self.texts(said)]
        self.index[user] = self.embed([passage["text"] for passage in self.passages[user]])
        return len(self.passages[user])

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        best = np.argsort(-self.scores(user, query_of(asked)), kind="stable")
        return [self.passages[user][position] for position in best[: most(tokens)]]

    def embed(self, texts: Sequence[str]) -> Any:
        return self.encode(texts)

    def scores(self, user: str, query: str) -> Any:
        return self.index[user] @ self.encode([query])[0]

    def close(self) -> None:
        self.passages.clear()
