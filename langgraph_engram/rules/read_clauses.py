"""Read a reason or a feeling off a sentence: the clause after "because", the words after "I felt".

This module does not know which sentence is right.
"""

import re

CLAUSE = r"[^.;!?–—]+"
NO_PURPOSE = (
    "had have has want wanted need needed going like love able hope excited ready used got started trying planning "
    "wait way how decided"
).split()
"""Words whose "to" says what, not what for."""
REASONS = (
    re.compile(rf"(?:\b(?:because(?:\s+of)?|cause|cuz|since|due to|thanks to)|['’]cause)\s+{CLAUSE}", re.IGNORECASE),
    re.compile(
        rf"\b(?:in order to|so that|so (?=(?:i|we|they|it)\s+(?:can|could|will|would|don)))\s*{CLAUSE}", re.IGNORECASE
    ),
    re.compile(
        rf"{''.join(f'(?<!{word} )' for word in NO_PURPOSE)}\bto\s+"
        rf"(?!the\b|my\b|an?\b|our\b|this\b|that\b|be\b)[a-z]+\s{CLAUSE}",
        re.IGNORECASE,
    ),
)
"""How a reason or a purpose opens, the surest first."""
ASKS_FEELING = re.compile(
    r"\bhow\s+(?:do|does|did|is|was|has)\b.*\b(?:feel|feeling|react|describe)\b|"
    r"\b(?:reaction|attitude|feelings?|sentiment)\b",
    re.IGNORECASE,
)
FEELING = re.compile(
    r"\b(?:feels?|felt|feeling|makes?\s+\w+|made\s+\w+|looks?|"
    r"(?:i|we|they|he|she|it)(?:['’](?:m|re|s)|\s+(?:am|are|is|was|were)))\s+"
    r"(?:(?:so|really|very|super|pretty|quite|just|all|like|totally|such|an?)\s+)*(?P<how>\w+[^.,;!?–—-]*)",
    re.IGNORECASE,
)


def read_reason(text: str) -> str:
    """Give why or what for, its opening word included; empty for none."""
    return next((match.group() for pattern in REASONS if (match := pattern.search(text))), "")


def read_feeling(text: str) -> str:
    """Give how somebody or something feels or looks; empty for none."""
    match = FEELING.search(text)
    return match.group("how") if match else ""
