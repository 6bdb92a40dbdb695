"""Ask for the dimensional records of some turns (DimMem section 3.2, Figures 6 and 7).

Where we leave the paper's wording: a record points at numbered sentences, and times are resolved before the model reads
them. There is no example: a small model copies its names.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, AboutSentences
from langgraph_engram.schema import MemoryType


class RecordDraft(BaseModel):
    """One atomic memory: where it stands, its type, what it says, and its dimensions."""

    sources: list[int] = Field(description="numbers in brackets of the sentences that say it")
    memory_type: MemoryType = Field(
        default="fact",
        description="episodic: something done or planned; profile: a lasting trait or preference; else fact",
    )
    content: str = Field(default="", description="one self-contained sentence with names instead of pronouns")
    time: str = Field(
        default="",
        description="when it happens, not when it is said: YYYY-MM-DD, YYYY-MM, YYYY, or start/end; empty if unsaid",
    )
    location: str = Field(default="", description="where it happens; empty if unsaid")
    reason: str = Field(default="", description="why it happens; empty if unsaid")
    purpose: str = Field(default="", description="what it is for; empty if unsaid")
    keywords: list[str] = Field(default=[], description="names and things of the sentence")


class Extraction(BaseModel):
    """Every record of some turns."""

    records: list[RecordDraft]

    @property
    def drafts(self) -> Sequence[RecordDraft]:
        """Return what is noted of each record."""
        return self.records


OPENING = """You keep what is worth remembering of a conversation, so that somebody who was not there can rely on it.
Sentences have numbers in brackets. Go through them in order, and make one record of each that"""
HOW = """\
A record names its sentences by number. Write names instead of "I", "you", "they" or "it"; take them, and whatever \
else makes a record clear by itself, from any sentence or from the context, and add nothing that is not shown. Where a \
date stands in brackets after a time, use that date; else keep the words of the time. Keep time, place, reason and \
purpose in the words of a record too, and make no habit of what was done once. A sentence that tells several things \
has several records. Text between context tags was said before: read it, and make no record of it alone. Leave a field \
empty where there is nothing to say."""
RULES = f"""{OPENING} holds a fact, plan, event, preference, name, number, place or date, or that an assistant \
recommends. An image has no record of its own: take from its caption what the words around it lean on and do not say. \
Join sentences only if they say one thing. Leave out what only greets, thanks, praises, encourages or asks, and what \
somebody finds of something in passing ("it looks great").
{HOW}"""
SELECTIVE = f"""{OPENING} tells something of value in the long run: who the user is, whom and what they know, have and \
use, and how things stand; what they did, experienced and plan; what they prefer, believe, do by habit, aim at and are \
able to; and whatever helps to understand later what they need. Leave out greetings, thanks, plain confirmations and \
small talk, and what matters for the task at hand alone: how a text is to be laid out, and what is asked for once.
{HOW}"""


@dataclass(frozen=True)
class ExtractRecords(AboutSentences, Question[Extraction]):
    """What is worth remembering of these turns? Fine-grained: what has any substance (Figure 7)."""

    system = f"{RULES}\n{DATA_ONLY}"
    numbers_images = False


@dataclass(frozen=True)
class ExtractLasting(AboutSentences, Question[Extraction]):
    """What of these turns has value in the long run? For chats with an assistant (Figure 6)."""

    system = f"{SELECTIVE}\n{DATA_ONLY}"
    numbers_images = False
