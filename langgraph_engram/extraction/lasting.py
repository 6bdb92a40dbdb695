"""Recognise what lasts of what people say, and what it is good for later.

A language model marks it as it extracts. Records in the words that were said are classified here: by logistic
regressions over the sentence as it is read for that (the lab's `training/readings.py`). See docs/decisions/0011.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, get_args

import numpy as np

from langgraph_engram.embeddings.base import Encoder, encode_as
from langgraph_engram.logistic import Numbers, TextClassifier, sigmoid
from langgraph_engram.schema import MOST_SIGNIFICANT, Lasting, Record, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.find import resolve_times
from langgraph_engram.text.questions import begins_question
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import own_words
from langgraph_engram.text.words import words

PACKAGE = "langgraph_engram.extraction"
WEIGHTS_FILE = "statement_weights.json"
LABELS: tuple[Lasting, ...] = get_args(Lasting)
LASTS: Literal["lasts"] = "lasts"
"""The label of a sentence of any kind."""
PASSED_ON: Literal["passed on"] = "passed on"
"""The label of a sentence that passes on words of others: a report, a task on a text, a role, a prompt."""
THRESHOLD = 0.45
"""The probability from which a sentence lasts."""
INSTRUCTION_THRESHOLD = 0.65
"""The probability from which it is an instruction: a false one is shown with every query."""
PASSED_ON_THRESHOLD = 0.2
"""The probability from which a sentence is no wish of its speaker."""
MOST_LEADING = 3
"""Sentences at the start of a message, or after a quotation, that may lead to a text of somebody else."""
UNNAMED = "user"
"""The speaker of a message without a name: its role."""
MOST_QUOTED = 0.5
"""Share of a sentence that a quotation inside it may take up."""
PASTED = re.compile(
    r"""
    ```.*?(?:```|\Z) | ^[ \t]*~~~.*?(?:^[ \t]*~~~|\Z)                       # blocks of code
    | ^[ \t]*[>|][^\n]*                                                     # lines of a reply or a table
    | (?<!\w)["“„«][^"“”„«»]*(?:["“”»]|\Z) | (?<!\w)['‘](?=\w)[^\n]{1,300}?['’](?!\w)
    | (?<!\w)<(?P<tag>[a-z][\w-]*)(?=[\s/>])[^<>\n]*>.*?(?:</(?P=tag)\s*>|\Z)
    | \[(?P<code>[a-z]\w*)[^\[\]\n]{0,80}\].{0,2000}?\[/(?P=code)\]
    | ^[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,})(?:.*^[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,})[ \t]*$|.*\Z)
    | (?:^(?:\[[^\]\n]{1,40}\][ ]?|[\d:.]{4,8}[ ])?<?[^\W\d_][\w .'’-]{0,39}[:>][ \t]+\S[^\n]*(?:\n|\Z)){2,}
      (?:[ \t]*\n.*\Z)?                                                     # lines with names
    | ^\#{1,6}[ \t][^\n]*\n.*\Z                                             # a page
    | (?<=[:：])[ \t]*\n\s*(?!```|~~~|\s)(?P<introduced>.*)\Z
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""What is quoted or pasted: by the structure of a message alone, no word is looked at."""


@dataclass(frozen=True, slots=True)
class Voiced:
    """A sentence of a message, and whose words it holds."""

    text: str
    is_own: bool = True
    introduction: str = ""
    """The sentence that introduces it, and that decides whether it is the speaker's own; empty for none."""
    surrounded: str = ""
    """The sentence after its introduction and the first ones before it, and before the next: they show whose it is."""


def mark_lasting(
    records: Sequence[Record], index: ScopeIndex, turns: Sequence[Turn], user_id: str, encoder: Encoder
) -> list[Record]:
    """Return records with the significance of what people said, and with the kinds of what the user did.

    What a model has marked stays marked, of the user's own voice; an instruction in their words, only if these show it.
    Records in a speaker's words are classified, if the encoder is MiniLM. `turns` are those they were extracted from.
    """
    said = {turn.turn_id: turn for turn in turns if turn.role == "user"}
    own, voices = _own_turns(said.values(), index, user_id), _own_voices(records, said)
    users = {record.record_id for record in records if record.record_id in voices and _rests_on(record, own)}
    told = [record for record in records if record.record_id in voices]
    unsure = [record for record in told if record.lasting in (None, "instruction") or record.record_id not in users]
    classified = _classify(unsure, encoder)
    instructions = {voices[key].text for key in users & classified.keys() if classified[key].lasting == "instruction"}
    users = {key for key in users if voices[key].introduction in {"", *instructions}}
    found = [classified.get(record.record_id, record) for record in records]
    marked = {voices[record.record_id].surrounded for record in found if record.lasting and record.record_id in users}
    passed_on = _passed_on(marked - {voices[key].text for key in classified}, encoder)
    users = {key for key in users if voices[key].surrounded not in passed_on}
    return [record if record.record_id in users else record.model_copy(update={"lasting": None}) for record in found]


def _classify(records: Sequence[Record], encoder: Encoder) -> dict[str, Record]:
    """Return those in a speaker's words as classified, by id; an instruction is one sooner if a model says so too.

    What passes on words of others by itself has no kind, whatever surrounds it.
    """
    said = [(record, own_words(record.content, record.speaker)) for record in records]
    said = [(record, text) for record, text in said if text != record.content and words(text)]
    rows = _probabilities((*LABELS, LASTS, PASSED_ON), [record.indexed_text for record, _ in said], encoder)
    if rows is None:
        return {}
    classified: dict[str, Record] = {}
    for (record, text), row in zip(said, rows, strict=True):
        *kinds, lasting, passed_on = row
        is_instruction = kinds[0] >= (THRESHOLD if record.lasting else INSTRUCTION_THRESHOLD)
        lasts = is_instruction or (lasting >= THRESHOLD and not begins_question(text))
        likeliest = LABELS[0 if is_instruction else 1 + int(np.argmax(kinds[1:]))]
        kind = likeliest if lasts and passed_on < PASSED_ON_THRESHOLD else None
        update = {"lasting": kind, "significance": round(MOST_SIGNIFICANT * float(lasting), 2)}
        classified[record.record_id] = record.model_copy(update=update)
    return classified


def _passed_on(surrounded: Collection[str], encoder: Encoder) -> set[str]:
    """Return those sentences, with what surrounds them, that pass on what somebody else says, or is to say."""
    texts = sorted(surrounded)
    rows = _probabilities((PASSED_ON,), [f"{UNNAMED}: {text}" for text in texts], encoder)
    if rows is None:
        return set()
    return {text for text, row in zip(texts, rows, strict=True) if row[0] >= PASSED_ON_THRESHOLD}


def _probabilities(labels: tuple[str, ...], texts: Sequence[str], encoder: Encoder) -> Numbers | None:
    """Return the probability that each text has each label; None without texts, or if the encoder does not read."""
    vectors = encode_as(encoder, "statement", texts) if texts else None
    return None if vectors is None else sigmoid(TextClassifier.load(labels, PACKAGE, WEIGHTS_FILE).scores(vectors))


def _own_voices(records: Sequence[Record], said: Mapping[str, Turn]) -> dict[str, Voiced]:
    """Return the sentence that each record of some turns tells, by its id, without those that are quoted."""
    messages = {turn_id: _by_words(turn) for turn_id, turn in said.items()}
    telling = [record for record in records if _rests_on(record, said) and not record.is_chunk]
    told = {record.record_id: _told_by(record, messages[record.source_turn_ids[-1]]) for record in telling}
    return {record_id: sentence for record_id, sentence in told.items() if sentence.is_own}


def _by_words(turn: Turn) -> dict[tuple[str, ...], Voiced]:
    """Return the sentences of a turn by their words as records have them; what is quoted, and said as well, is said."""
    found: dict[tuple[str, ...], Voiced] = {}
    for sentence in sorted(voiced_sentences(turn.text), key=lambda sentence: sentence.is_own):
        resolved = resolve_times(sentence.text, turn.said_at, turn.date_order)
        found[tuple(words(own_words(f"{turn.speaker}: {resolved}", turn.speaker)))] = sentence
    return found


def _told_by(record: Record, sentences: Mapping[tuple[str, ...], Voiced]) -> Voiced:
    """Return the sentence that a record tells: the one in its words, or else in the most of them."""
    told = tuple(words(own_words(record.content, record.speaker)))
    if told in sentences or not sentences:
        return sentences.get(told, Voiced(record.content, surrounded=record.content))
    return sentences[max(sentences, key=lambda key: len({*told} & {*key}) / len({*told, *key}))]


def voiced_sentences(text: str) -> list[Voiced]:
    """Return the sentences of a message, in order; those that a quotation mostly fills are not the speaker's own."""
    introduction, position, end = "", 0, 0
    voices: list[str] = []
    for match in PASTED.finditer(text):
        voices += [""] * len(words(text[end : match.start()]))
        voices += ["introduced" if match["introduced"] else "pasted"] * len(words(match.group()))
        end = match.end()
    voices += [""] * len(words(text[end:]))
    found: list[Voiced] = []
    leading: list[str] = []
    for sentence in split_sentences(text):
        own = voices[position : (position := position + len(words(sentence)))]
        if "introduced" in own:
            introduction = introduction or (found[-1].text if found else "")
        is_own = own.count("pasted") <= MOST_QUOTED * len(own)
        leading = [] if own[:1] == ["pasted"] else leading
        before = leading if introduction in leading else [introduction, *leading]
        found.append(Voiced(sentence, is_own, introduction, " ".join([*filter(None, before), sentence])))
        leading = [*leading, sentence][:MOST_LEADING] if is_own else []
    return [
        replace(said, surrounded=f"{said.surrounded} {after.text}") if after and after.is_own else said
        for said, after in zip_longest(found, found[1:])
    ]


def _own_turns(turns: Collection[Turn], index: ScopeIndex, user_id: str) -> set[str]:
    """Return the ids of what the user said: by name, else without one, else as the only one, if unknown until then."""
    own = {name for name in index.turns.people if name.casefold() == user_id.casefold()}
    names: dict[str, set[str]] = {}
    for session_id in {turn.session_id for turn in turns}:
        people = {turn.speaker for turn in index.turns.in_session(session_id) if turn.role == "user"}
        is_only = len(people) == 1 and own.union({UNNAMED}).isdisjoint(index.turns.people)
        names[session_id] = people & own or people & {UNNAMED} or (people if is_only else set())
    return {turn.turn_id for turn in turns if turn.speaker in names[turn.session_id]}


def _rests_on(record: Record, turns: Collection[str]) -> bool:
    """Return whether the last turn that a record cites is one of these; an assistant may have asked before."""
    return record.status == "active" and bool(record.source_turn_ids) and record.source_turn_ids[-1] in turns
