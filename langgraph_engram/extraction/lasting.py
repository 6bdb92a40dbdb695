"""Recognise what lasts of what people say, and what it is good for later.

A language model marks it as it extracts. Records in the words that were said are classified here: by logistic
regressions over the sentence's embedding and over the words and pairs of words that were frequent in its training
sentences (the lab's `training/sentences.py`). See docs/decisions/0011.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Literal, get_args

import numpy as np

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.minilm_weights import VECTOR_SPACE
from langgraph_engram.logistic import Numbers, TextClassifier
from langgraph_engram.schema import MOST_SIGNIFICANT, Lasting, Record, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import begins_question
from langgraph_engram.text.statements import own_words
from langgraph_engram.text.tokens import words

WEIGHTS_FILE = "lasting_weights.json"
KINDS: tuple[Lasting, ...] = get_args(Lasting)
LASTS: Literal["lasts"] = "lasts"
"""The label of a sentence of any kind."""
THRESHOLD = 0.45
"""The probability from which a sentence lasts."""
INSTRUCTION_THRESHOLD = 0.7
"""The probability from which it is an instruction: a false one is shown with every query."""
QUOTATION = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|[\"“][^\"“”]*[\"”]", re.DOTALL | re.MULTILINE)
"""What somebody quotes or pastes: a block of code, a line of a reply, a text between quotation marks."""
MOST_QUOTED = 0.5
"""Share of a sentence that a quotation inside it may take up."""


@cache
def load_model() -> TextClassifier[str]:
    """Return the shipped model. Sentences are classified without the speaker's name, by MiniLM's vectors with it."""
    labels = (*KINDS, LASTS)
    return TextClassifier.load(dict.fromkeys(labels, THRESHOLD), "langgraph_engram.extraction", WEIGHTS_FILE)


def mark_lasting(
    records: Sequence[Record], index: ScopeIndex, turns: Sequence[Turn], user_id: str, encoder: Encoder
) -> list[Record]:
    """Return records with the significance of what people said, and with the kinds of what the user did.

    What a model has marked stays marked, of what the user said. Records in the words of a speaker are classified, if
    the encoder is MiniLM. `turns` are those that the records were extracted from.
    """
    said = {turn.turn_id: turn for turn in turns if turn.role == "user"}
    own = own_turn_ids(turns, index, user_id)
    quotations = {turn_id: [words(quoted) for quoted in QUOTATION.findall(turn.text)] for turn_id, turn in said.items()}
    marked = {
        record.record_id: record if _rests_on(record, own) else record.model_copy(update={"lasting": None})
        for record in records
    }
    unmarked = [record for record in marked.values() if not record.lasting and _rests_on(record, said)]
    as_said = [record for record in unmarked if _is_as_said(record, quotations[record.source_turn_ids[-1]])]
    if as_said and encoder.name == VECTOR_SPACE:
        texts = [own_words(record.content, record.speaker) for record in as_said]
        found = load_model().probabilities(texts, encoder.encode([record.indexed_text for record in as_said]))
        for record, text, row in zip(as_said, texts, found, strict=True):
            kind = _kind(row, asks=begins_question(text)) if _rests_on(record, own) else None
            significance = round(MOST_SIGNIFICANT * float(row[-1]), 2)
            marked[record.record_id] = record.model_copy(update={"lasting": kind, "significance": significance})
    return [marked[record.record_id] for record in records]


def _kind(probabilities: Numbers, *, asks: bool) -> Lasting | None:
    """Return the likeliest kind of what lasts; what only asks is nothing else than an instruction."""
    if probabilities[0] >= INSTRUCTION_THRESHOLD:
        return "instruction"
    if asks or probabilities[-1] < THRESHOLD:
        return None
    return KINDS[1 + int(np.argmax(probabilities[1:-1]))]


def own_turn_ids(turns: Sequence[Turn], index: ScopeIndex, user_id: str) -> set[str]:
    """Return the ids of those turns that the user said: the only person of the session, or the one of that name."""
    people = {
        session_id: {turn.speaker for turn in index.turns.in_session(session_id) if turn.role == "user"}
        for session_id in {turn.session_id for turn in turns}
    }
    return {
        turn.turn_id
        for turn in turns
        if turn.role == "user"
        if people[turn.session_id] <= {turn.speaker} or turn.speaker.casefold() in (user_id.casefold(), "user")
    }


def _rests_on(record: Record, turns: Collection[str]) -> bool:
    """Return whether the last turn that a record cites is one of these; an assistant may have asked before."""
    return record.status == "active" and bool(record.source_turn_ids) and record.source_turn_ids[-1] in turns


def _is_as_said(record: Record, quotations: Sequence[Sequence[str]]) -> bool:
    """Return whether a record is in the speaker's words: no quotation, mostly, nor part of one, and not nothing."""
    own = own_words(record.content, record.speaker)
    said = words(own)
    if own == record.content or not said:
        return False
    return not any(
        _holds(quoted, said) or (_holds(said, quoted) and len(quoted) > MOST_QUOTED * len(said))
        for quoted in quotations
    )


def _holds(text: Sequence[str], part: Sequence[str]) -> bool:
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(text)} "
