"""Ask for all of something: list what counts among many lines, then answer from the list; read it.

No paper asks so. Each line is shown under its day, and where the query names a stretch of time, what lies outside of it
is marked: no model has to reckon with dates. Each item of a reply is checked against the lines that it cites.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import (
    CITATION,
    DATA_ONLY,
    cited_numbers,
    format_evidence,
    inside,
    numbers_of,
    without_tags,
)
from langgraph_engram.prompts.write_answer import (
    ANSWER_LINE,
    ELSE_UNKNOWN,
    FITTING,
    UNKNOWN,
    final_answer,
    is_unknown,
    with_citations,
)
from langgraph_engram.results import Item
from langgraph_engram.schema import Breadth, Evidence, Intent, TimeConstraint
from langgraph_engram.settings import AnswerStyle
from langgraph_engram.temporal.datetimes import epoch_seconds, format_day, wall_time
from langgraph_engram.text.words import content_stems

ITEM, LEFT_OUT = "-", "x"
"""What a line of the reply begins with: a thing that counts, and one that does not."""
LOOK_FOR = "LOOK FOR:"
ANSWER = "ANSWER:"
ITEM_LINE = re.compile(r"^[ \t]*(?P<mark>[-*•–]|x\b|\d+[.)])[ \t]+(?P<text>\S.*)$", re.IGNORECASE | re.MULTILINE)
LOOK_FOR_LINE = re.compile(rf"^\W*{LOOK_FOR.rstrip(':')}\s*:?(?P<words>.*)$", re.IGNORECASE | re.MULTILINE)
LEAST_STEMS = 2
"""Content stems of an answer that rests on no list, and is traced to a line."""
NOTHING = frozenset({"", "none", "nothing", "n/a", "no"})
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
    "timeline": """\
An order names first mentions, with their days, no more things than the question asks for. Where all that came up on a \
subject is to be told in only so many things (not the first, the last or some of them), each is a stage: join \
neighbouring lines on it until that many are left, and name with each stage, in a few words each, what first came up \
in it, short follow-up questions too; leave out only another subject.""",
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


class ItemList(NamedTuple):
    """What a model listed."""

    items: list[Item]
    dropped: list[str]
    """What it listed that the lines it cites do not hold, or without citing any."""
    look_for: str
    """Words that further items would be found by; empty for none."""
    answer: str
    is_list: bool
    """Whether an answer stands behind it, or says that nothing is known: small models copy lines, and write none."""


def read_items(reply: str, lines: Sequence[Evidence]) -> ItemList:
    """Read a reply: those that count first, then what was left out, each with the lines that it rests on."""
    marked = [*ANSWER_LINE.finditer(reply)]
    listed = reply[: marked[-1].start()] if marked else ""
    items: list[Item] = []
    dropped: list[str] = []
    for line in ITEM_LINE.finditer(listed):
        text = " ".join(CITATION.sub("", line["text"]).split())
        cited = [lines[number - 1] for number in dict.fromkeys(cited_numbers(line["text"])) if 0 < number <= len(lines)]
        if not _holds(cited, text):
            dropped.append(text)
            continue
        ids = [passage.evidence_id for passage in cited]
        items.append(Item(text=text, evidence_ids=ids, counts=line["mark"].casefold() != "x"))
    looked = LOOK_FOR_LINE.search(listed)
    look_for = " ".join(looked["words"].split()) if looked else ""
    return ItemList(
        sorted(items, key=lambda item: not item.counts),
        dropped,
        "" if look_for.casefold().strip(" .") in NOTHING else look_for,
        final_answer(reply)[0],
        bool(marked) or is_unknown(reply),
    )


def answer_from(listed: ItemList, lines: Sequence[Evidence]) -> tuple[str, list[Evidence]]:
    """Return the answer of a list with its citations, and the lines that list and answer rest on, which it cites.

    Where nothing counts, none is no answer: what was not said may have been done all the same.
    """
    cited_ids = {evidence_id for item in listed.items for evidence_id in item.evidence_ids}
    counted = list(dict.fromkeys(ref for item in listed.items if item.counts for ref in item.evidence_ids))
    answer = listed.answer if counted or len(content_stems(listed.answer)) >= LEAST_STEMS else ""
    answer = answer if listed.items else with_citations(answer, lines)
    cited_ids |= {lines[number - 1].evidence_id for number in cited_numbers(answer) if 0 < number <= len(lines)}
    pool = [passage for passage in lines if passage.evidence_id in cited_ids]
    if is_unknown(answer) or not (answer and cited_ids):
        return UNKNOWN, pool
    numbers = {passage.evidence_id: number for number, passage in enumerate(pool, start=1)}

    def renumbered(match: re.Match[str]) -> str:
        kept = [numbers[lines[number - 1].evidence_id] for number in numbers_of(match) if 0 < number <= len(lines)]
        return "".join([" " * bool(kept), *(f"[{number}]" for number in kept)])

    answer = CITATION.sub(renumbered, answer).strip()
    if counted and not CITATION.search(answer):
        answer = "".join([answer, " ", *(f"[{numbers[ref]}]" for ref in counted)])
    return answer, pool


def _holds(cited: Sequence[Evidence], text: str) -> bool:
    """Return whether lines, or the turns that they are from, share a word with what is said to rest on them."""
    said = " ".join(part for passage in cited for part in (passage.text, *(turn.said for turn in passage.turns)))
    return not set(content_stems(text)).isdisjoint(content_stems(said))
