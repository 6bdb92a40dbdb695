"""Parse a query, select candidates for it and check an answer, without a language model.

A query is read by its question words, names, times and cues; candidates and answers by the words they share with it.
"""

import re
from collections.abc import Mapping, Sequence

from langgraph_engram.prompts.parse_intent import ParsedIntent, ParseIntent
from langgraph_engram.prompts.reflect import Reflect, Reflection
from langgraph_engram.prompts.rendering import cited_numbers
from langgraph_engram.prompts.select_lines import MOST_NAMED, LineSelection, SelectLines
from langgraph_engram.prompts.select_records import Selection, SelectRecords
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.schema import Dimension, Evidence, Intent
from langgraph_engram.temporal.find import parse_constraint
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.questions import AnswerType, answer_type, asks_for_assistant
from langgraph_engram.text.statements import expanded_stems, location_of
from langgraph_engram.text.words import STOP_WORDS, content_stems, words

DIMENSIONS: Mapping[AnswerType, Dimension] = {
    "time": "time", "clock_time": "time", "weekday": "time", "place": "location", "reason": "reason"
}  # fmt: skip
"""The dimension that holds answers of a type."""
FOR_PURPOSE = re.compile(
    r"\bwhat for\b|\bfor what purpose\b|\bwhat(?:'s| is| was) the (?:purpose|goal)\b", re.IGNORECASE
)
NUMBERED = re.compile(r"(\d+): (.*)", re.DOTALL)
MIN_SHARED = 2
"""Content stems that a line shares with a message where a rule names it."""
NO_KEYWORDS = frozenset("many much long often kind type sort did happened happen would could should might".split())
ASKING_WORDS = frozenset(
    content_stems(
        "much many long often kind type sort name thing things did happen time date day year month week place person "
        "people one first last recently currently new now planned plan going get go make take tell said say told "
        "mention called titled tips advice ideas suggestions recommendations suggest advise think should help look"
    )
)
"""Stems that say how something is asked, not what is asked for."""
SUFFICIENT = 0.5
"""Share of what a query names from which the cited passages cover it."""


def parse_intent(question: ParseIntent) -> ParsedIntent:
    """Return what the query asks for. The dimension asked for is left open as a constraint."""
    query = question.query
    dimension = DIMENSIONS.get(answer_type(query), "purpose" if FOR_PURPOSE.search(query) else "content")
    constraint, place = parse_constraint(query, question.now), location_of(query)
    people = {word for name in question.speakers for word in words(name)}
    return ParsedIntent(
        anchor=query.strip(),
        keywords=_keywords(query),
        time=constraint.text if constraint else "",
        location="" if dimension == "location" or people & {*words(place)} else place,
        speakers=[
            name
            for name in question.speakers
            if name not in ("user", "assistant") and not set(words(query)).isdisjoint(words(name))
        ],
        answer_dimension=dimension,
        needs_assistant=asks_for_assistant(query),
    )


def select_lines(question: SelectLines) -> LineSelection:
    """Name the lines that share most words with the message, at least two."""
    stems = set(content_stems(question.message))
    lines = [NUMBERED.match(line) for line in (*question.fixed, *question.near)]
    shared = {int(line[1]): len(stems & set(content_stems(line[2]))) for line in lines if line}
    best = sorted((number for number in shared if shared[number] >= MIN_SHARED), key=lambda number: -shared[number])
    return LineSelection(numbers=best[:MOST_NAMED])


def select_records(question: SelectRecords) -> Selection:
    """Return the numbers of the candidates that mention most of what the query names, best first, at most eight."""
    needed = needed_stems(question.query, question.intent)
    shared = [len(needed & set(content_stems(_text(passage)))) for passage in question.candidates]
    numbers = (number for number, stems in enumerate(shared, start=1) if stems)
    return Selection(numbers=sorted(numbers, key=lambda number: -shared[number - 1])[:8])


def reflect(question: Reflect) -> Reflection:
    """Return complete where the cited passages cover most of the query, else the words to look for once."""
    needed = needed_stems(question.query, question.intent)
    answered = bool(question.answer) and question.answer != UNKNOWN
    numbers = set(cited_numbers(question.answer))
    pool = question.pool or ()
    cited = [passage for number, passage in enumerate(pool, 1) if number in numbers] or list(pool)
    mentioned = set(content_stems(question.answer)) if question.pool is None else _mentioned(cited)
    if answered and len(needed & mentioned) >= SUFFICIENT * len(needed):
        return Reflection(complete=True)
    named = [word for word in dict.fromkeys(words(question.query)) if set(content_stems(word)) & needed]
    missing = [word for word in named if not set(content_stems(word)) <= mentioned] or named
    following = " ".join([*question.intent.speakers, *missing])
    again = len(question.asked) > 1
    return Reflection(complete=False, missing=", ".join(missing), next_query="" if again else following)


def needed_stems(query: str, intent: Intent) -> set[str]:
    """Return the stems that evidence must mention: those of the query but its asking words, people and times."""
    people = set(content_stems(" ".join(intent.speakers)))
    times = set(content_stems(intent.time.text)) if intent.time else set()
    stems = set(content_stems(query))
    return (stems - ASKING_WORDS - people - times) or (stems - people) or stems


def _mentioned(passages: Sequence[Evidence]) -> set[str]:
    """Return the stems of passages and of the turns under them."""
    said = [(_text(passage), passage.record.speaker if passage.record else "") for passage in passages]
    said += [(turn.said, turn.speaker) for passage in passages for turn in passage.turns]
    return {stem for text, speaker in said for stem in expanded_stems(text, speaker)}


def _text(passage: Evidence) -> str:
    return passage.record.content if passage.record else passage.text


def _keywords(query: str) -> list[str]:
    names = proper_names(query)
    in_names = {word for name in names for word in words(name)}
    rest = (word for word in words(query) if word not in STOP_WORDS | NO_KEYWORDS | in_names)
    return list(dict.fromkeys([*names, *rest]))
