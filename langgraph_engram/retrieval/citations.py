"""Complete the citations of an answer, without asking a model.

Small models write the number of a passage in place of an answer, or an answer without numbers. The first becomes the
text of the passage; the second is traced to the passage that holds most of its words. Numbers that point at no passage
are removed.
"""

import re
from collections.abc import Sequence

from langgraph_engram.prompts.answer_form import MORE, UNKNOWN
from langgraph_engram.prompts.rendering import CITATION, cited_numbers, numbers_of
from langgraph_engram.schema import Evidence
from langgraph_engram.text.tokens import content_stems

ANSWER_LINE = re.compile(r"^\W*answer\W*:\W*?", re.IGNORECASE | re.MULTILINE)
MIN_SUPPORT = 0.5
"""Share of an answer's content stems that a passage holds for the answer to be traced to it."""


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


def final_answer(answer: str) -> tuple[str, bool]:
    """Return an answer without its reasoning, and whether its writer says that memory may hold more of it."""
    last = without_reasoning(answer)
    return " ".join(part.strip() for part in last.split(MORE)).strip() if MORE in last else last, MORE in last


def without_reasoning(answer: str) -> str:
    """Return what follows the last "Answer:" that begins a line; the whole answer where none does."""
    *_, last = ANSWER_LINE.split(answer)
    return last.strip()


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
    shared = [len(stems & set(content_stems(_text_with_turns(passage)))) for passage in pool]
    best = max(shared, default=0)
    return shared.index(best) + 1 if best and best >= MIN_SUPPORT * len(stems) else 0


def _text_with_turns(passage: Evidence) -> str:
    return " ".join([passage.text, *(turn.indexed_text for turn in passage.turns)])
