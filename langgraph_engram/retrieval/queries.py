"""Turn a query into what is searched for: its constraints, its breadth, and what sort of query it is."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, get_args

from langgraph_engram.embeddings.base import Encoder, encode_as
from langgraph_engram.logistic import Numbers, TextClassifier, softmax
from langgraph_engram.prompts.parse_intent import ParsedIntent
from langgraph_engram.schema import Breadth, Intent, QuerySort, TimeConstraint
from langgraph_engram.temporal.find import parse_constraint
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.questions import answer_type, asks, begins_question, read_cues
from langgraph_engram.text.statements import speaks_of_self
from langgraph_engram.text.words import content_stems

UNPARSED_NOTE = "the query could not be analysed, so its words alone are searched for"
MAX_WORD = 100
"""Characters of the longest word that is left out where a query is cut."""
LAST_BREAK = re.compile(r"\s\S*\Z")
MAX_CHARACTERS = 20_000
"""Characters of a query that are read."""
OF_ASKER = re.compile(
    r"(?<!can )(?<!may )(?<!must )(?<!shall )(?<!could )(?<!would )(?<!should )\bi\b|\b(?:im|ive|my|me|mine|myself)\b",
    re.IGNORECASE,
)
"""The asker alone, as somebody who said so: not "we", and not what "should I" do, which anybody may have said."""
WEIGHTS_FILE = "query_weights.json"
BREADTHS: tuple[Breadth, ...] = get_args(Breadth)
LEAST_WHOLE = {"recall": 0.15, "search": 0.6}
"""The probability of needing the whole from which lines are shown: readers lose more by what is left out."""
SORTS: tuple[QuerySort, ...] = get_args(QuerySort)
OPEN_TYPES = ("content", "advice", "yes_no", "reason")
"""Types of answers that requests ask for as well."""
CONTEXT_TURNS = 2
"""Turns of a thread that a message is read with."""
MIN_ALONE_STEMS = 4
"""Content stems from which a message that does not point back is read alone."""
LEAST_IDLE = 0.7
"""The probability from which a query is idle: what bears on it would be lost, and a few tokens are not."""


def truncated(query: str) -> tuple[str, list[str]]:
    """Return a query as far as it is read, up to the end of the last word that fits, and a note where that is less."""
    if len(query) <= MAX_CHARACTERS:
        return query, []
    last = LAST_BREAK.search(query, MAX_CHARACTERS - MAX_WORD, MAX_CHARACTERS + 1)
    read = query[: last.start() if last else MAX_CHARACTERS].rstrip()
    return read, [f"only the first {len(read):,} of the question's {len(query):,} characters were read"]


def asking_speakers(people: Sequence[str], user_id: str) -> list[str]:
    """Return who of several people says "I" in a query: whoever is called as the user's id or role, else nobody."""
    own = [person for person in people if person.casefold() in (user_id.casefold(), "user")]
    return own if len(own) < len(people) else []


def make_intent(query: str, parsed: ParsedIntent | None, now: datetime | None, askers: Sequence[str] = ()) -> Intent:
    """Return the constraints of a query; the dimension that it asks for constrains nothing.

    Args:
        parsed: What a model or the rules parsed; None where that failed, and the words alone are searched for.
        now: The time from which relative times count.
        askers: The speakers whom a query in the first person is about.
    """
    if parsed is None:
        return Intent(query=query, anchor=query, asked_at=now)
    asked_for = parsed.answer_dimension
    of_askers = askers if OF_ASKER.search(query) and not parsed.needs_assistant else ()
    return Intent(
        query=query,
        anchor=parsed.anchor or query,
        target_types=list(dict.fromkeys(parsed.target_types)),
        keywords=list(dict.fromkeys(parsed.keywords)),
        time=_time_constraint(query, parsed.time, now) if asked_for != "time" else None,
        location="" if asked_for == "location" else parsed.location,
        reason=parsed.reason if asked_for != "reason" else "",
        purpose=parsed.purpose if asked_for != "purpose" else "",
        speakers=list(dict.fromkeys(parsed.speakers)) or list(of_askers),
        answer_dimension=asked_for,
        needs_assistant=parsed.needs_assistant,
        breadth=parsed.breadth,
        asked_at=now,
    )


