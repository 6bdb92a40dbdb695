"""langmem by its two tools on LangGraph's store in memory, as its documentation opens.

Without a language model the texts of messages are what an agent is taken to store, one call of the tool for each. With
one its manager extracts memories from each session (`create_memory_store_manager`).
"""

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from langchain_openai import OpenAIEmbeddings
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_memory_store_manager, create_search_memory_tool
from serve import Message, Passage, most, query_of, serve, text_of


class Langmem:
    """A store with an index, and its tools for each user."""

    def __init__(self, options: dict[str, Any]) -> None:
        vectors = OpenAIEmbeddings(
            model="encoder", base_url=options["base_url"], api_key="none", check_embedding_ctx_length=False
        )
        self.store = InMemoryStore(index={"embed": vectors, "dims": options["dims"]})
        self.options, self.ids = options, {}

    def remember(self, user: str, messages: Sequence[Message]) -> int:
        if self.options["model"]:
            manager = create_memory_store_manager(
                f"openai:{self.options['model']}", namespace=("memories", user), store=self.store
            )
            for _, session in groupby(messages, key=lambda message: message["session"]):
                said = [{"role": message["role"], "content": text_of(message)} for message in session]
                manager.invoke({"messages": said})
        else:
            manage = create_manage_memory_tool(namespace=("memories", user), store=self.store)
            for message in messages:
                manage.invoke({"content": text_of(message), "action": "create"})
                self.ids.setdefault((user, text_of(message)), []).append(message["id"])
        return len(self.store.search(("memories", user), limit=len(messages)))

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        tool = create_search_memory_tool(
            namespace=("memories", user), store=self.store, response_format="content_and_artifact"
        )
        args = {"query": query_of(asked), "limit": most(tokens)}
        found = tool.invoke({"args": args, "id": "1", "name": tool.name, "type": "tool_call"}).artifact
        texts = [content if isinstance(content := item.value["content"], str) else str(content) for item in found]
        return [{"text": text, "ids": self.ids.get((user, text), [])} for text in texts]

    def close(self) -> None:
        """Nothing is held."""


if __name__ == "__main__":
    serve(Langmem, "langmem")
