"""Count what a run costs: one entry a step, added up at the end. Text is counted as four characters a token."""

from collections.abc import Iterable

from langgraph_engram.results import Usage, UsageEntry

CHARACTERS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """Estimate the tokens of `text`: its characters by four, rounded up. Zero for an empty text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def add_entries(entries: Iterable[UsageEntry]) -> list[UsageEntry]:
    """Add up entries of the same node and model, in the order in which nodes first appear."""
    sums: dict[tuple[str, str], UsageEntry] = {}
    for entry in entries:
        key = (entry.node, entry.model)
        sums[key] = _plus(sums[key], entry) if key in sums else entry
    return list(sums.values())


def total(entries: Iterable[UsageEntry]) -> Usage:
    """Add up a run's entries.

    Args:
        entries: The ledger, one entry a step and model; order does not matter to the sums.

    Returns:
        Calls, tokens and seconds in all, and the entries summed by node.
    """
    by_node = add_entries(entries)
    prompt = sum(entry.prompt_tokens for entry in by_node)
    completion = sum(entry.completion_tokens for entry in by_node)
    return Usage(
        calls=sum(entry.calls for entry in by_node),
        prompt_tokens=prompt,
        completion_tokens=completion,
        tokens=prompt + completion,
        seconds=sum(entry.seconds for entry in by_node),
        by_node=by_node,
    )


def _plus(one: UsageEntry, other: UsageEntry) -> UsageEntry:
    counts = UsageEntry.model_fields.keys() - {"node", "model"}
    return one.model_copy(update={name: getattr(one, name) + getattr(other, name) for name in counts})
