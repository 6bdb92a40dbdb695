"""Say what a retry is to do: each step its own part, and nothing twice.

A pending names the first step that is not done. A run that was cut off stands at "segment" until its results are
written, at "synthesize" from then on; a question that failed stands at its own step, with the model's reason.
"""

from collections.abc import Sequence

from langgraph_engram.nodes.keeping.receive import is_cut_off
from langgraph_engram.schema import Record, Turn
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex


def turns_to_draw(state: WriteState) -> list[Turn]:
    """Give the turns that records are to be drawn from: a run's own; of a retry, those of which none were drawn."""
    if not state["request"].retry_turn_ids:
        return state["turns"]
    wanted = {
        one for note in state.get("retried", []) if note.step == "extract" or is_cut_off(note) for one in note.turn_ids
    }
    return [turn for turn in state["turns"] if turn.turn_id in wanted]


def turns_to_describe(state: WriteState) -> set[str]:
    """Give the ids of the turns whose events are stored, but could not be described by a model."""
    failed = [note for note in state.get("retried", []) if note.step == "segment" and not is_cut_off(note)]
    return {one for note in failed for one in note.turn_ids}


def records_to_decide(state: WriteState, index: ScopeIndex) -> list[Record]:
    """Give the stored active records that could not be held against those they resemble."""
    turns = {one for note in state.get("retried", []) if note.step == "consolidate" for one in note.turn_ids}
    if not turns:
        return []
    return [one for one in index.records.items if one.status == "active" and not turns.isdisjoint(one.source_turn_ids)]


def without_doubles(state: WriteState, records: Sequence[Record], index: ScopeIndex) -> list[Record]:
    """Give what a retry has drawn, without kinds that its turns gave before.

    Of two questions asked of a turn one may have been answered; another wording of that answer is no new record.
    """
    if not state["request"].retry_turn_ids:
        return list(records)
    drawn = {turn.turn_id for turn in turns_to_draw(state)}
    known = {(one.kind, turn_id) for one in index.records.items for turn_id in drawn.intersection(one.source_turn_ids)}
    return [one for one in records if known.isdisjoint((one.kind, turn_id) for turn_id in one.source_turn_ids)]
