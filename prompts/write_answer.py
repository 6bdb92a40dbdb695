"""Ask for the answer that people read, from the turns that deep retrieval went back to (HyMem section 3.3)."""

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, WORDING, ask_about
from langgraph_engram.schema import Evidence, Intent

UNKNOWN = "I don't know."
"""What an answer says when the evidence is absent."""

SYSTEM = f"""You answer a question from numbered pieces of past conversations, and from nothing else.
{WORDING}
What the pieces do not say but make likely may be concluded. If nothing in them bears on the question, answer exactly: \
{UNKNOWN}
{DATA_ONLY}"""
LAST = "Answer in a few words."
"""What stands last, where a small model heeds it most."""


@dataclass(frozen=True)
class WriteAnswer(Question[str]):
    """What is the answer, and what does it rest on?"""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    now: datetime | None = None
    whole_turns: bool = True
    """Whether the turns that pieces cite are shown whole and in order, or the pieces as they are."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return ask_about(SYSTEM, self.evidence, f"{self.query}\n{LAST}", self.now, whole_turns=self.whole_turns)
