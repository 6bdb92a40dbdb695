"""Tell what a sentence affirms from what it denies: "I never went to Paris, but I visited Rome" tells of one journey.

English, clause by clause and careful: thoughts ("I didn't know"), superlatives ("never felt so good") and turns of
speech deny nothing. This module does not know what is asked.
"""

import re
from itertools import pairwise

from langgraph_engram.language.irregular import PAST_FORMS
from langgraph_engram.language.statements import PRONOUN, is_question

DID = rf"(?:\w+ed|{'|'.join(sorted(PAST_FORMS))})"
NEXT_CLAUSE = re.compile(
    rf"[,;:]\s+|\s+[–—-]+\s+|\s*[–—]\s*|\s+(?=(?:but|although|though|however|because|since|instead)\b)|"
    rf"\s+(?=so\s+{PRONOUN}\b)|\s+(?=and\s+(?:{PRONOUN}(?:['’]\w+)?|{DID})\s)",
    re.IGNORECASE,
)
"""Where one clause ends and the next begins, or an item of a list."""
IN_THOUGHT = (
    r"know|think|thought|believe|realize|realise|worry|worried|forget|forgot|forgotten|mind|want|have to|need|miss|"
    r"remember|expect|imagine|only|just|even|sure|wait|tell|say|mention"
)
DENIAL = re.compile(
    rf"\bno\s+longer\b|\b(?:do|does|did|have|has|had|am|is|are|was|were)(?:n['’]t|\s+not)\b(?!\s+(?:{IN_THOUGHT})\b)|"
    rf"['’](?:m|re|s)\s+not\b(?!\s+(?:{IN_THOUGHT})\b)|\bnever\b(?!\s+(?:{IN_THOUGHT}|again|mind|ending)\b)|"
    r"\b(?:stopped|quit|gave\s+up|given\s+up)\s+\w+ing\b",
    re.IGNORECASE,
)
COMPARES = re.compile(r"\b(?:so|more|such|better|happier|as|like)\b", re.IGNORECASE)
"""After a denial: it praises or compares."""
SAYS_ITSELF = re.compile(rf"\b(?:{PRONOUN}|is|are|was|were|am|has|have|had)\b|['’](?:s|m|re|ve|ll|d)\b", re.IGNORECASE)
"""Words of a clause that no item of a list holds."""
LONGEST_ITEM = 4
"""Words of an item of a list, at most."""
ASKS_FOR_DENIED = re.compile(
    r"\b(?:not|never|no longer|stop(?:s|ped|ping)?|quit|g[ia]ven? up|avoid\w*|without|dislike\w*)\b|n['’]t\b",
    re.IGNORECASE,
)


def affirmed(text: str) -> str:
    """Give what a sentence says is so: without the clauses that deny, and the items that follow them.

    Args:
        text: One sentence.

    Returns:
        The sentence as it is where it denies nothing, or asks; empty where it does nothing else.
    """
    if is_question(text) or not DENIAL.search(text):
        return text
    ends = [0, *(match.end() for match in NEXT_CLAUSE.finditer(text)), len(text)]
    kept: list[str] = []
    denying = False
    for start, end in pairwise(ends):
        clause = text[start:end]
        denying = _denies(clause) or (denying and _is_item(clause))
        if not denying:
            kept.append(clause)
    return "".join(kept).strip()


def asks_for_denied(query: str) -> bool:
    """Say whether a query asks for what is not so, or not any more: "What did I stop playing?"."""
    return ASKS_FOR_DENIED.search(query) is not None


def _denies(clause: str) -> bool:
    match = DENIAL.search(clause)
    return match is not None and not COMPARES.search(clause, match.end())


def _is_item(clause: str) -> bool:
    return len(clause.split()) <= LONGEST_ITEM and not SAYS_ITSELF.search(clause)
