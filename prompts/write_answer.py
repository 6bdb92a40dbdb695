"""Ask for the answer that people read, from the turns that deep retrieval went back to (HyMem section 3.3)."""

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage

from langgraph_engram.model import Question
from langgraph_engram.prompts.quoting import DATA_ONLY, ask_about
from langgraph_engram.schema import Evidence, Intent

UNKNOWN = "I don't know."
"""What an answer says when the evidence is absent."""

SYSTEM = f"""You answer a question from numbered pieces of past conversations, and from nothing else.
Answer in one short sentence, or a short list where several things are asked for, and cite the numbers it rests on, \
like [2] or [1][4]. Give dates as dates, not as "last week". Where two pieces disagree, the newest holds.
If the pieces do not say it, answer exactly: {UNKNOWN}
{DATA_ONLY}"""


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
        return ask_about(SYSTEM, self.evidence, self.query, self.now, whole_turns=self.whole_turns)
