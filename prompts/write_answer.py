"""Ask for the answer that people read, from the turns that deep retrieval went back to (HyMem section 3.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, ask_about
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.settings import AnswerSettings

UNKNOWN = "I don't know."
"""What an answer says when the evidence is absent."""

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
If a part of the question stays open, or it asks for several things and memory may well hold more of them than these \
pieces do, write {MORE} at the very end; else never."""
NEWEST = "Where two pieces disagree, the newest holds."
SOURCE = "You answer a question from numbered pieces of past conversations, and from nothing else."
ORDERED = "They stand in the order in which they were said."
WORDING: Mapping[str, str] = {
    "auto": f"{FITTING} {CITE}\n{DATES} {CONFLICTS} {GOES_ON}",
    "short": f"{BRIEF} {CITE}\n{DATES} {NEWEST} {GOES_ON}",
    "full": f"Answer completely, in full sentences. {CITE}\n{DATES} {CONFLICTS} {GOES_ON}",
    "reasoned": "First weigh the pieces in two or three sentences. Then write a last line that begins with "
    f'"Answer:" and holds the answer alone. On that line: {BRIEF} {CITE}\n{DATES} {NEWEST}',
    "exhaustive": "Answer completely and precisely, in full sentences; where a time is relative, say to which day. "
    f"{CITE}\n{DATES} {NEWEST}",
}
"""How answers are worded, by style (docs/decisions/0023)."""
LAST: Mapping[str, str] = {
    "auto": "Answer in the form that the question asks for.",
    "short": "Answer in a few words.",
    "full": "Answer in full sentences.",
    "reasoned": 'Reason briefly, then give the line "Answer: ...".',
    "exhaustive": "Answer completely.",
}
"""What stands last, where a small model heeds it most."""
LIKELY = "What the pieces do not say but make likely may be concluded."
ELSE_UNKNOWN = f"If nothing in them bears on the question, answer exactly: {UNKNOWN}"
CONCLUDING: Mapping[str, str] = {
    "auto": f"{LIKELY} {PARTS} {ELSE_UNKNOWN}",
    "short": f"{LIKELY} {ELSE_UNKNOWN}",
    "full": f"{LIKELY} {PARTS} {ELSE_UNKNOWN}",
    "reasoned": "Guess nothing that the pieces do not say. If they do not suffice, the last line is: "
    f"Answer: {UNKNOWN}",
    "exhaustive": "Name every answer that the pieces allow. Where they are incomplete, infer the likeliest answer and "
    "give it rather than none.",
}


def introduction(settings: AnswerSettings) -> str:
    """Say what an answer is written from, and how it is ordered."""
    return f"{SOURCE} {ORDERED}" if settings.layout == "turns" else SOURCE


@dataclass(frozen=True)
class WriteAnswer(Question[str]):
    """What is the answer, and what does it rest on?"""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    now: datetime | None = None
    settings: AnswerSettings = field(default_factory=AnswerSettings)
    """How the evidence is shown, and how the answer is worded."""
    earlier: tuple[str, ...] = ()
    """The answers of earlier rounds."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        style = self.settings.style
        system = f"{introduction(self.settings)}\n{WORDING[style]}\n{CONCLUDING[style]}\n{DATA_ONLY}"
        return ask_about(system, self.evidence, f"{self.query}\n{LAST[style]}", self.now, self.settings, self.earlier)
