"""Draw records from the run's turns, and name its events by what was noted of them (DESIGN, step 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.nodes.extracting.build_records import RecordBuilder, join_repeats, with_sources
from langgraph_engram.nodes.extracting.draft_records import Drafter, Drafts
from langgraph_engram.nodes.extracting.packs import pack_events
from langgraph_engram.nodes.keeping.pending_steps import turns_to_draw, without_doubles
from langgraph_engram.nodes.keeping.receive import pend
from langgraph_engram.nodes.segmenting.name_events import boundaries_to_name, named_boundaries, named_events
from langgraph_engram.schema import Pending, Record, make_id
from langgraph_engram.settings import ExtractSettings, SegmentSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Store


@dataclass(frozen=True)
class Extract:
    """Draw records. Reads `request`, `turns`; sets `records`, adds to `failures`, names `events` and `boundaries`."""

    store: Store
    drafter: Drafter
    settings: ExtractSettings
    segment: SegmentSettings
    """How events are cut: what is read beside them, and how long their names may be."""

    def __call__(self, state: WriteState) -> WriteState:
        """Return this run's records, each with its sources among the core turns it was drawn from."""
        scope = state["request"].scope
        index = self.store.index(scope)
        packs = pack_events(index, state["events"], turns_to_draw(state), self.settings, self.segment.read_beside)
        found, spent = self.drafter.draw([pack for pack in packs if pack.says_something])
        builder = RecordBuilder(scope.key, self.settings.max_records_per_call, self.settings.causal)
        records = [
            record for one in found for record in builder.build(one.pack.sentences, one.pack.event_of, one.drafts)
        ]
        notes = {event_id: note for one in found for event_id, note in one.notes.items()}
        return {
            "events": named_events(state["events"], notes, index, self.segment),
            "boundaries": named_boundaries(boundaries_to_name(state["boundaries"], notes, index), notes),
            "records": beside_stored(without_doubles(state, join_repeats(records), index), index),
            "failures": _failures(state["run_id"], found),
            "usage": [spent],
        }


def beside_stored(records: Sequence[Record], index: ScopeIndex) -> list[Record]:
    """Join records with what is stored under their ids, where it still stands.

    What was kept out is judged again with all its sources; what was merged or superseded and is said again is a record
    of its own, as new as its words.
    """
    return [_beside(record, index.records.get(record.record_id)) for record in records]


def _beside(record: Record, stored: Record | None) -> Record:
    match stored:
        case None:
            return record
        case Record(status="active"):
            return with_sources(stored, record)
        case Record(status="quarantined"):
            sources = with_sources(stored, record).source_turn_ids
            return record.model_copy(update={"source_turn_ids": sources})
    if set(record.source_turn_ids) <= set(stored.source_turn_ids):
        return stored
    return record.model_copy(update={"record_id": make_id(record.record_id, *record.source_turn_ids)})


def _failures(run_id: str, found: Sequence[Drafts]) -> list[Pending]:
    failed = [pend(run_id, one.pack.turns, "extract", one.failure) for one in found if one.failure]
    return list({failure.pending_id: failure for failure in failed}.values())
