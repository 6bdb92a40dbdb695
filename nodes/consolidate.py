"""Decide what becomes of records that resemble one another, one decision a cluster (DimMem section 3.4).

MERGE makes a new record with the union of the sources; SUPERSEDE closes the validity of the older ones; KEEP_BOTH
leaves all. Nothing is deleted, and a decision that would lose a cited source is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from langgraph_engram.model import Model, entry_of
from langgraph_engram.nodes.clusters import clusters
from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdict
from langgraph_engram.schema import Action, Decision, Record, make_id
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.state import Pair, WriteState
from langgraph_engram.stores.store import Store

NO_ANSWER = "the question could not be answered, so nothing changes"


@dataclass(frozen=True)
class Outcome:
    """What one decision does."""

    decision: Decision
    made: list[Record] = field(default_factory=list)
    changed: list[Record] = field(default_factory=list)


@dataclass(frozen=True)
class Consolidate:
    """Decide on clusters. Reads `request`, `records`, `pairs`; sets `changed`, `decisions`, changes `records`."""

    store: Store
    model: Model
    settings: UpdateSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the run's records with what was made of them, and the older records whose status changes."""
        own = {record.record_id: record for record in state["records"]}
        groups = self._groups(state, own)
        if not groups:
            return {"changed": [], "decisions": []}
        asked = self.model.ask_all([DecideUpdate(tuple(group)) for group in groups])
        outcomes = [
            apply(
                state["run_id"],
                group,
                one.answer or UpdateVerdict(action="KEEP_BOTH", reason=NO_ANSWER),
                state["pairs"],
            )
            for group, one in zip(groups, asked, strict=True)
        ]
        changed = {record.record_id: record for outcome in outcomes for record in outcome.changed}
        made = [record for outcome in outcomes for record in outcome.made]
        return {
            "records": [*(changed.get(one, record) for one, record in own.items()), *made],
            "changed": [record for one, record in changed.items() if one not in own],
            "decisions": [outcome.decision for outcome in outcomes],
            "usage": [entry_of("consolidate", asked)],
        }

    def _groups(self, state: WriteState, own: Mapping[str, Record]) -> list[list[Record]]:
        shelf = self.store.index(state["request"].scope).records
        groups = [
            [record for one in members if (record := own.get(one) or shelf.get(one))]
            for members in clusters(state["pairs"])
        ]
        return [sorted(group, key=_age)[-self.settings.max_cluster :] for group in groups if len(group) > 1]


def apply(run_id: str, group: Sequence[Record], verdict: UpdateVerdict, pairs: Sequence[Pair]) -> Outcome:
    """Carry out a verdict on a cluster, oldest first.

    Returns:
        The audit entry, the record made, and the records whose status changes. A merge without words is kept apart.
    """
    if verdict.action == "MERGE" and verdict.content.strip():
        made = merged(group, verdict.content.strip())
        if conserves(group, made):
            return Outcome(
                _decision(run_id, group, "MERGE", verdict.reason, pairs, made.record_id),
                [made],
                _closed(group, made, "merged"),
            )
    if verdict.action == "SUPERSEDE":
        newest = group[-1]
        return Outcome(
            _decision(run_id, group, "SUPERSEDE", verdict.reason, pairs, newest.record_id),
            changed=_closed(group[:-1], newest, "superseded"),
        )
    return Outcome(_decision(run_id, group, "KEEP_BOTH", verdict.reason, pairs, None))


def merged(group: Sequence[Record], content: str) -> Record:
    """Make one record of a cluster: the union of sources and keywords, the widest span of time, the newest's rest."""
    newest = group[-1]
    ids = [record.record_id for record in group]
    return newest.model_copy(
        update={
            "record_id": make_id("merge", *sorted(ids)),
            "content": content,
            "derived_from": ids,
            "source_turn_ids": list(dict.fromkeys(one for record in group for one in record.source_turn_ids)),
            "keywords": list(dict.fromkeys(word for record in group for word in record.keywords)),
            "event_start": min((one.event_start for one in group if one.event_start), default=None),
            "event_end": max((one.event_end for one in group if one.event_end), default=None),
            "valid_from": min((one.valid_from for one in group if one.valid_from), default=None),
        }
    )


def conserves(group: Sequence[Record], made: Record) -> bool:
    """Say whether a merged record cites every turn that its cluster cites."""
    return {one for record in group for one in record.source_turn_ids} <= set(made.source_turn_ids)


def _closed(group: Sequence[Record], by: Record, status: str) -> list[Record]:
    update = {"status": status, "superseded_by": by.record_id, "valid_to": by.mentioned_at}
    return [record.model_copy(update=update) for record in group]


def _decision(
    run_id: str, group: Sequence[Record], action: Action, reason: str, pairs: Sequence[Pair], result_id: str | None
) -> Decision:
    ids = [record.record_id for record in group]
    inside = [pair for pair in pairs if pair.older_id in ids and pair.newer_id in ids]
    return Decision(
        decision_id=make_id("decision", *sorted(ids)),
        run_id=run_id,
        pair=ids,
        jaccard=min((pair.jaccard for pair in inside), default=0.0),
        cosine=min((pair.cosine for pair in inside), default=0.0),
        action=action,
        reason=reason,
        result_id=result_id,
        decided_at=datetime.now(UTC),
    )


def _age(record: Record) -> tuple[datetime, str, int, str]:
    return record.mentioned_at or datetime.min.replace(tzinfo=UTC), record.session_id, record.seq, record.record_id
