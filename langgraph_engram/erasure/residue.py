"""Look for what ought to be gone: in every collection, in the checkpoints, and in the files that both are kept in.

What is found is named by where it is, never by what it says.
"""

from collections import Counter

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.erasure.traces import Marks, threads_with
from langgraph_engram.schema import Scope
from langgraph_engram.stores.store import Store


def residue(
    store: Store, checkpointer: BaseCheckpointSaver[str] | None, scope: Scope, marks: Marks | None
) -> list[str]:
    """Say where anything of what was forgotten is left; nothing where it is not.

    Args:
        store: Where memories are kept.
        checkpointer: Where runs are.
        scope: Whose memories were forgotten.
        marks: The ids and texts of what was; none where all of the scope was, so that anything at all is too much.
    """
    found = Counter(row.kind for row in store.rows(scope) if marks is None or marks.lie_in(row.texts))
    left = [f"{kind}: {count} in the store" for kind, count in found.items()]
    if checkpointer and (threads := threads_with(checkpointer, scope, marks)):
        left.append(f"checkpoints: {len(threads)} threads")
    return left
