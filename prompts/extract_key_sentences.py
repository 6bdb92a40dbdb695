"""Ask for the key sentences of an event (HyMem section 3.2, Level 1)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.rendering import DATA_ONLY, render_sentences
from langgraph_engram.schema import Turn

SYSTEM = f"""You note the key information of a conversation, for somebody who must later find it again.
Sentences have numbers in brackets. Give short entries, each about one thing, with names and dates and the numbers of \
the sentences it rests on; together they cover everything of substance.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractKeySentences(Question[SourcedSentences]):
    """Which sentences lead back to these turns?"""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()
    shown: tuple[str, ...] = ()
    """What is read in place of each sentence, in the order of `number_sentences`; none to read what was said."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return render_sentences(SYSTEM, self.turns, self.context, shown=self.shown)
