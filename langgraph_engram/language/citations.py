"""Read which pieces of evidence an answer cites: [2], [1][4] or [1, 4]."""

import re

CITATION = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")


def cited_numbers(answer: str) -> list[int]:
    """Give the numbers that an answer cites, in order, repeats kept; pieces count from 1."""
    return [int(one) for match in CITATION.finditer(answer) for one in match.group(1).split(",")]
