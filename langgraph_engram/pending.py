"""Keep track of unfinished steps, so that a retry does each one's part and nothing twice.

A pending task names the first step that is not done. A run that was cut off stands at "segment" until its results are
written, at "synthesize" from then on; a question that failed stands at its own step, with the model's reason. A run
whose turns could not be stored for want of their vectors stands at "receive": its messages are in its checkpoint alone,
and only who has that checkpoint can go on. What is being forgotten stands at "forget" until nothing of it is left. A
file stands at "load" until all of it is stored, and no other step is done before.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from langgraph_engram.schema import PendingTask, Record, Turn, make_id
from langgraph_engram.stores.index import ScopeIndex

UNFINISHED = "the run did not reach its end"
RECEIVE = "receive"
"""The step of a task whose turns are not stored yet."""
CHOOSE = "choose"
"""The step of a task whose session a model is to read."""
FORGET = "forget"
"""The step of a task whose turns, or whose record, are being erased: no run of a graph does it."""
LOAD = "load"
"""The step of a task whose run is the path of an exported file: loading it again does it."""


def pending_task(run_id: str, turns: Sequence[Turn], step: str, explanation: str) -> PendingTask:
    """Return a task for turns whose later steps are not done. The same run, step and turns give the same id."""
    ids = [turn.turn_id for turn in turns]
    return PendingTask(
        pending_id=make_id(run_id, step, *ids),
        run_id=run_id,
        session_id=turns[0].session_id,
        turn_ids=ids,
        step=step,
        reason=explanation,
        since=datetime.now(UTC),
    )


def pending_tasks_by_session(run_id: str, turns: Iterable[Turn], step: str, explanation: str) -> list[PendingTask]:
    """Return a task for the turns of each session."""
    by_session: dict[str, list[Turn]] = {}
    for turn in turns:
        by_session.setdefault(turn.session_id, []).append(turn)
    return [pending_task(run_id, of_session, step, explanation) for of_session in by_session.values()]


def pending_tasks_for(run_id: str, step: str, failed: Iterable[tuple[Sequence[Turn], str]]) -> list[PendingTask]:
    """Return the tasks that failed questions of a step leave: for each, its turns and why it failed."""
    tasks = [pending_task(run_id, turns, step, explanation) for turns, explanation in failed if turns]
    return list({task.pending_id: task for task in tasks}.values())


def tasks_of_runs(tasks: Iterable[PendingTask]) -> list[PendingTask]:
    """Return the tasks that runs of a graph do: all but those to erase something."""
    return [task for task in tasks if task.step != FORGET]


def tasks_to_do(tasks: Sequence[PendingTask]) -> list[PendingTask]:
    """Return the tasks that runs of a graph can do now: none where a load was cut off, lest steps are done twice."""
    return [] if any(task.step == LOAD for task in tasks) else tasks_of_runs(tasks)


def is_cut_off(task: PendingTask) -> bool:
    """Return whether a task is of a run that wrote no results: not one of its steps is done."""
    return task.step == "segment"


def turns_of(tasks: Iterable[PendingTask], index: ScopeIndex) -> list[Turn]:
    """Return the stored turns that tasks are about, by session and position in it."""
    return stored_turns(index, (turn_id for task in tasks for turn_id in task.turn_ids))


def retried_tasks(pending: Sequence[PendingTask], turn_ids: set[str], index: ScopeIndex) -> list[PendingTask]:
    """Return the tasks that a retry of turns does, without the turns that are gone."""
    about = [task for task in tasks_to_do(pending) if turn_ids.issuperset(task.turn_ids)]
    left = [(task, [turn_id for turn_id in task.turn_ids if turn_id in index.turns]) for task in about]
    return [task.model_copy(update={"turn_ids": ids}) for task, ids in left if not is_unreceived(task, index)]


def turns_to_extract(tasks: Sequence[PendingTask], index: ScopeIndex) -> list[Turn]:
    """Return the stored turns of tasks that are still to be extracted from."""
    return turns_of([task for task in tasks if task.step == "extract" or is_cut_off(task)], index)


def records_to_decide(records: Sequence[Record], tasks: Iterable[PendingTask], index: ScopeIndex) -> dict[str, Record]:
    """Return a run's records by id, with the stored active ones on which an earlier run could not decide."""
    own = {record.record_id: record for record in records}
    turn_ids = {turn_id for task in tasks if task.step == "consolidate" for turn_id in task.turn_ids}
    stored = index.records.items if turn_ids else ()
    undecided = (record for record in stored if record.status == "active" and record.record_id not in own)
    return own | {record.record_id: record for record in undecided if not turn_ids.isdisjoint(record.source_turn_ids)}


