"""Look at what is stored, follow a record's lineage, edit it, and undo what was decided; nothing is deleted.

An undone decision stays in the audit trail, marked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel

from langgraph_engram.consolidation.merging import (
    as_active,
    as_merged,
    conflicts_among,
    decided,
    merged,
    without_conflicts,
)
from langgraph_engram.errors import InvalidInput
from langgraph_engram.filters import Filters, check_filters, check_limit, conditions_of
from langgraph_engram.formats.messages import check_size, read_text, shown
from langgraph_engram.pending import cited_turns, pending_tasks_for
from langgraph_engram.profile import PROFILE_TOKENS, profile_of
from langgraph_engram.requests import check_name
from langgraph_engram.results import RecordHistory, Status, UndoReceipt, UpdateReceipt
from langgraph_engram.schema import Decision, Frozen, Record, Scope, Spent, make_id, reached
from langgraph_engram.screening import screen_value
from langgraph_engram.settings import ReceiveSettings
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import RECORDS, KindIndex, Matches, RecordIndex
from langgraph_engram.summarization.scheduling import changed_syntheses

ItemKind = Literal["records", "events", "boundaries", "syntheses", "decisions", "turns", "profile"]
T = TypeVar("T", bound=Frozen)
MOST_IDS = 5
DIMENSIONS = ("location", "reason", "purpose")


def status(opened: Store, scope: Scope, *, store: str, preset: str, model: str) -> Status:
    """Count what is stored, and list the pending tasks."""
    index = opened.index(scope)
    return Status(
        store=store,
        encoder=opened.encoder.name,
        preset=preset,
        model=model,
        turns=len(index.turns),
        events=len(index.events),
        records=dict(Counter(str(record.status) for record in index.records.items)),
        boundaries=len(index.boundaries),
        syntheses=len(index.syntheses),
        decisions=len(opened.decisions(scope)),
        pending=opened.pending_tasks(scope),
        notes=sum(bool(synthesis.session_id) for synthesis in index.syntheses.items),
        spent=sum((synthesis.spent for synthesis in index.syntheses.items), Spent()),
    )


def show(
    store: Store, scope: Scope, kind: ItemKind, filters: Filters | None = None, limit: int | None = None
) -> Sequence[BaseModel]:
    """Return what is stored of one kind, in order of time: the newest `limit`; of a profile, the first."""
    conditions = conditions_of(check_filters(filters))
    check_limit(limit)
    if kind not in get_args(ItemKind):
        raise InvalidInput(f"unknown kind {shown(kind)}: choose one of {', '.join(get_args(ItemKind))}")
    if kind == "decisions":
        if conditions:
            raise InvalidInput("decisions have none of the fields that filters are about: leave the filters out")
        return store.decisions(scope)[-limit if limit else 0 :]
    index = store.index(scope)
    matches = Matches(index, conditions)
    if kind == "profile":
        records = profile_of(index.as_of(None), PROFILE_TOKENS).records
        return [item for item in records if matches.records[index.records.position(item.record_id)]][:limit]
    items: KindIndex[Any] = getattr(index, kind)
    by_column = kind in ("turns", "records")
    fulfils = getattr(matches, kind) if by_column else [matches.has(item) for item in items.items]
    chosen = [items.items[position] for position in items.order() if fulfils[position]]
    return chosen[-limit if limit else 0 :]


def get(store: Store, scope: Scope, record_id: str) -> Record:
    """Return a record by its id or the first characters of it."""
    return find_one(store.index(scope).records, check_name("record_id", record_id, "name a record"))


def find_one(items: KindIndex[T], name: str) -> T:
    """Return the item of an id, or the only one whose id begins with these characters."""
    found, noun = items.named(name), items.kind.id_field.removesuffix("_id")
    if len(found) > 1:
        raise InvalidInput(f"several {items.kind.name} begin with {name!r}: {list_ids(map(items.kind.id_of, found))}")
    if not found:
        raise InvalidInput(
            f"unknown {noun} {name!r}",
            command=f"`engram show --user USER --kind {items.kind.name} --json` lists the ids",
        )
    return found[0]


def list_ids(ids: Iterable[str]) -> str:
    """Return the first ids in one line, and how many there are besides."""
    known = list(ids)
    more = f" and {len(known) - MOST_IDS} more" if len(known) > MOST_IDS else ""
    return ", ".join(known[:MOST_IDS]) + more


def update(store: Store, scope: Scope, record_id: str, content: str, settings: ReceiveSettings) -> UpdateReceipt:
    """Give a record another text, in a run of its own: a new record with its sources takes its place."""
    record = get(store, scope, record_id)
    content, masked = screen_value(read_text(content, "the text").strip(), settings)
    _require_editable(record, content)
    if content == record.content:
        return UpdateReceipt(record=record, masked=masked)
    run_id = make_id("update", record.record_id, content, datetime.now(UTC).isoformat())
    edited = _as_edited(merged([record], content), make_id("edit", run_id))
    (replaced,) = as_merged([record], edited)
    decision = decided(run_id, [record], "MERGE", "edited", edited.record_id)
    changes = Changes(records=[edited, replaced], decisions=[decision])
    stale = _commit(store, scope, changes, changes.records, run_id, "a record that it covers was edited")
    return UpdateReceipt(record=edited, run_id=run_id, masked=masked, stale_syntheses=stale)


def undo(store: Store, scope: Scope, run_id: str, waiting: Sequence[Decision] = ()) -> UndoReceipt:
    """Undo what a run's decisions changed; undone again, an undo that was cut off does the rest."""
    check_name("run_id", run_id, "name a run")
    trail = store.decisions(scope)
    mine = [decision for decision in trail if decision.run_id == run_id and decision.action != "KEEP_BOTH"]
    if not mine:
        if any(decision.run_id == run_id for decision in trail):
            raise InvalidInput(f"run {run_id!r} merged, superseded and linked nothing: there is nothing to undo")
        listed = "`engram show --user USER --kind decisions` names the runs that did"
        raise InvalidInput(f"run {run_id!r} decided on nothing here", command=listed)
    in_force = [decision for decision in mine if decision.undone_at is None]
    if not in_force:
        return UndoReceipt(run_id=run_id, already_undone=True)
    index = store.index(scope)
    _require_last(run_id, in_force, trail, waiting)
    restored = list(_restored(in_force, index.records))
    made = (index.records.get(decision.result_id or "") for decision in in_force if decision.action == "MERGE")
    archived = [record.model_copy(update={"status": "archived"}) for record in made if record]
    records = [*restored, *archived]
    now = datetime.now(UTC)
    marked = [decision.model_copy(update={"undone_at": now}) for decision in in_force]
    written = [*records, *_unlinked(in_force, trail, index.records, records)]
    changes, why = Changes(records=written, decisions=marked), "a decision on what it covers was undone"
    stale = _commit(store, scope, changes, records, run_id, why)
    return UndoReceipt(
        run_id=run_id, decisions=len(marked), restored=len(restored), archived=len(archived), stale_syntheses=stale
    )


