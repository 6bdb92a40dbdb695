"""Read which pieces of evidence an answer cites: [2], [1][4], [1, 4] or [1; 4]."""

import re

CITATION = re.compile(r"\s*\[(\d+(?:\s*[,;]\s*\d+)*)\]")


def cited_numbers(answer: str) -> list[int]:
    """Give the numbers that an answer cites, in order, repeats kept; pieces count from 1."""
    return [number for match in CITATION.finditer(answer) for number in numbers_of(match)]


def numbers_of(citation: re.Match[str]) -> list[int]:
    """Give the numbers of one citation, in order."""
    return [int(one) for one in re.findall(r"\d+", citation.group(1))]
