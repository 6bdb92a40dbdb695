"""Ask whether a new event begins between two turns (ES-Mem section 3.1, stage 2).

As in the paper, the model names its likeliest and its least likely label, each with a probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, model_validator

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, quote_turn
from langgraph_engram.schema import Turn

Label = Literal["topic_intro", "topic_shift", "detail_elaborate", "direct_resp"]
SHIFT_LABELS: Sequence[Label] = ("topic_intro", "topic_shift")
"""The labels that open an event; the others continue one."""


class LabelGuess(BaseModel):
    """One label and how probable it is."""

    label: Label
    probability: float = Field(ge=0, le=1)


class BoundaryVerdict(BaseModel):
    """What was said of one possible cut."""

    likeliest: LabelGuess
    least_likely: LabelGuess

    @model_validator(mode="after")
    def _are_two(self) -> Self:
        """Check that the labels differ and the first is the likelier one (Figure 7)."""
        first, second = self.likeliest, self.least_likely
        if first.label == second.label or first.probability <= second.probability:
            raise ValueError("name two different labels, the likeliest with the higher probability")
        return self


SYSTEM = f"""You judge how a conversation goes on at one point.
You read the turns before the point and the turns after it, and label what the first turn after it does: \
topic_intro opens another subject that has to do with the one before; topic_shift leaves that for one that has not; \
detail_elaborate stays with the subject and adds to it; direct_resp answers or reacts to what came just before.
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
