"""engram in agent-memory-benchmark: save as `src/memory_bench/memory/engram.py`, name it in `memory/__init__.py`."""

from pathlib import Path

from langgraph_engram import Memory

from ..models import Document
from .base import MemoryProvider

TOKENS = 2000


class EngramMemoryProvider(MemoryProvider):
    """Documents are sessions; what is found is shown within a number of tokens, not of documents."""

    name = provider = "engram"
    description = "langgraph-engram: records and passages with their sources, written by rules, without a model."
    kind = "local"
    link = "https://pypi.org/project/langgraph-engram"

    def __init__(self, tokens: int = TOKENS) -> None:
        self.tokens = tokens
        self._memory: Memory | None = None

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None, reset: bool = True) -> None:
        """Open the store in the folder of the run."""
        self._memory = Memory(store_dir / "engram", "rules")

    def cleanup(self) -> None:
        """Close it."""
        if self._memory:
            self._memory.close()

    def ingest(self, documents: list[Document]) -> None:
        """Remember each document as a session of its user."""
        for document in documents:
            said = document.messages or [{"role": "user", "content": document.content}]
            messages = [
                {"role": message.get("role", "user"), "content": message["content"], "timestamp": document.timestamp}
                for message in said
                if message.get("content")
            ]
            user = document.user_id or "bench"
            self.memory.remember(messages, user_id=user, session_id=document.id, close_session=True)

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Document], dict | None]:
        """Return the evidence, best first, under the session that it is from."""
        user = user_id or "bench"
        found = self.memory.search(query, user_id=user, budget=self.tokens, stop=0, now=query_timestamp)
        sessions = [next((turn.session_id for turn in evidence.turns), "") for evidence in found.evidence]
        documents = [
            Document(id=session or evidence.evidence_id, content=evidence.text, user_id=user_id)
            for session, evidence in zip(sessions, found.evidence, strict=True)
        ]
        return documents, {"verdict": found.verdict, "passages": len(documents)}

    @property
    def memory(self) -> Memory:
        """Return the open memory; without `prepare` it is one in memory."""
        if self._memory is None:
            self._memory = Memory("memory:", "rules")
        return self._memory
