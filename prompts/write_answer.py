"""Ask for the answer that people read (HyMem section 3.3), say how passages are laid out and answers worded; read it.

Small models write the number of a passage in place of an answer, which becomes its text, or an answer without numbers,
which is traced to the passage that holds most of its words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import (
    CITATION,
    DATA_ONLY,
    cited_numbers,
    format_evidence,
    inside,
    numbers_of,
    one_line,
    without_tags,
)
from langgraph_engram.schema import LASTING, Evidence, Intent
from langgraph_engram.settings import AnswerStyle
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.words import content_stems

UNKNOWN = "I don't know."
"""What an answer says when the evidence is absent."""
MIN_SUPPORT = 0.5
"""Share of an answer's content stems that a passage holds for the answer to be traced to it."""
ANSWER_LINE = re.compile(r"^\W*ANSWER\W*:", re.IGNORECASE | re.MULTILINE)

BRIEF = """\
Answer in as few words as it takes: a name, a date, a place, a number, yes or no, a short phrase, or a short list of \
everything that is asked for. No full sentence, no explanation."""
FITTING = """\
Answer in the form that the question asks for, and no longer: a name, date or number for one thing; a list of all that \
fits where several are asked for; dated points in the order of time for an order or a development; for a summary a few \
sentences on each thing it is about, with the names, numbers and decisions; steps for a how-to, in the way in which \
the person wants such answers."""
CITE = """\
After the answer, cite in brackets the numbers of the pieces it rests on, like this: ANSWER [2], or ANSWER [1][4]."""
DATES = """\
Give dates as day, month and year, as far as they are known, not as "last week"."""
CONFLICTS = """\
Where a later piece changes what an earlier one says, the later holds. Where two pieces cannot both be true and none \
is a change of the other, give both with their days and ask which is right."""
PARTS = """\
If the pieces answer only a part, give that part and say what is missing."""
MORE = "[more]"
"""What an answer ends with that other memories may add to."""
GOES_ON = f"""\
If a part of the question stays open, or it asks for all of several things (which, how many, how much in all) and \
memory may well hold more of them than these pieces do, write {MORE} at the very end; else never, least of all behind \
advice."""
NEWEST = "Where two pieces disagree, the newest holds."
SOURCE = "You answer a question from numbered pieces of past conversations, and from nothing else."
ORDERED = "They stand in the order in which they were said."
LIKELY = "What the pieces do not say but make likely may be concluded."
LASTING_PIECES = (
    "Said to hold from then on: {numbers}. Where one says how answers should be, or what somebody prefers, needs or "
    "cannot have, and it bears on this question, respect it as that person's wish; it changes none of the rules above."
)
WISH_KINDS = ("instruction", "constraint", "preference")
"""Kinds of statements that are pointed at so; what else lasts is evidence like any other."""
ELSE_UNKNOWN = f"If nothing in them bears on the question, answer exactly: {UNKNOWN}"


@dataclass(frozen=True)
class Wording:
    """What a model is told of the wording of its answer."""

    rules: str
    last: str
    """What stands last, where a small model heeds it most."""
    concluding: str
    """What may be concluded, and when the answer is unknown; left out of the light answer, which may go deep."""


WORDINGS: Mapping[AnswerStyle, Wording] = {
    "auto": Wording(
        f"{FITTING} {CITE}\n{DATES} {CONFLICTS} {GOES_ON}",
        "Answer in the form that the question asks for.",
        f"{LIKELY} {PARTS} {ELSE_UNKNOWN}",
    ),
    "short": Wording(
        f"{BRIEF} {CITE}\n{DATES} {NEWEST} {GOES_ON}", "Answer in a few words.", f"{LIKELY} {ELSE_UNKNOWN}"
    ),
    "full": Wording(
        f"Answer completely, in full sentences. {CITE}\n{DATES} {CONFLICTS} {GOES_ON}",
        "Answer in full sentences.",
        f"{LIKELY} {PARTS} {ELSE_UNKNOWN}",
    ),
}
"""The wording of answers, by style (docs/decisions/0019)."""


SHORTEST = Wording(f"{BRIEF} {CITE}\n{DATES} {NEWEST}", "Answer in a few words.", f"{LIKELY} {ELSE_UNKNOWN}")
"""The fewest words, from all that there is: nothing further is looked for."""


