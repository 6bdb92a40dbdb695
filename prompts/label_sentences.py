"""Ask for a label of each numbered sentence: what kind of memory it is, or that it is none.

A small model that is asked to write records lumps a conversation into one, copies it, or invents. It can label. The
words are then those that were said, and rules read the dimensions.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, AboutSentences

Label = Literal["fact", "episodic", "profile", "skip"]


class SentenceLabel(BaseModel):
    """What one sentence is."""

    number: int = Field(description="number in brackets of the sentence")
    label: Label


class SentenceLabels(BaseModel):
    """The labels of all numbered sentences, in order."""

    labels: list[SentenceLabel]


SYSTEM = f"""You label the numbered sentences of a conversation, one after the other, every one of them:
episodic - somebody did, does or plans something, at some time;
profile - a lasting trait, taste, habit, job, relation or possession of somebody;
fact - any other information;
skip - praise, encouragement, thanks, a question, or nothing to remember.
{DATA_ONLY}"""


@dataclass(frozen=True)
class LabelSentences(AboutSentences, Question[SentenceLabels]):
    """Which of these sentences are worth remembering, and as what?"""

    system = SYSTEM
