"""Keep track of unfinished steps, so that a retry does each one's part and nothing twice.

A pending task names the first step that is not done. A run that was cut off stands at "segment" until its results are
written, at "synthesize" from then on; a question that failed stands at its own step, with the model's reason. A run
whose turns could not be stored for want of their vectors stands at "receive": its messages are in its checkpoint alone,
and only who has that checkpoint can go on. What is being forgotten stands at "forget" until nothing of it is left.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from langgraph_engram.schema import PendingTask, Record, Turn, make_id
from langgraph_engram.stores.index import ScopeIndex

UNFINISHED = "the run did not reach its end"
RECEIVE = "receive"
"""The step of a task whose turns are not stored yet."""
FORGET = "forget"
"""The step of a task whose turns, or whose record, are being erased: no run of a graph does it."""


def pending_task(run_id: str, turns: Sequence[Turn], step: str, reason: str) -> PendingTask:
    """Return a task for turns whose later steps are not done. The same run, step and turns give the same id."""
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


def pending_tasks_for(run_id: str, step: str, failed: Iterable[tuple[Sequence[Turn], str]]) -> list[PendingTask]:
    """Return the tasks that failed questions of a step leave.

    Args:
        run_id: The run that asked.
        step: The step to do again.
        failed: Turns that each question was about, and why it failed.

    Returns:
        One task for each group of turns; a group without turns leaves none.
    """
    tasks = [pending_task(run_id, turns, step, reason) for turns, reason in failed if turns]
    return list({task.pending_id: task for task in tasks}.values())


def tasks_of_runs(tasks: Iterable[PendingTask]) -> list[PendingTask]:
    """Return the tasks that runs of a graph do: all but those to erase something."""
    return [task for task in tasks if task.step != FORGET]


def is_cut_off(task: PendingTask) -> bool:
    """Return whether a task is of a run that wrote no results: not one of its steps is done."""
    return task.step == "segment" and task.reason == UNFINISHED


def turns_to_extract(turns: Sequence[Turn], retried: Sequence[PendingTask], *, is_retry: bool) -> list[Turn]:
    """Return the turns to extract from: all of a new run's; of a retry's, those that were never extracted from."""
    if not is_retry:
        return list(turns)
    wanted = {turn_id for task in retried if task.step == "extract" or is_cut_off(task) for turn_id in task.turn_ids}
    return [turn for turn in turns if turn.turn_id in wanted]


def turns_to_describe(retried: Sequence[PendingTask]) -> set[str]:
    """Return the ids of the turns whose events are stored, but could not be described by a model."""
    return {turn_id for task in retried if task.step == "segment" and not is_cut_off(task) for turn_id in task.turn_ids}


def records_to_consolidate(retried: Sequence[PendingTask], index: ScopeIndex) -> list[Record]:
    """Return the stored active records whose near-duplicates are still to be decided on."""
    turn_ids = {turn_id for task in retried if task.step == "consolidate" for turn_id in task.turn_ids}
    if not turn_ids:
        return []
    return [
        record
        for record in index.records.items
        if record.status == "active" and not turn_ids.isdisjoint(record.source_turn_ids)
    ]


def sessions_to_synthesize(
    run_id: str,
    session_ids: Sequence[str],
    index: ScopeIndex,
    retried: Sequence[PendingTask],
    tasks: Sequence[PendingTask],
) -> list[str]:
    """Return a run's own sessions, then those of the turns on which a synthesis is pending for it or retried.

    Its last session comes first: those before have waited to be summarized with it.
    """
    noted = [*retried, *(task for task in tasks if task.run_id == run_id)]
    turns = stored_turns(index, [turn_id for task in noted if task.step == "synthesize" for turn_id in task.turn_ids])
    return list(dict.fromkeys([*reversed(session_ids), *(turn.session_id for turn in turns)]))


def turns_begun(tasks: Sequence[PendingTask], run_id: str, session_id: str) -> list[str]:
    """Return the ids of the turns that a run stored before it was cut off."""
    own = [task for task in tasks if (task.run_id, task.session_id) == (run_id, session_id)]
    return [turn_id for task in own if is_cut_off(task) for turn_id in task.turn_ids]


def is_unreceived(task: PendingTask, index: ScopeIndex) -> bool:
    """Return whether a task is about turns that are not stored: their words are in the checkpoint of its run alone."""
    return task.step == RECEIVE and any(turn_id not in index.turns for turn_id in task.turn_ids)


def unreceived_ids(tasks: Sequence[PendingTask], run_id: str) -> list[str]:
    """Return the ids of the tasks of a run whose turns could not be stored."""
    return [task.pending_id for task in tasks if (task.run_id, task.step) == (run_id, RECEIVE)]


def taken_over(tasks: Iterable[PendingTask], run_id: str, turns: Iterable[Turn]) -> tuple[list[PendingTask], list[str]]:
    """Return what is left of other runs' tasks once a run stores turns that these were cut off before they stored.

    Args:
        tasks: The tasks of the scope as they stand.
        run_id: The run that stores the turns, and will do all their steps.
        turns: Those turns. None was stored before.

    Returns:
        The tasks that go on with fewer turns, and the ids of those of which nothing is left.
    """
    stored = {turn.turn_id for turn in turns}
    others = [task for task in tasks if task.run_id != run_id and not stored.isdisjoint(task.turn_ids)]
    left = [task.model_copy(update={"turn_ids": [t for t in task.turn_ids if t not in stored]}) for task in others]
    return [task for task in left if task.turn_ids], [task.pending_id for task in left if not task.turn_ids]


def is_completed(
    run_id: str,
    turns: Sequence[Turn],
    retried: Sequence[PendingTask],
    tasks: Sequence[PendingTask],
    *,
    is_retry: bool,
) -> bool:
    """Return whether a run's work is done already: by its own commit, or by a retry that took the run for dead.

    Where a retry has done one of its sessions, it does the others as well.

    Args:
        run_id: The run.
        turns: Its turns.
        retried: The tasks that it does again.
        tasks: The tasks of the scope as they stand.
        is_retry: Whether it is a retry.
    """
    if is_retry:
        wanted = {task.pending_id for task in retried if task.step != "synthesize"}
        return bool(wanted) and wanted.isdisjoint(task.pending_id for task in tasks)
    open_sessions = {task.session_id for task in tasks if task.run_id == run_id and is_cut_off(task)}
    return not open_sessions.issuperset(turn.session_id for turn in turns)


def completed_ids(
    run_id: str, retried: Sequence[PendingTask], failures: Sequence[PendingTask], tasks: Sequence[PendingTask]
) -> list[str]:
    """Return the ids of the tasks that a run's commit completes: its own and those retried, but no synthesis.

    Args:
        run_id: The run.
        retried: The tasks that it does again.
        failures: The tasks that it leaves.
        tasks: The tasks of the scope as they stand.
    """
    own = [task for task in tasks if task.run_id == run_id]
    done = [task.pending_id for task in [*own, *retried] if task.step != "synthesize"]
    failed = {task.pending_id for task in failures}
    return [pending_id for pending_id in dict.fromkeys(done) if pending_id not in failed]


def completed_synthesis_ids(
    run_id: str,
    retried: Sequence[PendingTask],
    failures: Sequence[PendingTask],
    tasks: Sequence[PendingTask],
    written: set[str],
) -> list[str]:
    """Return the ids of the synthesis tasks that a run completes.

    Args:
        run_id: The run.
        retried: The tasks that it does again.
        failures: The tasks that it leaves.
        tasks: The tasks of the scope as they stand.
        written: Ids of the turns that its new syntheses rest on: a task about none but those is done as well.
    """
    wanted = {task.pending_id for task in retried}
    failed = {task.pending_id for task in failures}
    return [
        task.pending_id
        for task in tasks
        if task.step == "synthesize"
        and task.pending_id not in failed
        and (task.run_id == run_id or task.pending_id in wanted or written.issuperset(task.turn_ids))
    ]


def stored_turns(index: ScopeIndex, turn_ids: Sequence[str]) -> list[Turn]:
    """Return stored turns by id, by session and position in it; ids that are gone are left out."""
    found = [turn for turn_id in turn_ids if (turn := index.turns.get(turn_id))]
    return sorted(found, key=lambda turn: (turn.session_id, turn.seq))


def cited_turns(index: ScopeIndex, records: Iterable[Record]) -> list[Turn]:
    """Return the stored turns that any of these records cites, each once, in the order of `stored_turns`."""
    return stored_turns(index, list(dict.fromkeys(turn_id for record in records for turn_id in record.source_turn_ids)))
