"""A-Mem (package `a-mem`): notes in Chroma. Without a language model a note is its text: no keywords, no links.

It loads its encoder by a name from a hub; here it gets the one that all share in its place.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from serve import Message, Passage, query_of, serve, text_of

DEFAULT_K = 5


class AMem:
    """A system of notes for each user."""

    def __init__(self, options: dict[str, Any]) -> None:
        os.environ.update(
            OPENAI_BASE_URL=options["base_url"],
            OPENAI_API_KEY="none",
            ANONYMIZED_TELEMETRY="false",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
        )
        from agentic_memory import memory_system, retrievers
        from chromadb.utils.embedding_functions import OpenAIEmbeddingFunction

        def shared(**_: object) -> OpenAIEmbeddingFunction:
            return OpenAIEmbeddingFunction(api_key="none", api_base=options["base_url"], model_name="encoder")

        retrievers.SentenceTransformerEmbeddingFunction = shared
        self.system, self.options, self.users, self.ids = memory_system.AgenticMemorySystem, options, {}, {}

    def remember(self, user: str, messages: Sequence[Message]) -> int:
        model = self.options["model"] or "none"
        notes = self.system(llm_model=model, storage_path=f"{self.options['folder']}/{len(self.users)}")
        self.users[user] = notes
        for message in messages:
            self.ids[notes.add_note(text_of(message))] = message["id"]
        return notes.retriever.count()

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        found = self.users[user].search_agentic(query_of(asked), k=tokens // 10 if tokens else DEFAULT_K)
        return [{"text": self.users[user].read(note["id"]).content, "ids": [self.ids[note["id"]]]} for note in found]

    def close(self) -> None:
        """Its folders go with the run."""


if __name__ == "__main__":
    serve(AMem, "a-mem")
