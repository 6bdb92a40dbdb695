"""Recognise standing statements: the user's instructions for later, preferences, and who they are.

A language model marks them as it extracts. Records in the words that were said are classified here: by a logistic
regression for each kind, over the sentence's embedding and over the words and pairs of words that were frequent in its
training sentences (the lab's `training/standing.py`). See docs/decisions/0011.
"""

import re
from collections.abc import Collection, Mapping, Sequence, Set
from functools import cache
from typing import get_args

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.minilm_weights import VECTOR_SPACE
from langgraph_engram.logistic import TextClassifier
from langgraph_engram.schema import Record, Standing, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import begins_question
from langgraph_engram.text.statements import is_question, own_words
from langgraph_engram.text.tokens import words

WEIGHTS_FILE = "standing_weights.json"
KINDS: tuple[Standing, ...] = get_args(Standing)
THRESHOLDS: Mapping[Standing, float] = {"instruction": 0.7, "preference": 0.6, "identity": 0.6}
"""The probability from which a sentence is a standing statement: a false instruction is shown with every query, the
others only where they are near."""
QUOTATION = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|[\"“][^\"“”]*[\"”]", re.DOTALL | re.MULTILINE)
"""What somebody quotes or pastes: a block of code, a line of a reply, a text between quotation marks."""
MOST_QUOTED = 0.5
"""Share of a sentence that a quotation inside it may take up."""


@cache
def load_model() -> TextClassifier[Standing]:
    """Return the shipped model. Sentences are classified without the speaker's name, by MiniLM's vectors with it."""
    return TextClassifier.load(THRESHOLDS, "langgraph_engram.extraction", WEIGHTS_FILE)


def mark_standing(
    records: Sequence[Record], index: ScopeIndex, turns: Sequence[Turn], user_id: str, encoder: Encoder
) -> list[Record]:
    """Return records with the marks of the user's own standing statements, and no others.

    What a model has marked stays marked. Records in the words of a speaker are classified, if the encoder is
    MiniLM; a question says neither who somebody is nor what they prefer.

    Args:
        records: New records.
        index: The scope, with their turns in it.
        turns: The turns that they were extracted from.
        user_id: The scope's user.
        encoder: The store's.
    """
    people = {
        session_id: {turn.speaker for turn in index.turns.in_session(session_id) if turn.role == "user"}
        for session_id in {turn.session_id for turn in turns}
    }
    own = {turn.turn_id: turn for turn in turns if _is_users_own(turn, people[turn.session_id], user_id)}
    quotations = {turn_id: [words(quoted) for quoted in QUOTATION.findall(turn.text)] for turn_id, turn in own.items()}
    rests_on = {record.record_id: record.source_turn_ids[-1] for record in records if _is_theirs(record, own)}
    kinds = {record.record_id: record.standing for record in records if record.record_id in rests_on}
    unmarked = (record for record in records if record.record_id in rests_on and not record.standing)
    said = [record for record in unmarked if _is_as_said(record, quotations[rests_on[record.record_id]])]
    if said and encoder.name == VECTOR_SPACE:
        vectors = encoder.encode([record.indexed_text for record in said])
        texts = [own_words(record.content, record.speaker) for record in said]
        found = load_model().classify(texts, vectors)
        for record, text, kind in zip(said, texts, found, strict=True):
            kinds[record.record_id] = None if _only_asks(text, kind) else kind
    return [record.model_copy(update={"standing": kinds.get(record.record_id)}) for record in records]


def _is_users_own(turn: Turn, people: Set[str], user_id: str) -> bool:
    """Return whether the user said a turn: the only person of the session, or the one of the user's name."""
    return turn.role == "user" and (people <= {turn.speaker} or turn.speaker.casefold() in (user_id.casefold(), "user"))


def _is_theirs(record: Record, own: Collection[str]) -> bool:
    """Return whether the last turn that a record cites is the user's own; an assistant may have asked before."""
    return record.status == "active" and bool(record.source_turn_ids) and record.source_turn_ids[-1] in own


def _only_asks(text: str, kind: Standing | None) -> bool:
    """Return whether a text asks and states nothing; an instruction may be put as a question."""
    return kind != "instruction" and (begins_question(text) or (kind == "identity" and is_question(text)))


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
