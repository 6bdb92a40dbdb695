"""Ask for an answer from light memory, or for the word that it does not suffice (HyMem section 3.3)."""

from dataclasses import dataclass, field
from datetime import datetime

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, ask_about
from langgraph_engram.prompts.write_answer import LAST, UNKNOWN, WORDING, introduction
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.settings import AnswerSettings


@dataclass(frozen=True)
class AnswerLight(Question[str]):
    """What do these memories answer? The word for unknown where they do not suffice."""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    """Best first; citations count from 1."""
    now: datetime | None = None
    settings: AnswerSettings = field(default_factory=AnswerSettings)
    """How the evidence is shown, and how the answer is worded."""
    earlier: tuple[str, ...] = ()
    """The answers of earlier rounds."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        style = self.settings.style
        system = (
            f"{introduction(self.settings)}\n{WORDING[style]}\n"
            "If the pieces do not hold what is asked for, are vague, or are about somebody else, answer exactly: "
            f"{UNKNOWN}\n{DATA_ONLY}"
        )
        return ask_about(system, self.evidence, f"{self.query}\n{LAST[style]}", self.now, self.settings, self.earlier)
