"""Draw records from the run's turns, and name its events by what was noted of them (DESIGN, step 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.extraction.batching import batch_events
from langgraph_engram.extraction.drafting import Candidates, Extractor
from langgraph_engram.extraction.records import RecordBuilder, beside_stored, join_repeats
from langgraph_engram.pending import pending_task, turns_to_extract, without_doubles
from langgraph_engram.schema import PendingTask
from langgraph_engram.segmentation.titles import boundaries_to_name, named_boundaries, named_events
from langgraph_engram.settings import ExtractSettings, SegmentSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store


@dataclass(frozen=True)
class Extract:
    """Draw records. Reads `request`, `turns`; sets `records`, adds to `failures`, names `events` and `boundaries`."""

    store: Store
    drafter: Extractor
    settings: ExtractSettings
    segment: SegmentSettings
    """How events are cut: what is read beside them, and how long their names may be."""

    def __call__(self, state: WriteState) -> WriteState:
        """Return this run's records, each with its sources among the core turns it was drawn from."""
        scope = state["request"].scope
        index = self.store.index(scope)
        packs = batch_events(index, state["events"], turns_to_extract(state), self.settings, self.segment.read_beside)
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


def _failures(run_id: str, found: Sequence[Candidates]) -> list[PendingTask]:
    failed = [pending_task(run_id, one.pack.turns, "extract", one.failure) for one in found if one.failure]
    return list({failure.pending_id: failure for failure in failed}.values())
