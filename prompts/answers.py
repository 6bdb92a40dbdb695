"""Read what a model answered, and what it cites of the passages that it was shown.

Small models write the number of a passage in place of an answer, which becomes its text, or an answer without numbers,
which is traced to the passage that holds most of its words. Each item of a list is checked against the lines it cites.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from langgraph_engram.prompts.list_items import ANSWER, LOOK_FOR
from langgraph_engram.prompts.rendering import CITATION, cited_numbers, numbers_of
from langgraph_engram.prompts.write_answer import MORE, UNKNOWN
from langgraph_engram.results import Item
from langgraph_engram.schema import Evidence
from langgraph_engram.text.words import content_stems

MIN_SUPPORT = 0.5
"""Share of an answer's content stems that a passage holds for the answer to be traced to it."""
ANSWER_LINE = re.compile(rf"^\W*{ANSWER.rstrip(':')}\W*:", re.IGNORECASE | re.MULTILINE)
ITEM_LINE = re.compile(r"^[ \t]*(?P<mark>[-*•–]|x\b|\d+[.)])[ \t]+(?P<text>\S.*)$", re.IGNORECASE | re.MULTILINE)
LOOK_FOR_LINE = re.compile(rf"^\W*{LOOK_FOR.rstrip(':')}\s*:?(?P<words>.*)$", re.IGNORECASE | re.MULTILINE)
LEAST_STEMS = 2
"""Content stems of an answer that rests on no list, and is traced to a line."""
NOTHING = frozenset({"", "none", "nothing", "n/a", "no"})


def final_answer(answer: str) -> tuple[str, bool]:
    """Return what follows the last "Answer:" of a line, else all of it, and whether it says that there may be more."""
    last = ANSWER_LINE.split(answer)[-1].strip()
    return " ".join(part.strip() for part in last.split(MORE)).strip() if MORE in last else last, MORE in last


def cited_answer(reply: str, pool: Sequence[Evidence]) -> tuple[str, bool]:
    """Return the final answer of a reply, with citations, and whether it says that there may be more."""
    words, may_go_on = final_answer(reply)
    return with_citations(words, pool), may_go_on


def with_citations(answer: str, pool: Sequence[Evidence]) -> str:
    """Return an answer in words that cites passages of the pool, where any of them supports it."""
    valid = without_unknown_citations(answer, len(pool))
    words = CITATION.sub("", valid).strip(" .,;:")
    numbers = cited_numbers(valid)
    if not words:
        return f"{pool[numbers[0] - 1].text} [{numbers[0]}]" if numbers else ""
    if numbers or is_unknown(words):
        return valid
    number = _source_number(words, pool)
    return f"{valid} [{number}]" if number else valid


def without_unknown_citations(answer: str, count: int) -> str:
    """Remove citations of passages outside of 1 to `count`."""

    def keep_valid(match: re.Match[str]) -> str:
        valid = [number for number in numbers_of(match) if 1 <= number <= count]
        lead = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{lead}[{', '.join(map(str, valid))}]" if valid else ""

    return CITATION.sub(keep_valid, answer).strip()


def rests_on_evidence(answer: str) -> bool:
    """Return whether an answer is known and cites a passage."""
    return bool(CITATION.search(answer)) and not is_unknown(answer)


def is_unknown(answer: str) -> bool:
    """Return whether an answer says that it is not known."""
    return answer.casefold().startswith(UNKNOWN.rstrip(".").casefold())


def _source_number(answer: str, pool: Sequence[Evidence]) -> int:
    """Return the number of the passage that holds most of an answer's words; 0 where none holds enough of them."""
    stems = set(content_stems(answer))
    texts = (" ".join([passage.text, *(turn.indexed_text for turn in passage.turns)]) for passage in pool)
    shared = [len(stems & set(content_stems(text))) for text in texts]
    best = max(shared, default=0)
    return shared.index(best) + 1 if best and best >= MIN_SUPPORT * len(stems) else 0


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
    marked = [*ANSWER_LINE.finditer(reply)]
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
