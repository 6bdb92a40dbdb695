"""Forget: choose what goes, take it from checkpoints and store, and look whether anything is left.

Whatever cuts it off, asking for the same again does the rest: checkpoints go first, and of the store last what the
choice rests on.
"""

from dataclasses import dataclass
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.erasure.left_behind import LeftBehind
from langgraph_engram.erasure.residue import Residue
from langgraph_engram.erasure.selection import Gone, Held, what_goes
from langgraph_engram.erasure.target import Target
from langgraph_engram.erasure.traces import Marks, delete_threads, threads_with
from langgraph_engram.results import ErasureReceipt
from langgraph_engram.schema import Pending, Scope
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.store import Changes, Store


@dataclass(frozen=True)
class Eraser:
    """Forget what is kept in a store and its checkpoints."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None
    settings: SegmentSettings

    def forget(self, scope: Scope, target: Target) -> ErasureReceipt:
        """Forget what is asked for, after the runs of the scope that are under way.

        Raises:
            InvalidInput: What is named is not kept here.
            StoreError: The store could not do it; asked again, it does the rest.
        """
        with self.store.writing(scope), self.store.committing(scope):
            held = Held(self.store.index(scope), self.store.decisions(scope), self.store.pendings(scope))
            gone = what_goes(held, target)
            marks = marks_of(held, gone)
            threads, runs = list[str](), 0
            if self.checkpointer:
                threads = threads_with(self.checkpointer, scope, None if target.is_everything else marks)
                runs = delete_threads(self.checkpointer, threads)
            changes = self._changes(held, gone, target, threads)
            self.store.commit(scope, changes)
            left = Residue(self.store, self.checkpointer).left(scope, marks, of_everything=target.is_everything)
        return _receipt(scope, target, gone, changes, runs, left)

    def _changes(self, held: Held, gone: Gone, target: Target, threads: list[str]) -> Changes:
        if target.is_everything:
            return Changes(removed=gone.ids())
        left = LeftBehind(held, gone, str(uuid4()), self.settings)
        events, freed = left.events(), left.records()
        unawaited = [one for one in held.pendings if one.waits_for_a_person and one.run_id in threads]
        return Changes(
            events=events,
            boundaries=left.boundaries(events),
            pendings=left.pendings(freed),
            changed=freed,
            settled=[one.pending_id for one in unawaited],
            removed=gone.ids(),
        )


def marks_of(held: Held, gone: Gone) -> Marks:
    """Give what to look for: the ids of what goes, and its texts, but those that what is left says too."""
    ids = frozenset(one for kind in gone.ids().values() for one in kind)
    said = [one.indexed_text for one in held.index.turns.items if one.turn_id not in ids]
    drawn = [one.content for one in held.index.records.items if one.record_id not in ids]
    left = "\0".join([*said, *drawn])
    return Marks(ids, frozenset(text for text in gone.texts() if text not in left))


def _receipt(scope: Scope, target: Target, gone: Gone, changes: Changes, runs: int, left: list[str]) -> ErasureReceipt:
    again: list[Pending] = list(changes.pendings)
    return ErasureReceipt(
        scope=scope,
        session_id=target.session_id,
        turn_id=target.turn_id,
        record_id=target.record_id,
        **{name: len(ids) for name, ids in gone.ids().items()},
        runs=runs,
        changed=len(changes.events) + len(changes.boundaries) + len(changes.changed),
        pending=len({turn_id for one in again for turn_id in one.turn_ids}),
        residue=left,
    )
