"""Follow a record's lineage, and undo what a run's decisions did to it; nothing is deleted.

An undone decision stays in the audit trail, marked.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from langgraph_engram.consolidation.merging import as_active, conflicts_among, without_conflicts
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import RecordHistory, UndoReceipt
from langgraph_engram.schema import Decision, Record, Scope
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import RECORDS, RecordIndex
from langgraph_engram.summarization.scheduling import ScopeView, changed_syntheses, pending_syntheses, stale_jobs

UNDONE = "a decision on what it covers was undone"


def undo(store: Store, scope: Scope, run_id: str, waiting: Sequence[Decision] = ()) -> UndoReceipt:
    """Undo what a run's decisions changed, in one commit.

    Merged and superseded records are active again, what merges made is archived, and syntheses over any of them turn
    stale, and pending, so that a retry writes them anew. Conflicts are no longer linked.

    Args:
        waiting: The decisions of other runs that wait for a person.

    Raises:
        InvalidInput: No such run changed anything here, or a later run builds on what this one did, or would.
    """
    trail = store.decisions(scope)
    mine = [decision for decision in trail if decision.run_id == run_id and decision.action != "KEEP_BOTH"]
    if not mine:
        raise _nothing_to_undo(run_id, trail)
    standing = [decision for decision in mine if decision.undone_at is None]
    if not standing:
        return UndoReceipt(run_id=run_id, already_undone=True)
    index = store.index(scope)
    _require_last(run_id, standing, trail)
    _require_unawaited(run_id, standing, waiting)
    restored = list(_restored(standing, index.records))
    archived = list(_archived(standing, index.records))
    records = [*restored, *archived]
    outdated = [found for found in changed_syntheses(index, records) if found.status == "stale"]
    jobs = stale_jobs(ScopeView(index, records=records, syntheses=outdated))
    pending_tasks = pending_syntheses(run_id, index, jobs, [UNDONE] * len(jobs))
    now = datetime.now(UTC)
    marked = [decision.model_copy(update={"undone_at": now}) for decision in standing]
    written = [*records, *_unlinked(standing, trail, index.records, records)]
    # Records are written before decisions, so that an interrupted undo can be repeated.
    store.commit(scope, Changes(records=written, syntheses=outdated, decisions=marked, pending_tasks=pending_tasks))
    return UndoReceipt(
        run_id=run_id,
        decisions=len(marked),
        restored=len(restored),
        archived=len(archived),
        stale_syntheses=len(outdated),
    )


def history(store: Store, scope: Scope, record_id: str) -> RecordHistory:
    """Return the lineage of a record in order of time, and the decisions on it and between its members.

    Raises:
        InvalidInput: No such record is kept here.
    """
    records = {record.record_id: record for record in store.index(scope).records.items}
    if record_id not in records:
        raise InvalidInput(
            f"unknown record {record_id!r}: `engram show --user USER --kind records --json` lists the ids"
        )
    before, after = _links(records.values())
    lineage = _reached(record_id, before) | _reached(record_id, after)
    return RecordHistory(
        records=sorted((records[member] for member in lineage), key=RECORDS.sort_key),
        decisions=[decision for decision in store.decisions(scope) if _concerns(decision, record_id, lineage)],
    )


def _concerns(decision: Decision, record_id: str, lineage: set[str]) -> bool:
    named = {*decision.pair, decision.result_id}
    return record_id in named or len(lineage & named) > 1


def _links(records: Iterable[Record]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return, for each record, those it derives from and those that took its place."""
    before: dict[str, set[str]] = {}
    after: dict[str, set[str]] = {}
    for record in records:
        links = [(source, record.record_id) for source in record.derived_from]
        links += [(record.record_id, record.superseded_by)] if record.superseded_by else []
        for older, newer in links:
            before.setdefault(newer, set()).add(older)
            after.setdefault(older, set()).add(newer)
    return before, after


def _reached(start: str, links: Mapping[str, set[str]]) -> set[str]:
    found, left = {start}, [start]
    while left:
        fresh = links.get(left.pop(), set()) - found
        found |= fresh
        left.extend(fresh)
    return found


def _restored(decisions: Sequence[Decision], index: RecordIndex) -> Iterable[Record]:
    """Yield the records that the decisions closed, active again."""
    results = {decision.result_id for decision in decisions}
    for record_id in dict.fromkeys(member for decision in decisions for member in decision.pair):
        record = index.get(record_id)
        if record and record.status in ("merged", "superseded") and record.superseded_by in results:
            yield as_active(record)


def _archived(decisions: Sequence[Decision], index: RecordIndex) -> Iterable[Record]:
    """Yield the records that merges made, archived."""
    for decision in decisions:
        merged = index.get(decision.result_id or "")
        if decision.action == "MERGE" and merged:
            yield merged.model_copy(update={"status": "archived"})


def _unlinked(
    standing: Sequence[Decision], trail: Sequence[Decision], index: RecordIndex, written: Sequence[Record]
) -> Iterable[Record]:
    """Yield the records that these decisions alone link as conflicts, without those links, as they are written else."""
    rest = conflicts_among(decision for decision in trail if decision not in standing)
    known = {record.record_id: record for record in written}
    for record_id, others in conflicts_among(standing).items():
        record = known.get(record_id) or index.get(record_id)
        if record:
            yield without_conflicts(record, {*others} - {*rest.get(record_id, [])})


def _require_last(run_id: str, standing: Sequence[Decision], trail: Sequence[Decision]) -> None:
    """Refuse where a later decision rests on a result of these."""
    for later in trail:
        if later.run_id != run_id and not later.undone_at and _builds_on(standing, later):
            raise InvalidInput(
                f"run {run_id!r} cannot be undone yet: run {later.run_id!r} builds on it, undo that first"
            )


def _require_unawaited(run_id: str, standing: Sequence[Decision], waiting: Sequence[Decision]) -> None:
    """Refuse where a decision that waits for a person would rest on a result of these."""
    for later in waiting:
        if _builds_on(standing, later):
            raise InvalidInput(
                f"run {run_id!r} cannot be undone yet: run {later.run_id!r} waits for approval to change what it made; "
                f"approve or reject that first: engram approve {later.run_id} --user USER [--reject]"
            )


def _builds_on(standing: Sequence[Decision], later: Decision) -> bool:
    """Return whether a decision changes a result of these, or rests on what one of them merged or linked."""
    merges = {decision.result_id for decision in standing if decision.action == "MERGE"}
    results = {decision.result_id for decision in standing}
    match later.action:
        case "KEEP_BOTH":
            return False
        case "CONFLICT":
            return not merges.isdisjoint(later.pair)
        case "SUPERSEDE":
            return not merges.isdisjoint(later.pair) or not results.isdisjoint({*later.pair} - {later.result_id})
    return not {*results, *conflicts_among(standing)}.isdisjoint(later.pair)


def _nothing_to_undo(run_id: str, trail: Sequence[Decision]) -> InvalidInput:
    if any(decision.run_id == run_id for decision in trail):
        return InvalidInput(f"run {run_id!r} merged, superseded and linked nothing: there is nothing to undo")
    return InvalidInput(
        f"run {run_id!r} decided on nothing here: `engram show --user USER --kind decisions` names the runs that did"
    )
