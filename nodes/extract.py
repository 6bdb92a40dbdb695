"""Extract records from the run's turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_engram.extraction.extractor import Extractor, batch_events, has_chunks
from langgraph_engram.extraction.lasting import mark_lasting
from langgraph_engram.extraction.records import chunk_records, join_repeats, join_stored, without_known_kinds
from langgraph_engram.pending import pending_tasks_for, stored_turns
from langgraph_engram.segmentation.segmenter import Segmenter
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import BOUNDARIES, EVENTS, RECORDS, Kind, ScopeIndex


@dataclass(frozen=True)
class Extract:
    """Extract records. Reads `turns`; sets `records`, `prompts`."""

    store: Store
    extractor: Extractor
    settings: ExtractSettings
    segmenter: Segmenter
    """What says which turns are read beside an event, and whether it is waited for."""

    def __call__(self, state: WriteState) -> WriteState:
        """Return this run's records, each with its sources among the core turns it was extracted from."""
        request, reads = state["request"], self.segmenter.reads
        index = self.store.index(request.scope)
        known = [*filter(None, (index.events.get(event.event_id) for event in state["events"]))]
        waited = stored_turns(index, (turn_id for event in known if not reads(event) for turn_id in event.turn_ids))
        standing = (turn for turn in waited if turn.withdrawn is None and turn not in state["turns"])
        turns = [*state["turns"], *standing]
        batches = batch_events(index, [*filter(reads, state["events"])], turns, self.settings, self.segmenter)
        extracted, usage = self.extractor.extract(request.scope.key, batches)
        event_of = {turn_id: event.event_id for event in state["events"] for turn_id in event.turn_ids}
        long_turns = [turn for turn in turns if has_chunks(turn, self.settings)]
        passages = chunk_records(request.scope.key, long_turns, event_of)
        records = join_repeats([*passages, *(record for found in extracted for record in found.records)])
        self._encode(index, ((EVENTS, state["events"]), (BOUNDARIES, state["boundaries"]), (RECORDS, records)))
        records = mark_lasting(records, index, turns, request.user_id, self.store.encoder)
        held_before = {turn_id for event in known for turn_id in event.turn_ids}
        if asked_before := held_before.intersection(turn.turn_id for turn in turns):
            records = without_known_kinds(records, asked_before, index)
        failed = [(found.turns, found.failure) for found in extracted if found.failure]
        return {
            "records": join_stored(records, index),
            "prompts": [batch.prompt for batch in batches],
            "failures": pending_tasks_for(state["run_id"], "extract", failed),
            "usage": [usage],
        }

    def _encode(self, index: ScopeIndex, found: Sequence[tuple[Kind[Any], Sequence[Any]]]) -> None:
        """Encode all that is new in one call, for the encoder's cache: this step, the filter and the commit need it."""
        texts = [
            text
            for kind, items in found
            for item in items
            if item != index.of_kind(kind).get(kind.id_of(item))
            for text in kind.texts_of(item)
        ]
        if texts:
            self.store.encoder.encode(texts)
