"""engram in memory-arena: save as `memory_arena/strategies/engram.py`, and register it where the strategies are.

memory-arena pins an older Chroma, which these strategies do not need: `pip install --no-deps memory-arena` beside ours.
"""

import asyncio
import re
import time

from langgraph_engram import Memory
from memory_arena.llm.client import LLMClient
from memory_arena.sessions.schema import Session
from memory_arena.strategies.base import IngestRecord, MemoryStrategy, RecallResult

SYSTEM = (
    "Answer the question from the memories of earlier chats that are shown, newest over older ones. "
    "Say that you do not have the information where they do not tell."
)
TOKENS_OF_MEMORY = 200
"""Tokens of a memory of others in the mean: so `top_k` of them are compared with as many tokens."""


class EngramStrategy(MemoryStrategy):
    """Sessions are written by rules; what is found goes to the arena's own model."""

    name = "engram"

    async def setup(self, run_id: str) -> None:
        """Open a memory of this run alone."""
        self.run_id = run_id
        self._memory, self._llm = Memory("memory:", "rules"), LLMClient()

    async def ingest_session(self, session: Session) -> IngestRecord:
        """Remember the turns of a session."""
        started = time.perf_counter()
        messages = [
            {
                "role": turn.role,
                "content": turn.content,
                "external_id": turn.id,
                "timestamp": _moment(turn.timestamp or session.timestamp),
            }
            for turn in session.turns
        ]
        receipt = await asyncio.to_thread(
            self._memory.remember, messages, user_id=self.run_id, session_id=session.id, close_session=True
        )
        milliseconds = 1000 * (time.perf_counter() - started)
        return IngestRecord(session_id=session.id, latency_ms=milliseconds, facts_extracted=receipt.records)

    async def recall(self, query: str, top_k: int = 10) -> RecallResult:
        """Search, and have what is found read."""
        started = time.perf_counter()
        asked = {"user_id": self.run_id, "budget": TOKENS_OF_MEMORY * top_k}
        found = await asyncio.to_thread(self._memory.search, query, **asked, stop=0)
        if not found.evidence:  # it may be a question of the world; here each is of the memory
            found = await asyncio.to_thread(self._memory.recall, query, **asked)
        searched = time.perf_counter()
        turns = [turn for evidence in found.evidence for turn in evidence.turns]
        said = await self._llm.generate(query, "\n\n".join(evidence.text for evidence in found.evidence), SYSTEM)
        ended = time.perf_counter()
        return RecallResult(
            answer=said.text,
            supporting_session_ids=list(dict.fromkeys(turn.session_id for turn in turns))[:top_k],
            supporting_turn_ids=list(dict.fromkeys(turn.external_id for turn in turns if turn.external_id)),
            retrieved_memories=[{"content": evidence.text} for evidence in found.evidence],
            strategy=self.name,
            latency_ms=1000 * (ended - started),
            retrieval_latency_ms=1000 * (searched - started),
            generation_latency_ms=1000 * (ended - searched),
            tokens_used=said.total_tokens,
            cost_usd=said.cost_usd,
        )

    async def forget(self, scope: str) -> None:
        """Forget a session."""
        await asyncio.to_thread(self._memory.forget, user_id=self.run_id, session_id=scope)

    async def teardown(self) -> None:
        """Close the memory, which was in this process alone."""
        self._memory.close()


def _moment(stamp: str | None) -> str | None:
    """Return LongMemEval's "2024/05/01 (Wed) 10:21" as ISO 8601 has it, and any other as it is."""
    return re.sub(r"(\d{4})/(\d\d)/(\d\d)(?: \(\w+\))?", r"\1-\2-\3", stamp) if stamp else None