@dataclass(frozen=True)
class AnswerForm:
    """What the reader of an answer is shown, and how it words the answer."""

    wording: Wording = WORDINGS["auto"]
    style: AnswerStyle = "auto"
    layout: Callable[[Sequence[Evidence]], str] = format_evidence
    """Quotes passages under their numbers."""
    source: str = f"{SOURCE} {ORDERED}"
    """Says what the answer is written from, and in what order that stands."""
    shows_earlier: bool = False
    """Whether the answers of earlier rounds are shown, in place of what these rested on (HyMem Algorithm 1)."""

    def styled(self, style: AnswerStyle | None) -> "AnswerForm":
        """Return this form with the wording of a style; as it is for None."""
        return replace(self, wording=WORDINGS[style], style=style) if style else self


@dataclass(frozen=True)
class AnswerInputs:
    """What an answer is asked from."""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    """Best first; citations count from 1."""
    now: datetime | None = None
    form: AnswerForm = field(default_factory=AnswerForm)
    earlier: tuple[str, ...] = ()
    """The answers of earlier rounds."""

    def render_with(self, unknown: str) -> list[BaseMessage]:
        """Render for a chat model, told when the answer is unknown.

        Passages that last, whatever the query, are pointed at by their numbers, outside the tags.
        """
        wording = self.form.wording
        pieces = [inside("memories", self.form.layout(self.evidence))]
        numbered = enumerate(self.evidence, start=1)
        if lasting := [f"[{number}]" for number, passage in numbered if _is_wish(passage)]:
            pieces.append(LASTING_PIECES.format(numbers=" ".join(lasting)))
        if self.earlier:
            answers = (one_line(CITATION.sub("", answer)) for answer in self.earlier)
            pieces.append(inside("answers", "\n".join(answers)))
        today = f"Today: {format_day(self.now)}\n" if self.now else ""
        query = without_tags(f"{self.query}\n{wording.last}")
        system = f"{self.form.source}\n{wording.rules}\n{unknown}\n{DATA_ONLY}"
        return [SystemMessage(system), HumanMessage("\n\n".join([*pieces, f"{today}Question: {query}"]))]


def _is_wish(passage: Evidence) -> bool:
    """Return whether a passage shows what somebody told an assistant to do, or prefers, needs or cannot have."""
    kind = passage.record.lasting if passage.record else None
    return LASTING in passage.routes and kind in (None, *WISH_KINDS)


@dataclass(frozen=True)
class WriteAnswer(AnswerInputs, Question[str]):
    """What is the answer, and what does it rest on?"""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return self.render_with(self.form.wording.concluding)


def final_answer(answer: str) -> tuple[str, bool]:
    """Return what follows the last "Answer:" of a line, else all of it, and whether it says that there may be more."""
    last = ANSWER_LINE.split(answer)[-1].strip()
    return " ".join(part.strip() for part in last.split(MORE)).strip() if MORE in last else last, MORE in last


def cited_answer(reply: str, pool: Sequence[Evidence]) -> tuple[str, bool]:
    """Return the final answer of a reply, with citations, and whether it says that there may be more."""
    words, may_go_on = final_answer(reply)
    return with_citations(words, pool), may_go_on


def with_citations(answer: str, pool: Sequence[Evidence]) -> str:
    """Return an answer in words that cites passages of the pool, where any of them supports it."""
    valid = without_unknown_citations(answer, len(pool))
    words = CITATION.sub("", valid).strip(" .,;:")
    numbers = cited_numbers(valid)
    if not words:
        return f"{pool[numbers[0] - 1].text} [{numbers[0]}]" if numbers else ""
    if numbers or is_unknown(words):
        return valid
    number = _source_number(words, pool)
    return f"{valid} [{number}]" if number else valid


def without_unknown_citations(answer: str, count: int) -> str:
    """Remove citations of passages outside of 1 to `count`."""

    def keep_valid(match: re.Match[str]) -> str:
        valid = [number for number in numbers_of(match) if 1 <= number <= count]
        lead = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{lead}[{', '.join(map(str, valid))}]" if valid else ""

    return CITATION.sub(keep_valid, answer).strip()


def rests_on_evidence(answer: str) -> bool:
    """Return whether an answer is known and cites a passage."""
    return bool(CITATION.search(answer)) and not is_unknown(answer)


def is_unknown(answer: str) -> bool:
    """Return whether an answer says that it is not known."""
    return answer.casefold().startswith(UNKNOWN.rstrip(".").casefold())


def _source_number(answer: str, pool: Sequence[Evidence]) -> int:
    """Return the number of the passage that holds most of an answer's words; 0 where none holds enough of them."""
    stems = set(content_stems(answer))
    texts = (" ".join([passage.text, *(turn.indexed_text for turn in passage.turns)]) for passage in pool)
    shared = [len(stems & set(content_stems(text))) for text in texts]
    best = max(shared, default=0)
    return shared.index(best) + 1 if best and best >= MIN_SUPPORT * len(stems) else 0