def sessions_to_synthesize(
    run_id: str,
    session_ids: Sequence[str],
    index: ScopeIndex,
    tasks: Sequence[PendingTask],
    pending: Sequence[PendingTask],
) -> list[str]:
    """Return a run's own sessions, the last first, then those of the turns on which it is to write a synthesis."""
    noted = [*tasks, *(task for task in pending if task.run_id == run_id)]
    turns = turns_of([task for task in noted if task.step in ("synthesize", CHOOSE)], index)
    return list(dict.fromkeys([*reversed(session_ids), *(turn.session_id for turn in turns)]))


def turns_begun(tasks: Sequence[PendingTask], run_id: str, session_id: str) -> list[str]:
    """Return the ids of the turns that a run stored before it was cut off."""
    own = [task for task in tasks if (task.run_id, task.session_id) == (run_id, session_id) and is_cut_off(task)]
    return [turn_id for task in own for turn_id in task.turn_ids]


def is_unreceived(task: PendingTask, index: ScopeIndex) -> bool:
    """Return whether a task is about turns that are not stored: their words are in the checkpoint of its run alone."""
    return task.step == RECEIVE and any(turn_id not in index.turns for turn_id in task.turn_ids)


def taken_over(tasks: Iterable[PendingTask], run_id: str, turns: Iterable[Turn]) -> tuple[list[PendingTask], list[str]]:
    """Return other runs' tasks without the turns that a run stores now, and the ids of those left with none."""
    stored = {turn.turn_id for turn in turns}
    others = [task for task in tasks if task.run_id != run_id and not stored.isdisjoint(task.turn_ids)]
    left = [task.model_copy(update={"turn_ids": [t for t in task.turn_ids if t not in stored]}) for task in others]
    return [task for task in left if task.turn_ids], [task.pending_id for task in left if not task.turn_ids]


def is_done_by_another(tasks: Sequence[PendingTask], pending: Sequence[PendingTask]) -> bool:
    """Return whether a run's work is written already: by its own commit, or by a run that took it for dead.

    Where one of its tasks is done, the others are left to whoever did it, or to a retry.
    """
    wanted = {task.pending_id for task in tasks if task.step != "synthesize"}
    return not wanted.issubset(task.pending_id for task in pending)


def completed_ids(
    run_id: str, tasks: Sequence[PendingTask], failures: Sequence[PendingTask], pending: Sequence[PendingTask]
) -> list[str]:
    """Return the ids of the tasks that a run's commit completes, but of no synthesis."""
    own = [task for task in pending if task.run_id == run_id]
    failed = {task.pending_id for task in failures}
    done = dict.fromkeys(task.pending_id for task in [*own, *tasks] if task.step != "synthesize")
    return [pending_id for pending_id in done if pending_id not in failed]


def completed_synthesis_ids(
    run_id: str,
    tasks: Sequence[PendingTask],
    failures: Sequence[PendingTask],
    pending: Sequence[PendingTask],
    written: set[str],
) -> list[str]:
    """Return the ids of the synthesis tasks that a run completes: also those about none but the turns of `written`."""
    wanted = {task.pending_id for task in tasks}
    failed = {task.pending_id for task in failures}
    return [
        task.pending_id
        for task in pending
        if task.step == "synthesize"
        and task.pending_id not in failed
        and (task.run_id == run_id or task.pending_id in wanted or written.issuperset(task.turn_ids))
    ]


def stored_turns(index: ScopeIndex, turn_ids: Iterable[str]) -> list[Turn]:
    """Return stored turns by id, each once, by session and position in it; ids that are gone are left out."""
    found = [turn for turn_id in dict.fromkeys(turn_ids) if (turn := index.turns.get(turn_id))]
    return sorted(found, key=lambda turn: (turn.session_id, turn.seq))


def cited_turns(index: ScopeIndex, records: Iterable[Record]) -> list[Turn]:
    """Return the stored turns that any of these records cites, each once, in the order of `stored_turns`."""
    return stored_turns(index, (turn_id for record in records for turn_id in record.source_turn_ids))
