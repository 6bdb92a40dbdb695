"""Ask for all of something: list what counts among many lines, then answer from the list.

No paper asks so. Each line is shown under its day, and where the query names a stretch of time, what lies outside of it
is marked: no model has to reckon with dates.
"""

from dataclasses import dataclass
from datetime import datetime
from math import inf

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, format_evidence, inside, without_tags
from langgraph_engram.prompts.write_answer import ELSE_UNKNOWN, FITTING
from langgraph_engram.schema import Breadth, Evidence, Intent, TimeConstraint
from langgraph_engram.settings import AnswerStyle
from langgraph_engram.temporal.datetimes import epoch_seconds, format_day, wall_time

ITEM, LEFT_OUT = "-", "x"
"""What a line of the reply begins with: a thing that counts, and one that does not."""
LOOK_FOR = "LOOK FOR:"
ANSWER = "ANSWER:"
OUTSIDE = " (another time)"
"""Stands behind a line that was said at another time than is asked about, and tells of none within it."""

SYSTEM = f"""\
You answer a question that needs all of something, from numbered lines of past conversations and from nothing else. \
They stand in the order in which they were said, under their days. Go through all of them, then write:
1. Each thing that counts on a line of its own that begins with "{ITEM}", with the numbers of the lines it rests on, \
like this: {ITEM} THING [2][7]. The same thing told twice is one thing; where a later line changes an earlier one, the \
later holds. Give its day, amount or place where the question turns on it.
2. What seems to count and does not (outside the time asked about, only planned or asked about, somebody else's), or \
may count or not (its time, its amount or who did it is not told), on lines that begin with "{LEFT_OUT}", with numbers \
and the reason: {LEFT_OUT} THING [4]: REASON. A count or a sum is of what is certain.
3. Only where further ones are probable that words other than those of the question would find, a line "{LOOK_FOR}" \
with up to six such words.
4. Last, "{ANSWER}" and the answer."""
NOTES = f"""\
You sum up past conversations from numbered lines and from nothing else. They stand in the \
order in which they were said, under their days. Go through all of them, then write:
1. Notes, each on a line that begins with "{ITEM}", with the numbers of the lines it rests on, like this: {ITEM} NOTE \
[2][7]: what was wanted, tried, advised, decided, done, changed, and what is open, with names, numbers and days; \
neighbouring lines about one thing make one note.
2. Last, "{ANSWER}" and the answer."""
STYLES: dict[AnswerStyle, str] = {
    "auto": f"{FITTING} For a count or a sum, the number and what makes it up.",
    "short": "The answer is the number, the name or the bare list, and no more words.",
    "full": "The answer is complete, in full sentences, with what makes it up.",
}
BY_BREADTH: dict[Breadth, str] = {
    "timeline": "An order names first mentions, with their days, no more things than the question asks for.",
    "summary": "A summary goes from beginning to end and keeps what was specific: names, numbers, methods, decisions.",
}


@dataclass(frozen=True)
class ListItems(Question[str]):
    """What is all of it, and what is the answer?"""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    """Lines; citations count from 1."""
    now: datetime | None = None
    style: AnswerStyle = "auto"

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        window = past_window(self.intent.time, self.now or self.intent.asked_at)
        breadth = self.intent.breadth or "narrow"
        rules = NOTES if breadth == "summary" else SYSTEM
        system = [rules, STYLES[self.style], BY_BREADTH.get(breadth, ""), ELSE_UNKNOWN, DATA_ONLY]
        lines = format_evidence(self.evidence, lambda passage: OUTSIDE if is_outside(passage, window) else "")
        asked = f"Today: {format_day(self.now)}\n" if self.now else ""
        if window:
            ends = (("from", window.start), ("to", window.end))
            span = " ".join(f"{word} {format_day(moment)}" for word, moment in ends if moment)
            asked += f'"{window.text}" is {span}; lines of another time are marked\n'
        question = without_tags(f"{asked}Question: {self.query}")
        return [
            SystemMessage("\n".join(filter(None, system))),
            HumanMessage(f"{inside('memories', lines)}\n\n{question}"),
        ]


def past_window(window: TimeConstraint | None, today: datetime | None) -> TimeConstraint | None:
    """Return a stretch of time, unless it begins today or later, as "tonight" does: nothing was told of it."""
    begins_later = window and window.start and today and window.start.date() >= today.date()
    return None if begins_later else window


def is_outside(passage: Evidence, window: TimeConstraint | None) -> bool:
    """Return whether both what a passage tells and when it was said are outside a stretch of time, as far as known."""
    record = passage.record
    said_at = record.mentioned_at if record else passage.turns[0].said_at if passage.turns else None
    told = (record.event_start, record.event_end or record.event_start) if record else (None, None)
    said = (wall_time(said_at),) * 2 if said_at else (None, None)
    spans = [(start, end) for start, end in (told, said) if start and end]
    if not (window and spans):
        return False
    low, high = epoch_seconds(window.start, -inf), epoch_seconds(window.end, inf)
    return all(epoch_seconds(end, low) < low or epoch_seconds(start, high) > high for start, end in spans)
