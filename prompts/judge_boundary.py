"""Ask whether a new event begins between two turns (ES-Mem section 3.1, stage 2).

As in the paper, the model names its likeliest and its least likely label, each with a probability.
"""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, quote_turn
from langgraph_engram.prompts.track_topics import Label
from langgraph_engram.schema import Turn


class LabelGuess(BaseModel):
    """One label and how probable it is."""

    label: Label
    probability: float = Field(ge=0, le=1)


class BoundaryVerdict(BaseModel):
    """What was said of one possible cut."""

    likeliest: LabelGuess
    least_likely: LabelGuess


SYSTEM = f"""You judge how a conversation goes on at one point.
You read the turns before the point and the turns after it, and label what the first turn after it does: \
topic_intro opens a subject that was not there; topic_shift moves from one subject to another; detail_elaborate stays \
with the subject and adds to it; direct_resp answers or reacts to what came just before.
Give the likeliest label and the least likely label, each with its probability between 0 and 1.
{DATA_ONLY}"""


@dataclass(frozen=True)
class JudgeBoundary(Question[BoundaryVerdict]):
    """Does the conversation turn to something else after `before`?"""

    before: tuple[Turn, ...]
    after: tuple[Turn, ...]

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        before, after = ("\n".join(map(quote_turn, turns)) for turns in (self.before, self.after))
        return [
            SystemMessage(SYSTEM),
            HumanMessage(f"Before:\n{inside('context', before)}\n\nAfter:\n{inside('conversation', after)}"),
        ]
