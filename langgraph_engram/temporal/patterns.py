"""Hold the English words that times are mentioned in, as parts of patterns, and define the rules that read them.

A rule has words that trigger it, a pattern, and a reader, under it, which turns a match into a period. A pattern that
names its year in full has it in a group called `year`; all others need a clock, and many the tense of their clause: the
clause of a span decides, and only where it shows nothing, the nearest other one of the sentence. Words before the span
count more than words after it. A form that may be a participle shows nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Literal

from langgraph_engram.schema import DateOrder
from langgraph_engram.temporal.datetimes import STEPS, Period, Unit, Which

Tense = Literal["ahead", "behind"]
REACH = 140
"""Characters before a span that are judged; after it, half as many."""
SENTENCE_END = re.compile(
    r"\n(?=\s*(?:[-*+•#|]|\d))|(?:[!?\n]|(?<!\b[ap]\.m)(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bvs)\.)(?=\s|$)"
)
SUBJECT = r"(?:i|we|he|she|it|they|you|there|that|this|my|our|his|her|their|the)(?:['’](?:m|re|s|ve|d|ll))?"
CLAUSE_END = re.compile(
    rf"(?i)[;:]\s|\s+[–—-]+\s+|,?\s+(?=(?:but|because|although|though|whereas|unless)\b)|"
    rf",\s+(?=(?:and|so|or|then|while|when|which|who|since|if)\s)|,?\s+(?=(?:and|so|or)\s+{SUBJECT}\b)|"
    rf",\s+(?={SUBJECT}\s)|\s+(?=that\s)|(?<=\bsaid)\s+(?={SUBJECT}\s)|(?<=\btold)\s+\w+\s+(?={SUBJECT}\s)"
)
"""What is said or told is a clause of its own."""
BE = r"(?:\b(?:am|is|are)|['’](?:m|re|s))"
PERSON = r"(?:i|you|we|they|he|she|it)"
SOFTENER = r"(?:(?:not|also|just|still|now|all|both|already|even|first|then|[a-z]+ly)\s+)?"

GOINGS = (
    "going coming leaving flying driving moving heading travell?ing visiting meeting seeing having hosting taking "
    "getting giving starting launching returning staying attending doing(?!\\s+(?:well|great|good|ok|okay|fine|better))"
).split()
"""Progressive forms of what somebody is often about to do."""
SCHEDULED = "starts? begins opens closes launches arrives returns leaves takes\\s+place".split()
"""Present forms for what is in a calendar."""
INTENTIONS = (
    rf"(?-i:will|WILL)|will\s+(?:{PERSON}|there|the|your|my)|won['’]?t|shall|should|must|might|ought\s+to|needs?\s+to",
    rf"gonna|going\s+to|about\s+to|ha(?:ve|s)\s+to|got\s+to|{PERSON}\s+can|can\s+{PERSON}|can['’]?t\s+wait|plan(?:s|ning)?|planned\s+(?:for|in|on)",
    r"look(?:ing)?\s+forward|(?:hop|aim)(?:e|es|s|ing)?\s+to|hopefully|want(?:s|ing)?\s+to|would\s+(?:you\s+)?(?:like|love)\s+to",
    r"(?:thinking|dreaming)\s+(?:of|about)\s+[a-z]+ing|(?:training|practi[cs]ing|studying|saving|packing)\s+for|considering",
    r"(?<!was )(?<!were )(?<!was so )(?<!were so )excited\s+(?:for|about|to)|preparing|getting\s+ready|remind(?:er)?",
    r"see\s+you|let['’]?s|how\s+about|don['’]?t\s+forget|save\s+the\s+date|rsvp|please|tomorrow|(?<!as )soon",
    r"be\s+there|next(?!\s+to)|(?:re)?scheduled|expect(?:s|ed|ing)?|supposed\s+to|upcoming|coming|due(?!\s+to)|deadline|(?:to|will)\s+be\s+held",
)
"""What is wanted, owed or promised."""
HAVING = (
    r"(?:(?<!\bdid )(?:i|we|you|they)\s+(?:also\s+|still\s+)?have|has)\s+(?:got|an?|my|our|another|plans|tickets)|"
    r"leav(?:e|es|ing)\s+(?:for|on)|starting"
)
AHEAD = re.compile(
    rf"(?i)\b(?:{'|'.join(INTENTIONS)}|{HAVING}|{'|'.join(SCHEDULED)})\b|"
    r"['’]ll\b|['’]ve\s+got\b|['’]d\s+(?:like|love)\s+to\b|"
    rf"{BE}\s+(?:{PERSON}\s+)?{SOFTENER}(?:{'|'.join(GOINGS)}|free|available|busy|away|invited)\b"
)
"""The future, anywhere in a clause."""
ARRANGING = r"(?:book|reserv|regist|schedul|plann|arrang|enroll?|invit|order|bought|sign(?=ed\s+up))\w*"
"""What was done about a day that may still lie ahead: it does not make that day past."""
PAST_VERBS = (
    "ended visited attended started finished happened did saw came made took gave felt met won lost ran "
    "found held began ate broke brought built caught chose drank drew drove fell flew forgot fought grew "
    "heard knew led paid rode sang sent slept sold spent spoke stood swam taught thought threw woke wore wrote hid "
    "shot swept froze dug bit blew stole tore rang rose shook hung lent meant lit became paid stuck struck understood"
).split()
NOT_PASSIVE = r"(?<!\bbe )(?<!\bis )(?<!\bare )(?<!['’]re )(?<!\bget )(?<!\bto )"
BEHIND = re.compile(
    r"(?i)\b(?:was|were|(?:was|were|did|had)n['’]?t|had|(?<!will have )(?<!['’]ll have )been|"
    r"ago|yesterday|since|last|went|(?<!\bgo )(?<!going )(?<!\bcome )(?<!coming )(?<!\bbe )back\s+in|"
    rf"wouldn['’]?t|couldn['’]?t|{NOT_PASSIVE}(?<!['’]m )just\s+(?:ordered|(?!need|{ARRANGING})[a-z]{{2,}}ed)|"
    rf"{PERSON}\s+{SOFTENER}(?!need\b|indeed\b|feed\b|{ARRANGING})[a-z]{{2,}}ed|"
    r"left(?!\s+(?:until|till|to|before|for)\b)|kept|"
    rf"said(?!\s*$)|told(?!(?:\s+\w+)?\s*$)|"
    rf"{NOT_PASSIVE}(?:(?<!have )(?<!has )(?<!['’]ve )got|{'|'.join(PAST_VERBS)}))\b"
)
"""The past, anywhere in a clause; "said" and "told" at its end are of a clause before what was said."""
ARRANGED = re.compile(
    r"(?i)\b(?:schedul|plan|book|set|arrang|reserv|invit|appointment|ticket|due)\w*\b[^.;!?]{0,60}?\bfor\s+(?:the\s+)?$|"
    r"\b(?:mov|postpon|reschedul|push|shift|chang|extend|delay|put)\w*\b[^.;!?]{0,60}?\b(?:to|until|till)\s+(?:the\s+)?$"
)
"""Right before a time: it is an appointment."""
THOUGHT = re.compile(r"(?i)\b(?:wonder|decid|invit|accept|heard|told|ask)\w*\b|\b(?:want|look)(?:ed|ing)\b|\bweather\b")
"""What was thought, heard or asked may be of a time that still lies ahead."""
IS_ON = re.compile(
    rf"(?i)(?:\b(?:is|are)|\w['’](?:s|re))\s+{SOFTENER}(?:(?:on|at|in|from|until|till|around|about)\s+)?(?:the\s+)?$"
)
"""Right before a day: something is on it."""
IS = re.compile(r"\s+(?:is|are|['’]s)\b")
"""Right after a day: the day itself is something."""
HABIT = re.compile(
    r"(?i)\b(?:usually|(?<!will )(?<!['’]ll )(?<!['’]ve )(?<!have )(?<!has )always|often|normally|typically|generally|"
    r"sometimes|tends?\s+to|used\s+to(?!\s+(?:it|this|that)\b)|regularly|annually|(?:daily|weekly|monthly)(?=\s+(?:at|from|between|in|on)\b)|whenever|all\s+the\s+time|"
    r"(?:every|each)\s+(?:single\s+|other\s+|second\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|night|morning|"
    r"evening|week|weekend|month|year|spring|summer|autumn|fall|winter|season|time)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days(?!\s+(?:ago|from|after|before)))\b"
)
PEOPLE = re.compile(
    r"(?i)\b(?:i|me|my|mine|we|us|our|ours|you|your|he|him|she|her|let['’]?s|can['’]?t\s+wait)\b|^\W*(?!during\b)[a-z]+(?:ing|ed)\b"
)
"""Words for people, or a verb that opens a sentence without its "I"."""
DIGITS = "#"
"""The trigger word that stands for any number."""
WEEKDAYS = "mon tue wed thu fri sat sun".split()
UP_TO_NINETEEN = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SPELLED = {word: value for value, word in enumerate(UP_TO_NINETEEN, start=1)} | {
    word: 10 * value for value, word in enumerate(TENS, start=2)
}
NUMBERS = SPELLED | {"a": 1, "an": 1, "another": 1}
VAGUE_NUMBERS = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
"""The least and the greatest value of a vague number."""
UNITS: dict[str, Unit] = {unit: unit for unit in STEPS} | {"night": "day", "yr": "year"}
WHICHES: dict[str, Which] = {
    "past": "recent", "last": "last", "coming": "coming", "upcoming": "coming", "this": "this", "next": "next"
}  # fmt: skip
"""The occurrence that a word before a period chooses."""
MONTH = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?|aug(?:ust|\.)?|"
    r"sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)(?![a-z])"
)
FULL_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?![a-z])"
WEEKDAY = rf"(?:{FULL_WEEKDAY}|(?-i:(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?:\b\.(?=,|\s*\d))?)(?![a-z]))"
"""A weekday in full, or short with a capital: "sat" and "sun" are words."""
DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?!\d|:\d)"
FULL_YEAR = r"(?:1[5-9]|20|21)\d\d(?![\d%])(?!\.\d)"
COUNT = (
    rf"(?:(?<![\d][.,])\d{{1,3}}|(?:{'|'.join(TENS)})[\s-](?:{'|'.join(UP_TO_NINETEEN[:9])})|"
    rf"{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
)
AMOUNT = rf"(?:(?:a\s+)?(?:couple|few)(?:\s+of)?|several|{COUNT})"
UNIT = r"(?:day|night|week|weekend|month|year|yr)"
PART_OF_DAY = r"(?:\s+(?:early\s+|late\s+)?(?:morning|afternoon|evening|night)(?![a-z]))"
WHICH = r"(?:(?:the\s+|this\s+)?(?:past|last|coming|upcoming)|this|(?<!the\s)next)"
"""Not "the next" nor "previous": in a story they count from what was mentioned before."""
UNTIL = r"\s*(?:-|–|—|to|until|till|thru|through)\s*"
"""Between the ends of a range."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text, and when it was said by the speaker's clock."""

    text: str
    clock: datetime
    date_order: DateOrder | None = None
    """The order in which the speaker writes the numbers of a date, where known."""

    @property
    def today(self) -> date:
        """Return the day on which it was said."""
        return self.clock.date()

    def tense(self, match: re.Match[str]) -> Tense | None:
        """Return the tense of the clause around a mention, or else of the nearest one of its sentence."""
        return self.tenses(match)[0]

    def tenses(self, match: re.Match[str]) -> tuple[Tense | None, bool]:
        """Return the tense as `tense` does, and whether it is certainly that of the mention."""
        end = match.end("span")
        possessive = self.text[end : end + 2] in ("'s", "’s")
        *earlier, before = CLAUSE_END.split(self.before(match))
        after, *later = CLAUSE_END.split(self._after(end + 2 * possessive))
        arranged: Tense | None = "ahead" if ARRANGED.search(before) or IS_ON.search(before) else None
        own = [arranged] if arranged else [*filter(None, (_last(before), _first(after)))]
        tense = next(filter(None, (*own, *map(_last, reversed(earlier)), *map(_first, later))), None)
        return tense, not THOUGHT.search(before) if tense == "behind" else len({*own}) == 1

    def is_habit(self, match: re.Match[str]) -> bool:
        """Return whether the clause around a mention speaks of what happens again and again."""
        before, after = CLAUSE_END.split(self.before(match)), CLAUSE_END.split(self._after(match.end("span")))
        return bool(HABIT.search(before[-1]) or HABIT.search(after[0]))

    def speaks_of_people(self, match: re.Match[str]) -> bool:
        """Return whether the sentence around a mention speaks of somebody, not of what holds nowadays or in general."""
        return PEOPLE.search(f"{self.before(match)} {self._after(match.end('span'))}") is not None

    def before(self, match: re.Match[str]) -> str:
        """Return the sentence up to a mention, no more than its last `REACH` characters."""
        start = match.start("span")
        return SENTENCE_END.split(self.text[max(0, start - REACH) : start])[-1]

    def _after(self, end: int) -> str:
        """Return the sentence from an index on, no more than half as many characters."""
        return SENTENCE_END.split(self.text[end : end + REACH // 2], maxsplit=1)[0]


def _last(clause: str) -> Tense | None:
    """Judge by the last word that shows a tense."""
    ahead, behind = _last_match(AHEAD, clause), _last_match(BEHIND, clause)
    return None if ahead == behind else "ahead" if ahead > behind else "behind"


def _first(clause: str) -> Tense | None:
    """Judge by the first word that shows one."""
    ahead, behind = AHEAD.search(clause), BEHIND.search(clause)
    if IS.match(clause) or (ahead and not (behind and behind.start() < ahead.start())):
        return "ahead"
    return "behind" if behind else None


def _last_match(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


def read_weekday(word: str) -> int:
    """Return the number of a weekday; Monday is 0."""
    return WEEKDAYS.index(word[:3].casefold())


def read_amount(words: str) -> tuple[int, int]:
    """Return the least and the greatest number that the words mean."""
    for word in words.casefold().split():
        if word in VAGUE_NUMBERS:
            return VAGUE_NUMBERS[word]
    number = int(words) if words.isdecimal() else sum(NUMBERS[word] for word in re.split(r"[\s-]", words.casefold()))
    return number, number


Read = Callable[[re.Match[str], Utterance], Period | None]


@dataclass(frozen=True)
class Rule:
    """One way in which English mentions a time."""

    expression: str
    """Its group `span` is the mention, without a preposition that is only evidence for it."""
    read: Read
    """Turn a match into a period, or None. May raise ValueError or OverflowError for a day that does not exist."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the compiled expression; compiled when a trigger first occurs, since most never do in a process."""
        return re.compile(self.expression, re.IGNORECASE)


class Rules(list[Rule]):
    """Rules that share their triggers: lower-case words (or `DIGITS`), any of which must occur in the text."""

    def __init__(self, triggers: str) -> None:
        super().__init__()
        self.triggers = frozenset(triggers.split())

    def reads(self, body: str, before: str = r"(?<![\w-])", after: str = "") -> Callable[[Read], Read]:
        """Add a rule: `before` and `after` must surround `body`, which is the mention and ends with a word."""

        def add(read: Read) -> Read:
            self.append(Rule(rf"{before}(?P<span>{body})(?!\w){after}", read))
            return read

        return add


def led_by(*words: str) -> str:
    """Return the pattern before a mention that only a preposition makes certain."""
    return rf"(?<!\w)(?:{'|'.join(words)})[\s-]+"
