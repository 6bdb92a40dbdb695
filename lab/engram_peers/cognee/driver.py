"""cognee: sessions are added as texts, `cognify` makes its graph, chunks are searched. It needs a model to write.

Its tokenizer loads a vocabulary from the network; the same stands in litellm, which it installs.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from serve import Message, Passage, most, query_of, serve, text_of


class Cognee:
    """A data set for each user."""

    def __init__(self, options: dict[str, Any]) -> None:
        model, served = options["model"] or "none", options["base_url"]
        os.environ.update(
            LLM_PROVIDER="openai", LLM_MODEL=f"openai/{model}", LLM_ENDPOINT=served, LLM_API_KEY="none",
            EMBEDDING_PROVIDER="openai_compatible", EMBEDDING_MODEL="encoder", EMBEDDING_ENDPOINT=served,
            EMBEDDING_API_KEY="none", EMBEDDING_DIMENSIONS=str(options["dims"]), TELEMETRY_DISABLED="true",
            ENABLE_BACKEND_ACCESS_CONTROL="false", DATA_ROOT_DIRECTORY=f"{options['folder']}/data",
            SYSTEM_ROOT_DIRECTORY=f"{options['folder']}/system",
            TIKTOKEN_CACHE_DIR=str(Path(find_spec("litellm").origin).parent / "litellm_core_utils" / "tokenizers"),
        )  # fmt: skip
        import cognee

        self.cognee, self.loop = cognee, asyncio.new_event_loop()

    def remember(self, user: str, messages: Sequence[Message]) -> None:
        sessions = groupby(messages, key=lambda message: message["session"])
        texts = ["\n".join(text_of(message) for message in session) for _, session in sessions]
        self.loop.run_until_complete(self.cognee.add(texts, dataset_name=user))
        self.loop.run_until_complete(self.cognee.cognify([user]))

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        chunks = self.cognee.SearchType.CHUNKS
        found = self.cognee.search(query_of(asked), query_type=chunks, datasets=[user], top_k=most(tokens))
        results = [chunk for of in self.loop.run_until_complete(found) for chunk in _chunks(of)]
        return [{"text": chunk["text"], "ids": []} for chunk in results]

    def close(self) -> None:
        """Its folders go with the run."""


def _chunks(found: Any) -> list[Any]:
    return found["search_result"] if isinstance(found, dict) and "search_result" in found else [found]


if __name__ == "__main__":
    serve(Cognee, "cognee")
