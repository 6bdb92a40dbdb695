"""Ask for the facts of a buffer of turns (StructMem section 2.1 and Figures 4 and 5, factual view)."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, AboutSentences


class SourcedSentence(BaseModel):
    """One sentence to keep, and where it comes from."""

    sources: list[int] = Field(description="numbers in brackets of the sentences it comes from")
    content: str = Field(default="", description="one self-contained sentence with names instead of pronouns")


class SourcedSentences(BaseModel):
    """Everything drawn from some turns under one view, in the order in which it was said."""

    sentences: list[SourcedSentence]

    @property
    def drafts(self) -> Sequence[SourcedSentence]:
        """Return what is noted of each record."""
        return self.sentences


SYSTEM = f"""You list every fact that a conversation holds about its people: who, what, where, when, how many; what \
was, is and is planned; opinions, hopes and tastes. What looks minor counts.
Sentences have numbers in brackets. Go through them in order and give an entry for each fact of each, with its number. \
Name people, places, titles, things and amounts in full. Keep the time as it is said and the date beside it. What \
follows clearly from what was said is an entry of its own, beside the facts it follows from. Leave out greetings and \
thanks.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractFacts(AboutSentences, Question[SourcedSentences]):
    """Which facts do these turns state?"""

    system = SYSTEM
