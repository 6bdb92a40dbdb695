"""Read the list that a model made of all that counts, and check each item against the lines that it cites."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from langgraph_engram.prompts.list_items import ANSWER, LOOK_FOR
from langgraph_engram.prompts.rendering import CITATION, cited_numbers, numbers_of
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import Item
from langgraph_engram.retrieval.pool import final_answer, is_unknown, with_citations
from langgraph_engram.schema import Evidence
from langgraph_engram.text.tokens import content_stems

ITEM_LINE = re.compile(r"^[ \t]*(?P<mark>[-*•–]|x\b|\d+[.)])[ \t]+(?P<text>\S.*)$", re.IGNORECASE | re.MULTILINE)
LOOK_FOR_LINE = re.compile(rf"^\W*{LOOK_FOR.rstrip(':')}\s*:?(?P<words>.*)$", re.IGNORECASE | re.MULTILINE)
ANSWER_MARK = re.compile(rf"^\W*{ANSWER.rstrip(':')}\W*:", re.IGNORECASE | re.MULTILINE)
LEAST_STEMS = 2
"""Content stems of an answer that rests on no list, and is traced to a line."""
NOTHING = frozenset({"", "none", "nothing", "n/a", "no"})


class ItemList(NamedTuple):
    """What a model listed."""

    items: list[Item]
    dropped: list[str]
    """What it listed that the lines it cites do not hold, or without citing any."""
    look_for: str
    """Words that further items would be found by; empty for none."""
    answer: str


def read_items(reply: str, lines: Sequence[Evidence]) -> ItemList:
    """Read a reply: those that count first, then what was left out, each with the lines that it rests on."""
    marked = [*ANSWER_MARK.finditer(reply)]
    listed = reply[: marked[-1].start()] if marked else ""
    items: list[Item] = []
    dropped: list[str] = []
    for line in ITEM_LINE.finditer(listed):
        text = " ".join(CITATION.sub("", line["text"]).split())
        cited = [lines[number - 1] for number in dict.fromkeys(cited_numbers(line["text"])) if 0 < number <= len(lines)]
        if not _holds(cited, text):
            dropped.append(text)
            continue
        ids = [passage.evidence_id for passage in cited]
        items.append(Item(text=text, evidence_ids=ids, counts=line["mark"].casefold() != "x"))
    looked = LOOK_FOR_LINE.search(listed)
    look_for = " ".join(looked["words"].split()) if looked else ""
    return ItemList(
        sorted(items, key=lambda item: not item.counts),
        dropped,
        "" if look_for.casefold().strip(" .") in NOTHING else look_for,
        final_answer(reply)[0],
    )


def answer_from(listed: ItemList, lines: Sequence[Evidence]) -> tuple[str, list[Evidence]]:
    """Return the answer of a list with its citations, and the lines that list and answer rest on, which it cites.

    Where nothing counts, none is no answer: what was not said may have been done all the same.
    """
    cited_ids = {evidence_id for item in listed.items for evidence_id in item.evidence_ids}
    counted = list(dict.fromkeys(ref for item in listed.items if item.counts for ref in item.evidence_ids))
    answer = listed.answer if counted or len(content_stems(listed.answer)) >= LEAST_STEMS else ""
    answer = answer if listed.items else with_citations(answer, lines)
    cited_ids |= {lines[number - 1].evidence_id for number in cited_numbers(answer) if 0 < number <= len(lines)}
    pool = [passage for passage in lines if passage.evidence_id in cited_ids]
    if is_unknown(answer) or not (answer and cited_ids):
        return UNKNOWN, pool
    numbers = {passage.evidence_id: number for number, passage in enumerate(pool, start=1)}

    def renumbered(match: re.Match[str]) -> str:
        kept = [numbers[lines[number - 1].evidence_id] for number in numbers_of(match) if 0 < number <= len(lines)]
        return "".join([" " * bool(kept), *(f"[{number}]" for number in kept)])

    answer = CITATION.sub(renumbered, answer).strip()
    if counted and not CITATION.search(answer):
        answer = "".join([answer, " ", *(f"[{numbers[ref]}]" for ref in counted)])
    return answer, pool


def _holds(cited: Sequence[Evidence], text: str) -> bool:
    """Return whether lines, or the turns that they are from, share a word with what is said to rest on them."""
    said = " ".join(part for passage in cited for part in (passage.text, *(turn.said for turn in passage.turns)))
    return not set(content_stems(text)).isdisjoint(content_stems(said))
