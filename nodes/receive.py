"""Store the turns of a call that are new, before any model is asked.

From here nothing said can be lost: the run stands in the store as pending until its results are written. What is
stored is read and added to under one lock, so that two runs in one session at once give each turn a position of its
own.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from socket import gethostname
from typing import cast

from langgraph.config import get_config
from langgraph.types import Overwrite

from langgraph_engram.alignment import new_turns, requests_by_session
from langgraph_engram.compression import Compressor
from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.pending import (
    RECEIVE,
    UNFINISHED,
    is_unreceived,
    pending_tasks_for,
    stored_turns,
    taken_over,
    tasks_of_runs,
    turns_begun,
    turns_to_extract,
    unreceived_ids,
)
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import DateOrder, FilterCounts, PendingTask, Scope, Turn, make_id
from langgraph_engram.screening import screen
from langgraph_engram.settings import ReceiveSettings
from langgraph_engram.state import RememberRequest, WriteState
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex

PROBE = "Hello."
"""A text that is compressed only to see that it can be done."""


@dataclass(frozen=True, slots=True)
class Receive:
    """Store the raw turns. Reads `request`, JSON included; sets `run_id`, `session_ids`, `turns`, `known_turns`."""

    store: Store
    date_order: DateOrder | None = None
    """How the user writes the numbers of a date, where that is known."""
    compressor: Compressor | None = None
    """What `extract` will shorten sentences with."""
    settings: ReceiveSettings = field(default_factory=ReceiveSettings)

    def __call__(self, state: WriteState) -> WriteState:
        """Return the turns of this run that were not known, each with its id and position; or those of a retry.

        Secrets are masked or refused first, where the settings ask for it: the request that the state keeps has none.
        The compressor is tried once the turns are stored, where `extract` will need it: no model is paid for where it
        cannot be loaded, and the run can be retried.

        Raises:
            CompressorUnavailable: The compressor cannot be loaded.
            EncoderUnavailable: The turns cannot be encoded, and are not stored; the run is pending if it has a
                checkpoint, unless the store has no vector yet.
        """
        request = screen(RememberRequest.model_validate(state["request"]), self.settings)
        run_id = request.run_id or _id_of_this_run()
        sessions = requests_by_session(request)
        is_retry = bool(request.retry_turn_ids)
        received = self._retried(request, *sessions) if is_retry else self._new(request.scope, run_id, sessions)
        if self.compressor and turns_to_extract(received["turns"], received.get("retried", []), is_retry=is_retry):
            self.compressor.compress([PROBE])
        return {**_empty_state(), "request": request, "run_id": run_id, "session_ids": [*sessions], **received}

    def _new(self, scope: Scope, run_id: str, sessions: Mapping[str, RememberRequest]) -> WriteState:
        """Store the turns that are new; those that this run stored before it was cut off are its own, too.

        Each session is pending by itself, for a retry takes one after the other. Where they cannot be encoded, the run
        is pending, and its checkpoint has what was said. Without a checkpoint nothing has it, and a store that has no
        vector yet can hold no row without the encoder, the task included: then nothing is pending, the call is to be
        sent again.
        """
        with self.store.committing(scope):
            index, pending = self.store.index(scope), self.store.pending_tasks(scope)
            received = [self._turns(sent, session_id, index, run_id, pending) for session_id, sent in sessions.items()]
            turns = [turn for own in received for turn in own]
            left, completed = taken_over(pending, run_id, [turn for turn in turns if turn.turn_id not in index.turns])
            completed += unreceived_ids(pending, run_id)
            try:
                if turns or completed:
                    tasks = [*pending_tasks_for(run_id, "segment", [(own, UNFINISHED) for own in received]), *left]
                    self.store.commit(scope, Changes(turns=turns, pending_tasks=tasks, completed=completed))
            except EncoderUnavailable as error:
                if place := _checkpoint_of_this_run():
                    reason = f"{error}; what was said is in {place} alone: retry there, or send it again"
                    with suppress(EncoderUnavailable):
                        tasks = pending_tasks_for(run_id, RECEIVE, [(own, reason) for own in received])
                        self.store.commit(scope, Changes(pending_tasks=tasks))
                raise
        sent = sum(len(request.messages) for request in sessions.values())
        return {"turns": turns, "known_turns": sent - len(turns)}

    def _turns(
        self, sent: RememberRequest, session_id: str, index: ScopeIndex, run_id: str, pending: Sequence[PendingTask]
    ) -> list[Turn]:
        """Return the turns of a session that this run stored before it was cut off, and those that are new."""
        begun = stored_turns(index, turns_begun(pending, run_id, session_id))
        new = new_turns(sent, session_id, index, begun)
        return [*begun, *(turn.model_copy(update={"date_order": self.date_order}) for turn in new)]

    def _retried(self, request: RememberRequest, session_id: str) -> WriteState:
        """Return stored turns of a session, and the tasks about them. They stay pending until they are done.

        A process that is killed in a commit may have stored turns under no new revision: where one is missing from the
        index, the rows tell. One that is not there either was forgotten, or never stored, and its tasks have nothing
        left to do.
        """
        scope, wanted = request.scope, set(request.retry_turn_ids)
        index = self.store.index(scope)
        if any(turn_id not in index.turns for turn_id in wanted):
            self.store.drop_index(scope)
            index = self.store.index(scope)
        found = stored_turns(index, request.retry_turn_ids)
        about = [task for task in self.store.pending_tasks(scope) if wanted.issuperset(task.turn_ids)]
        tasks = [task for task in tasks_of_runs(about) if not is_unreceived(task, index)]
        turns = [turn for turn in found if turn.session_id == session_id]
        return {"turns": turns, "known_turns": 0, "retried": tasks}


def _id_of_this_run() -> str:
    """Return an id for a run that was given none: LangGraph's name of the task, which stays when a run is resumed."""
    return make_id("run", get_config()["configurable"]["checkpoint_ns"])


def _checkpoint_of_this_run() -> str:
    """Return where the checkpoint of this run is, for people; nothing where the graph has no checkpointer."""
    configurable = get_config()["configurable"]
    saver = configurable.get("__pregel_checkpointer")
    if not saver:
        return ""
    where = getattr(saver, "path", None) or f"a {type(saver).__name__}"
    return f"thread {configurable['thread_id']} of {where} (process {os.getpid()} on {gethostname()})"


def _empty_state() -> WriteState:
    """Return what a run starts with: nothing of a run before it on the same thread, which may be another user's."""
    return {
        "events": [],
        "boundaries": [],
        "records": [],
        "retried": [],
        "reloaded": [],
        "pairs": [],
        "filtered": FilterCounts(),
        "rechecks": 0,
        "recheck": False,
        "proposals": [],
        "changed": [],
        "decisions": [],
        "synthesis_ids": [],
        "failures": cast(list[PendingTask], Overwrite([])),
        "usage": cast(list[UsageEntry], Overwrite([])),
    }
