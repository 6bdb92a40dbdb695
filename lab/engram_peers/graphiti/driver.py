"""Graphiti over Kuzu in a folder: an episode for each message, facts by its basic search. It needs a model to write."""

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from serve import Message, Passage, most, query_of, serve, text_of


class Graph:
    """One graph; users are its groups."""

    def __init__(self, options: dict[str, Any]) -> None:
        os.environ.update(GRAPHITI_TELEMETRY_ENABLED="false", EMBEDDING_DIM=str(options["dims"]))
        from graphiti_core import Graphiti
        from graphiti_core.cross_encoder.openai_reranker_client import OpenAIRerankerClient
        from graphiti_core.driver.kuzu_driver import KuzuDriver
        from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig
        from graphiti_core.graph_queries import get_fulltext_indices
        from graphiti_core.llm_client import LLMConfig
        from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient

        served = {"api_key": "none", "base_url": options["base_url"]}
        config = LLMConfig(model=options["model"] or "none", small_model=options["model"] or "none", **served)
        vectors = OpenAIEmbedderConfig(embedding_model="encoder", embedding_dim=options["dims"], **served)
        self.loop, self.groups = asyncio.new_event_loop(), {}
        kuzu = KuzuDriver(db=f"{options['folder']}/graph.kuzu")
        kuzu._database = ""  # it is asked for where a group is named, and not set in 0.31.2
        self.graph = Graphiti(
            graph_driver=kuzu,
            llm_client=OpenAIGenericClient(config),
            embedder=OpenAIEmbedder(vectors),
            cross_encoder=OpenAIRerankerClient(config),
        )
        self.loop.run_until_complete(self.graph.build_indices_and_constraints())
        for query in get_fulltext_indices(kuzu.provider):  # nor are these made for Kuzu
            self.loop.run_until_complete(kuzu.execute_query(query))

    def remember(self, user: str, messages: Sequence[Message]) -> int:
        self.groups[user], edges = f"group{len(self.groups)}", 0
        for message in messages:
            moment = datetime.fromisoformat(message["said_at"]) if message["said_at"] else datetime.now(UTC)
            added = self.graph.add_episode(
                name=message["id"], episode_body=text_of(message), source_description="conversation",
                reference_time=moment, group_id=self.groups[user],
            )  # fmt: skip
            edges += len(self.loop.run_until_complete(added).edges)
        return edges

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        found = self.graph.search(query_of(asked), group_ids=[self.groups[user]], num_results=most(tokens))
        return [{"text": edge.fact, "ids": []} for edge in self.loop.run_until_complete(found)]

    def close(self) -> None:
        self.loop.run_until_complete(self.graph.close())


if __name__ == "__main__":
    serve(Graph, "graphiti-core")
