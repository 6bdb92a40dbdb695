"""Show of a long passage the lines that hold most of a query.

A passage of a long message is indexed with its section; what is asked for is mostly in a few of its lines.
"""

from collections.abc import Callable, Mapping, Sequence

from langgraph_engram.prompts.rendering import dated
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.passages import ELLIPSIS, with_replies
from langgraph_engram.schema import Evidence
from langgraph_engram.text.markdown import MAX_OPENING
from langgraph_engram.text.sentences import pieces_of
from langgraph_engram.text.tokens import content_stems

CUT = ELLIPSIS.strip()
"""Stands where lines are left out."""


def excerpt(text: str, weights: Mapping[str, float], most: int) -> str:
    """Return the run of lines that holds most of a query, under the first line where that is short, as headings are.

    Args:
        text: A passage.
        weights: The weight of each stem of the query.
        most: Characters of the excerpt, about; a text of no more is returned as it is.
    """
    if len(text) <= most:
        return text
    first, _, rest = text.partition("\n")
    if not rest or len(first) > MAX_OPENING:
        first, rest = "", text
    room = max(most - len(first), most // 2)
    lines = [piece for line in rest.split("\n") for piece in pieces_of(line, room)]
    start, end = _best_run(lines, weights, room)
    shown = [first or None, CUT if start else None, *lines[start:end], CUT if end < len(lines) else None]
    return "\n".join(line for line in shown if line is not None)


def with_excerpt(passage: Evidence, weights: Mapping[str, float], most: int) -> Evidence:
    """Return a part of a long message with an excerpt of it as its text; anything else as it is."""
    return _quoting(passage, lambda content: excerpt(content, weights, most))


def without_cuts(passages: Sequence[Evidence], most: int) -> list[Evidence]:
    """Return passages with excerpts as the whole passages.

    Args:
        passages: Passages, the first ones first completed.
        most: Tokens that this may add.
    """
    shown: list[Evidence] = []
    for passage in passages:
        complete = _quoting(passage, str)
        more = count_tokens(complete.text) - count_tokens(passage.text)
        if more <= most:
            passage, most = complete, most - more
        shown.append(passage)
    return shown


def complete_again(pool: Sequence[Evidence], found: Sequence[Evidence], most: int) -> list[Evidence]:
    """Return a pool in which the excerpts that a later round finds again are the whole passages, the best ones first.

    Args:
        pool: What earlier rounds found; each passage stays where it is.
        found: What the round found, best first.
        most: Tokens that this may add.
    """
    held = {passage.evidence_id: passage for passage in pool}
    again = [held[passage.evidence_id] for passage in found if passage.evidence_id in held]
    held |= {passage.evidence_id: passage for passage in without_cuts(again, most)}
    return list(held.values())


def _quoting(passage: Evidence, quote: Callable[[str], str]) -> Evidence:
    """Return a part of a long message with what is quoted of it as its text, its replies behind it; else as it is."""
    record = passage.record
    if not record or not record.is_passage or passage.shows_others:
        return passage
    cited = [turn for turn in passage.turns if turn.turn_id in record.source_turn_ids]
    replies = [turn for turn in passage.turns if turn.turn_id not in record.source_turn_ids]
    text = dated(quote(record.content), record.mentioned_at)
    return with_replies(passage.model_copy(update={"text": text, "turns": cited}), replies)


def _best_run(lines: Sequence[str], weights: Mapping[str, float], most: int) -> tuple[int, int]:
    """Return where the run begins and ends that holds most of the weights, the middle one of several."""
    held = [weights.keys() & set(content_stems(line)) for line in lines]
    runs: list[tuple[float, int, int]] = []
    end, size = 0, 0
    for start, line in enumerate(lines):
        while end < len(lines) and (end == start or size + len(lines[end]) < most):
            size += len(lines[end]) + 1
            end += 1
        stems = frozenset[str]().union(*held[start:end])
        runs.append((sum(weight for stem, weight in weights.items() if stem in stems), start, end))
        size -= len(line) + 1
        if end == len(lines):
            break
    best = max(weight for weight, _, _ in runs)
    best_runs = [(start, end) for weight, start, end in runs if weight == best]
    return best_runs[len(best_runs) // 2] if best else best_runs[0]
