"""Tell whether the words around a place of a text speak of the past, of the future, or of a habit.

A sentence is judged clause by clause: the clause of the place decides, and only where it says nothing, the nearest
other one. Words before the place count more than words after it, verbs that are certain more than forms that may be
participles. This module does not know times.
"""

import re
from collections.abc import Iterable
from typing import Literal

from langgraph_engram.language import tense_words as words

Tense = Literal["ahead", "behind"]
FAR = 140
"""How many characters before a place, and half as many after it, belong to what is judged."""
SENTENCE_END = re.compile(r"(?:[!?\n]|(?<!\b[ap]\.m)(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bvs)\.)(?=\s|$)")
SUBJECT = r"(?:i|we|he|she|it|they|you|there|that|this|my|our|his|her|their|the)(?:['’](?:m|re|s|ve|d|ll))?"
CLAUSE_END = re.compile(
    rf"[;:]\s|\s+[–—-]+\s+|,?\s+(?=(?:but|because|although|though|whereas|unless)\b)|"
    rf",\s+(?=(?:and|so|or|then|while|when|which|who|since|if)\s)|,?\s+(?=(?:and|so|or)\s+{SUBJECT}\b)|"
    rf",\s+(?={SUBJECT}\s)|\s+(?=that\s+(?:on|in|by)\s)",
    re.IGNORECASE,
)


def tense_at(text: str, start: int, end: int) -> Tense | None:
    """Tell of what the clause around a place speaks, or else the nearest clause of its sentence that tells.

    Args:
        text: Any text.
        start: Where the place starts; a preposition before it stays outside.
        end: Where it ends.
    """
    *earlier, before = CLAUSE_END.split(sentence_before(text, start))
    after, *later = CLAUSE_END.split(_sentence_after(text, end))
    if words.WHERE.match(after) and (tense := _first(after)):
        return tense
    if tense := _at_end(before) or _last(before) or _first(after):
        return tense
    if words.PRESENT.search(before) or words.PRESENT.search(after):
        return None
    told_before, told_after = map(_last, reversed(earlier)), map(_first, later)
    opens_next = not after.strip(" ,") and len(before.split()) <= words.LONGEST_OPENING
    return _any(told_after) or _any(told_before) if opens_next else _any(told_before) or _any(told_after)


def is_habit_at(text: str, start: int, end: int) -> bool:
    """Tell whether the clause around a place speaks of what happens again and again."""
    before = CLAUSE_END.split(sentence_before(text, start))[-1]
    after = CLAUSE_END.split(_sentence_after(text, end))[0]
    return words.HABIT.search(before) is not None or words.HABIT.search(after) is not None


def is_move_at(text: str, start: int) -> bool:
    """Tell whether the clause up to a place says that something is moved: "they moved the party (from A to B)"."""
    return words.MOVED.search(CLAUSE_END.split(sentence_before(text, start))[-1]) is not None


def sentence_before(text: str, start: int) -> str:
    """Give the sentence up to a place, no more than its last `FAR` characters."""
    return SENTENCE_END.split(text[max(0, start - FAR) : start])[-1]


def _sentence_after(text: str, end: int) -> str:
    return SENTENCE_END.split(text[end : end + FAR // 2], maxsplit=1)[0]


def _at_end(clause: str) -> Tense | None:
    """Judge by words that must stand right before the place."""
    patterns = (words.ARRANGED, words.IS_ON, words.DUE_BY)
    return "ahead" if any(pattern.search(clause) for pattern in patterns) else None


def _last(clause: str) -> Tense | None:
    """Judge by the last certain word; else by a limit or a form that may be a participle."""
    ahead, behind = _last_place(words.AHEAD, clause), _last_place(words.BEHIND, clause)
    if ahead >= 0 or behind >= 0:
        return "ahead" if ahead > behind else "behind"
    if words.PAST_FORM.search(clause):
        return "behind"
    return "ahead" if words.LIMIT.search(clause) else None


def _first(clause: str) -> Tense | None:
    """Judge by the first word that tells."""
    ahead = words.AHEAD.search(clause) or words.IS.match(clause)
    behind = [match.start() for pattern in (words.BEHIND, words.PAST_FORM) if (match := pattern.search(clause))]
    if ahead is None:
        return "behind" if behind else None
    return "behind" if behind and min(behind) < ahead.start() else "ahead"


def _last_place(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


def _any(told: Iterable[Tense | None]) -> Tense | None:
    return next((tense for tense in told if tense), None)
