"""mem0 over Chroma in a folder: `infer=False` without a language model, which stores messages as they are."""

import os
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from serve import Message, Passage, query_of, serve, text_of


class Mem0:
    """One memory; users are told apart by `user_id`."""

    def __init__(self, options: dict[str, Any]) -> None:
        os.environ.update(MEM0_TELEMETRY="false", MEM0_DIR=options["folder"])
        from mem0 import Memory

        served = {"openai_base_url": options["base_url"], "api_key": "none"}
        self.infer = bool(options["model"])
        self.memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "chroma",
                    "config": {"collection_name": "memories", "path": options["folder"]},
                },
                "embedder": {
                    "provider": "openai",
                    "config": {"model": "encoder", "embedding_dims": options["dims"], **served},
                },
                "llm": {"provider": "openai", "config": {"model": options["model"] or "none", **served}},
                "history_db_path": f"{options['folder']}/history.db",
            }
        )

    def remember(self, user: str, messages: Sequence[Message]) -> int:
        stored = 0
        if self.infer:
            for _, session in groupby(messages, key=lambda message: message["session"]):
                said = [{"role": message["role"], "content": text_of(message)} for message in session]
                stored += len(self.memory.add(said, user_id=user)["results"])
        else:
            for message in messages:
                said = {"role": message["role"], "content": text_of(message)}
                added = self.memory.add([said], user_id=user, infer=False, metadata={"message": message["id"]})
                stored += len(added["results"])
        return stored

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        wanted = {"top_k": tokens // 10, "threshold": 0.0} if tokens else {}
        found = self.memory.search(query_of(asked), filters={"user_id": user}, **wanted)["results"]
        return [
            {
                "text": item["memory"],
                "ids": [message] if (message := (item.get("metadata") or {}).get("message")) else [],
            }
            for item in found
        ]

    def close(self) -> None:
        """Its folder goes with the run."""


if __name__ == "__main__":
    serve(Mem0, "mem0ai")
