"""engram in agent-memory-benchmark: save as `src/memory_bench/memory/engram.py`, name it in `memory/__init__.py`."""

import json
import re
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from langgraph_engram import Memory

from ..models import Document
from .base import MemoryProvider

TOKENS = 2000
TURN = re.compile(r"^(?:\[[^\]]*\] )?(User|Assistant): ", re.MULTILINE)


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
        """Open the store in the folder of the run, anew unless its documents are to be kept."""
        if reset:
            rmtree(store_dir / "engram", ignore_errors=True)
        self._memory = Memory(store_dir / "engram", "rules")

    def cleanup(self) -> None:
        """Close it."""
        if self._memory:
            self._memory.close()

    def ingest(self, documents: list[Document]) -> None:
        """Remember each document as a session of its user."""
        for document in documents:
            user = document.user_id or "bench"
            self.memory.remember(_messages(document), user_id=user, session_id=document.id, close_session=True)

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Document], dict | None]:
        """Return the evidence, best first, under its session; some prompts show a raw response in its place."""
        asked = {"user_id": user_id or "bench", "budget": self.tokens, "now": query_timestamp}
        found = self.memory.search(query, **asked, stop=0)
        if not found.evidence:  # it may be a question of the world; here each is of the memory
            found = self.memory.recall(query, **asked)
        sessions = [next((turn.session_id for turn in evidence.turns), "") for evidence in found.evidence]
        return [
            Document(id=session or evidence.evidence_id, content=evidence.text, user_id=user_id)
            for session, evidence in zip(sessions, found.evidence, strict=True)
        ], None

    @property
    def memory(self) -> Memory:
        """Return the open memory; without `prepare` it is one in memory."""
        if self._memory is None:
            self._memory = Memory("memory:", "rules")
        return self._memory


def _messages(document: Document) -> list[dict]:
    """Return the turns of a document: its own, JSON in its text (LoCoMo, LongMemEval), lines (BEAM), or its text."""
    turns = document.messages
    if not turns:
        with suppress(ValueError):
            turns = json.loads(document.content)
    if not isinstance(turns, list):
        before, *said = TURN.split(document.content)
        pairs = [("user", before), *zip(said[::2], said[1::2], strict=True)]
        turns = [{"role": role.lower(), "content": text.strip()} for role, text in pairs]
    return [
        {
            "role": turn.get("role", "user"),
            "speaker": turn.get("speaker") or turn.get("role", "user"),
            "text": text,
            "captions": [caption] if (caption := turn.get("blip_caption")) else [],
            "said_at": document.timestamp,
        }
        for turn in turns
        if (text := turn.get("content") or turn.get("text"))
    ]