def history(store: Store, scope: Scope, record_id: str) -> RecordHistory:
    """Return the lineage of a record in order of time, and the decisions on it and between its members."""
    record_id = get(store, scope, record_id).record_id
    records = {record.record_id: record for record in store.index(scope).records.items}
    before, after = _links(records.values())
    lineage = {*reached([record_id], lambda key: before[key]), *reached([record_id], lambda key: after[key])}
    named = [(decision, {*decision.pair, decision.result_id}) for decision in store.decisions(scope)]
    return RecordHistory(
        records=sorted((records[member] for member in lineage), key=RECORDS.sort_key),
        decisions=[decision for decision, ids in named if record_id in ids or len(lineage & ids) > 1],
    )


def _require_editable(record: Record, content: str) -> None:
    if not content:
        raise InvalidInput(
            "a record needs a text, or is forgotten", command="`engram forget --record RECORD_ID --user USER`"
        )
    check_size(content, ())
    if record.is_chunk:
        raise InvalidInput(f"record {record.record_id!r} is a passage of a message, word for word: it cannot be edited")
    if record.status != "active":
        instead = f": {record.superseded_by!r} took its place" if record.superseded_by else ""
        raise InvalidInput(f"record {record.record_id!r} is {record.status}, and only active ones are edited{instead}")


