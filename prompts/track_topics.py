"""Ask what a turn is about, given the turn before it (ES-Mem section 3.1 and Figure 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, plain, quote_turn
from langgraph_engram.schema import Turn


class TopicNote(BaseModel):
    """What a turn is about."""

    topic: str = Field(description="what the turn is about, in two to five words")
    keywords: list[str] = Field(default=[], description="its nouns and key phrases, the most important first")


SYSTEM = f"""You follow what a conversation is about, turn by turn.
Name the one topic of the current turn, the main one if it has several, and its keywords, each once: nouns and key \
phrases, no pronouns. The turn before is there to be read. No turn has exactly its topic and its keywords.
{DATA_ONLY}"""


@dataclass(frozen=True)
class TrackTopics(Question[TopicNote]):
    """What is this turn about?"""

    turn: Turn
    before: Sequence[Turn] = ()
    """The turn before, if there is one."""
    topic_before: str = ""
    """What the conversation was about until now."""
    keywords_before: tuple[str, ...] = ()
    """The keywords of the turn before."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        topic = [f"Topic until now: {plain(self.topic_before)}"] if self.topic_before else []
        keywords = [f"Its keywords: {plain(', '.join(self.keywords_before))}"] if self.keywords_before else []
        earlier = [*map(quote_turn, self.before), *topic, *keywords]
        context = [inside("context", "\n".join(earlier))] if earlier else []
        return [
            SystemMessage(SYSTEM),
            HumanMessage("\n\n".join([*context, inside("conversation", quote_turn(self.turn))])),
        ]