def first_person_query(intent: Intent) -> str:
    """Rewrite a query about one person in the first person, since people speak of themselves as "I" and "my"."""
    if len(intent.speakers) != 1:
        return intent.anchor
    name = re.escape(intent.speakers[0])
    possessive = re.sub(rf"\b{name}['’]s\b", "my", intent.anchor)
    return re.sub(rf"\b{name}\b", "I", possessive)


def breadth_of(intent: Intent, encoder: Encoder, mode: Literal["search", "recall"] = "recall") -> Breadth:
    """Return what of a memory a query needs: as its parser says, else as it reads, if the encoder can."""
    chances = None if intent.breadth else _chances(BREADTHS, first_person_query(intent), encoder)
    if chances is None:
        return intent.breadth or "narrow"
    if 1 - chances[BREADTHS.index("narrow")] < LEAST_WHOLE[mode]:
        return "narrow"
    return max(BREADTHS, key=lambda breadth: (breadth != "narrow") * chances[BREADTHS.index(breadth)])


def sort_of(intent: Intent, encoder: Encoder, *, is_talk: bool = False) -> QuerySort:
    """Return whether a query is a question about the past, a message, or idle; a question if the encoder cannot read.

    It is a question where it asks anything of a talk in which no assistant could answer (`is_talk`), of somebody by
    name, for the assistant's words, and, unless it reads as idle and is not in the first person, for a time, a number
    or a name of the user's own, or broadly. Else it is idle from `LEAST_IDLE` on, or the likelier of the others; a
    question only if it asks, is a few words or, beside an assistant, is in the first person or names somebody.
    """
    query, begins = intent.query, begins_question(intent.query)
    chances = None if intent.needs_assistant else _chances(SORTS, query, encoder)
    if chances is None:
        return "question"
    of_self = speaks_of_self(query)
    is_own = of_self or bool(proper_names(query))
    asks_for_fact = begins and (is_talk or intent.speakers or (is_own and answer_type(query) not in OPEN_TYPES))
    asks_memory = asks_for_fact or (begins and intent.breadth not in (None, "narrow"))
    if asks_memory and (is_talk or intent.speakers or of_self):
        return "question"
    question, message, idle = (chances[SORTS.index(sort)] for sort in ("question", "message", "idle"))
    if idle >= LEAST_IDLE:
        return "idle"
    of_people = not is_talk and (of_self or intent.speakers)
    may_ask = asks(query) or of_people or len(query.split()) < MIN_ALONE_STEMS
    return "question" if asks_memory or (may_ask and question > message) else "message"


def idle_chance(query: str, encoder: Encoder) -> float:
    """Return the probability that nothing bears on a query; 0 if the encoder cannot read it."""
    chances = _chances(SORTS, query, encoder)
    return 0.0 if chances is None else float(chances[SORTS.index("idle")])


def _chances(labels: tuple[str, ...], query: str, encoder: Encoder) -> Numbers | None:
    """Return the probability of each label, of which a query has one; None if the encoder cannot read it."""
    vectors = encode_as(encoder, "message", [query])
    if vectors is None:
        return None
    return softmax(TextClassifier.load(labels, __package__, WEIGHTS_FILE).scores(vectors)[0])


def with_context(message: str, before: Sequence[str]) -> str:
    """Return a message with what its thread said last, where it cannot be read without ("and for Friday?")."""
    cannot_stand_alone = read_cues(message).points_back or len(content_stems(message)) < MIN_ALONE_STEMS
    return "\n".join([*before[-CONTEXT_TURNS:], message]) if cannot_stand_alone else message


def _time_constraint(query: str, parsed: str, now: datetime | None) -> TimeConstraint | None:
    """Read a parsed time, or a bare year, within the query where it stands there word for word: verbs show the year."""
    in_query = parse_constraint(query, now) if parsed else None
    if in_query and in_query.text == parsed:
        return in_query
    return parse_constraint(parsed, now) or parse_constraint(f"in {parsed}", now)