def _as_edited(made: Record, record_id: str) -> Record:
    """Return a record under another id, without the dimensions that its text does not say."""
    said = made.content.casefold()
    silent: dict[str, object] = {name: "" for name in DIMENSIONS if str(getattr(made, name)).casefold() not in said}
    keywords = [keyword for keyword in made.keywords if keyword.casefold() in said]
    if made.time_text.casefold() not in said:
        silent |= {"time_text": "", "event_start": None, "event_end": None}
    return made.model_copy(update={**silent, "record_id": record_id, "keywords": keywords})


def _commit(store: Store, scope: Scope, changes: Changes, changed: Sequence[Record], run_id: str, why: str) -> int:
    """Commit records and decisions, after the syntheses that tell of some; return how many are stale, and pending.

    Any of it can be repeated. Were records written first, a repeated call would find them changed already, and leave
    the syntheses as they are.
    """
    index = store.index(scope)
    stale = [found for found in changed_syntheses(index, changed) if found.status == "stale"]
    covered = ([*filter(None, map(index.records.get, synthesis.covered_record_ids))] for synthesis in stale)
    tasks = pending_tasks_for(run_id, "synthesize", [(cited_turns(index, records), why) for records in covered])
    if stale:
        store.commit(scope, Changes(syntheses=stale, pending_tasks=tasks))
    store.commit(scope, changes)
    return len(stale)


def _links(records: Iterable[Record]) -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
    """Return, for each record, those it derives from and those that took its place."""
    before: defaultdict[str, set[str]] = defaultdict(set)
    after: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        links = [(source, record.record_id) for source in record.derived_from]
        links += [(record.record_id, record.superseded_by)] if record.superseded_by else []
        for older, newer in links:
            before[newer].add(older)
            after[older].add(newer)
    return before, after


def _restored(decisions: Sequence[Decision], index: RecordIndex) -> Iterable[Record]:
    """Yield the records that the decisions closed, active again."""
    results = {decision.result_id for decision in decisions}
    for record_id in dict.fromkeys(member for decision in decisions for member in decision.pair):
        record = index.get(record_id)
        if record and record.status in ("merged", "superseded") and record.superseded_by in results:
            yield as_active(record)


def _unlinked(
    in_force: Sequence[Decision], trail: Sequence[Decision], index: RecordIndex, written: Sequence[Record]
) -> Iterable[Record]:
    """Yield the records that these decisions alone link as conflicts, without those links, as they are written else."""
    rest = conflicts_among(decision for decision in trail if decision not in in_force)
    known = {record.record_id: record for record in written}
    for record_id, others in conflicts_among(in_force).items():
        record = known.get(record_id) or index.get(record_id)
        if record:
            yield without_conflicts(record, {*others} - {*rest.get(record_id, [])})


def _require_last(
    run_id: str, in_force: Sequence[Decision], trail: Sequence[Decision], waiting: Sequence[Decision]
) -> None:
    """Refuse where a later decision rests on a result of these, or one that waits for a person would."""
    refused = f"run {run_id!r} cannot be undone yet"
    for later in trail:
        if later.run_id != run_id and not later.undone_at and _builds_on(in_force, later):
            raise InvalidInput(f"{refused}: run {later.run_id!r} builds on it, undo that first")
    for later in waiting:
        if _builds_on(in_force, later):
            raise InvalidInput(
                f"{refused}: run {later.run_id!r} waits for approval to change what it made; decide on that first",
                command=f"engram approve {later.run_id} --user USER [--reject]",
            )


def _builds_on(in_force: Sequence[Decision], later: Decision) -> bool:
    """Return whether a decision changes a result of these, or rests on what one of them merged or linked."""
    merges = {decision.result_id for decision in in_force if decision.action == "MERGE"}
    results = {decision.result_id for decision in in_force}
    match later.action:
        case "KEEP_BOTH":
            return False
        case "CONFLICT":
            return not merges.isdisjoint(later.pair)
        case "SUPERSEDE":
            return not merges.isdisjoint(later.pair) or not results.isdisjoint({*later.pair} - {later.result_id})
    return not {*results, *conflicts_among(in_force)}.isdisjoint(later.pair)
