"""Say what a retry is to do: each step its own part, and nothing twice.

A pending names the first step that is not done. A run that was cut off stands at "segment" until its results are
written, at "synthesize" from then on; a question that failed stands at its own step, with the model's reason.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from langgraph.config import get_config

from langgraph_engram.errors import InvalidSetting
from langgraph_engram.schema import PendingTask, Record, Turn, make_id
from langgraph_engram.state import WriteState
from langgraph_engram.stores.index import ScopeIndex


def turns_to_extract(state: WriteState) -> list[Turn]:
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


def records_to_consolidate(state: WriteState, index: ScopeIndex) -> list[Record]:
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
    drawn = {turn.turn_id for turn in turns_to_extract(state)}
    known = {(one.kind, turn_id) for one in index.records.items for turn_id in drawn.intersection(one.source_turn_ids)}
    return [one for one in records if known.isdisjoint((one.kind, turn_id) for turn_id in one.source_turn_ids)]


def turns_under(index: ScopeIndex, records: Iterable[Record]) -> list[Turn]:
    """Give the stored turns that any of these records cites, each once, by session and place in it."""
    return stored_turns(index, list(dict.fromkeys(one for record in records for one in record.source_turn_ids)))


CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph puts the checkpointer of the run; it exports no name for it."""


def require_checkpointer() -> None:
    """Refuse to begin what could not be resumed, before a model is asked.

    Raises:
        InvalidSetting: The graph under way has no checkpointer.
    """
    if get_config()["configurable"].get(CHECKPOINTER) is None:
        raise InvalidSetting(
            "update.approve waits for a person, and this graph has no checkpointer to wait in: compile it with one "
            "(`build_write_graph(..., checkpointer=...)`), call `Memory.remember`, or leave update.approve empty"
        )


UNFINISHED = "the run did not reach its end"


def pending_task(run_id: str, turns: Sequence[Turn], step: str, reason: str) -> PendingTask:
    """Note turns whose later steps are not done. The same run, step and turns give the same id."""
    ids = [turn.turn_id for turn in turns]
    return PendingTask(
        pending_id=make_id(run_id, step, *ids),
        run_id=run_id,
        session_id=turns[0].session_id,
        turn_ids=ids,
        step=step,
        reason=reason,
        since=datetime.now(UTC),
    )


def is_cut_off(pending: PendingTask) -> bool:
    """Say whether a pending is of a run that wrote no results: not one step of it is done."""
    return pending.step == "segment" and pending.reason == UNFINISHED


def stored_turns(index: ScopeIndex, turn_ids: Sequence[str]) -> list[Turn]:
    """Give stored turns by id, in their order of time; ids that are gone are left out."""
    found = [turn for turn_id in turn_ids if (turn := index.turns.get(turn_id))]
    return sorted(found, key=lambda turn: (turn.session_id, turn.seq))
