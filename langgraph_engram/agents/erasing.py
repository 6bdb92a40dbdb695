"""Forget what a model was shown, by the short id that stood beside it.

A record alone would leave the words it was drawn from, and the next search would find them. So what goes are the
turns under it, with all that rests on them.
"""

from collections.abc import Sequence

from langgraph_engram.agents.recalled import SHORT_ID
from langgraph_engram.errors import InvalidInput
from langgraph_engram.memory import Memory
from langgraph_engram.results import ErasureReceipt
from langgraph_engram.schema import Record, Scope, Turn


def forget_piece(memory: Memory, scope: Scope, short_id: str) -> ErasureReceipt:
    """Forget a turn, or the turns that a record rests on.

    Args:
        memory: Where it is kept.
        scope: Whose memory it is; ids of others are unknown here.
        short_id: The first characters of the id of a turn or a record, at least eight; the whole id does as well.

    Returns:
        What is gone, added up.

    Raises:
        InvalidInput: No memory of this user has such an id, or several have.
    """
    whose = scope.model_dump()
    turns = {one.turn_id: one for one in memory.show("turns", **whose) if isinstance(one, Turn)}
    records = {one.record_id: one for one in memory.show("records", **whose) if isinstance(one, Record)}
    found = [one for one in (*turns, *records) if len(short_id) >= SHORT_ID and one.startswith(short_id)]
    if len(found) != 1:
        trouble = "several memories have" if found else "no memory has"
        raise InvalidInput(f"{trouble} the id {short_id!r}: search first, and give an id as the search shows it")
    record = records.get(found[0])
    said = [found[0]] if record is None else [one for one in record.source_turn_ids if one in turns]
    if record is not None and not said:
        return memory.forget(record_id=record.record_id, **whose)
    return add_erasures([memory.forget(turn_id=one, **whose) for one in said])


def add_erasures(receipts: Sequence[ErasureReceipt]) -> ErasureReceipt:
    """Add up what is gone; what was named last stands for all. At least one receipt."""
    counts = [name for name, field in ErasureReceipt.model_fields.items() if field.annotation is int]
    sums = {name: sum(getattr(one, name) for one in receipts) for name in counts}
    residue = [line for one in receipts for line in one.residue]
    return receipts[-1].model_copy(update={**sums, "residue": residue})
