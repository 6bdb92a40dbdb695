"""Draw records from the run's turns (DESIGN, step 3): one answer for several short events, or one an event."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.model import Asked, Model, entry_of
from langgraph_engram.nodes.build_records import RecordBuilder, Sourced
from langgraph_engram.nodes.pending_steps import turns_to_draw, without_doubles
from langgraph_engram.nodes.receive import pend
from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.schema import Event, Pending, Record, RecordKind, Turn
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Store
from langgraph_engram.usage import count_tokens


@dataclass(frozen=True)
class Pack:
    """The turns that share one call, and those that are read beside them."""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...]
    event_of: dict[str, str]
    """The event of each turn, by turn id."""


@dataclass(frozen=True)
class Extract:
    """Draw records. Reads `request`, `turns`, `events`; sets `records`, adds to `failures`."""

    store: Store
    model: Model
    settings: ExtractSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return this run's records, each with its sources among the core turns it was drawn from."""
        request = state["request"]
        turns = turns_to_draw(state)
        index = self.store.index(request.scope)
        if self.settings.strategy == "none" or not turns:
            return {"records": []}
        packs = self._packs(index, state["events"], turns)
        builder = RecordBuilder(request.scope.key, self.settings.max_records_per_call)
        records, asked = self._draw(packs, builder)
        failures = [
            pend(state["run_id"], pack.turns, "extract", one.failure.reason)
            for pack, one in asked
            if one.failure is not None
        ]
        return {
            "records": without_doubles(state, list({record.record_id: record for record in records}.values()), index),
            "failures": _once(failures),
            "usage": [entry_of("extract", [one for _, one in asked])],
        }

    def _draw(
        self, packs: Sequence[Pack], builder: RecordBuilder
    ) -> tuple[list[Record], list[tuple[Pack, Asked[object]]]]:
        match self.settings.strategy:
            case "dual":
                facts, first = self._sentences(packs, ExtractFacts, "factual", builder)
                relations, second = self._sentences(packs, ExtractRelations, "relational", builder)
                return [*facts, *relations], [*first, *second]
            case "key_sentence":
                return self._sentences(packs, ExtractKeySentences, "key_sentence", builder)
        relations_too = self.settings.strategy == "dimensional_relational"
        asked = self.model.ask_all([ExtractRecords(pack.turns, pack.context, relations_too) for pack in packs])
        records = [
            record
            for pack, one in zip(packs, asked, strict=True)
            for record in builder.build(pack.turns, pack.event_of, _drafts(one.answer))
        ]
        return records, [(pack, _untyped(one)) for pack, one in zip(packs, asked, strict=True)]

    def _sentences(
        self,
        packs: Sequence[Pack],
        question: type[ExtractFacts] | type[ExtractRelations] | type[ExtractKeySentences],
        kind: RecordKind,
        builder: RecordBuilder,
    ) -> tuple[list[Record], list[tuple[Pack, Asked[object]]]]:
        asked: list[Asked[SourcedSentences]] = self.model.ask_all(
            [question(pack.turns, pack.context) for pack in packs]
        )
        records = [
            record
            for pack, one in zip(packs, asked, strict=True)
            for record in builder.build(pack.turns, pack.event_of, _sourced(kind, one.answer))
        ]
        return records, [(pack, _untyped(one)) for pack, one in zip(packs, asked, strict=True)]

    def _packs(self, index: ScopeIndex, events: Sequence[Event], turns: Sequence[Turn]) -> list[Pack]:
        new = {turn.turn_id: turn for turn in turns}
        cores = [(event, [new[one] for one in event.turn_ids if one in new]) for event in events]
        groups: list[list[tuple[Event, list[Turn]]]] = []
        held = 0
        for event, core in ((event, core) for event, core in cores if core):
            size = sum(count_tokens(turn.indexed_text) for turn in core)
            if not groups or not self.settings.shared_calls or held + size > self.settings.call_tokens:
                groups.append([])
                held = 0
            groups[-1].append((event, core))
            held += size
        return [self._pack(index, new, group) for group in groups]

    def _pack(self, index: ScopeIndex, new: dict[str, Turn], group: Sequence[tuple[Event, list[Turn]]]) -> Pack:
        context = (new.get(one) or index.turns.get(one) for one in group[0][0].context_turn_ids)
        return Pack(
            turns=tuple(turn for _, core in group for turn in core),
            context=tuple(turn for turn in context if turn),
            event_of={turn.turn_id: event.event_id for event, core in group for turn in core},
        )


def _drafts(answer: Extraction | None) -> list[tuple[RecordKind, Sourced]]:
    if answer is None:
        return []
    return [*(("dimensional", one) for one in answer.records), *(("relational", one) for one in answer.relations)]


def _sourced(kind: RecordKind, answer: SourcedSentences | None) -> list[tuple[RecordKind, Sourced]]:
    return [(kind, one) for one in answer.sentences] if answer else []


def _untyped(asked: Asked[Extraction] | Asked[SourcedSentences]) -> Asked[object]:
    return Asked(answer=asked.answer, usage=asked.usage, failure=asked.failure)


def _once(failures: Sequence[Pending]) -> list[Pending]:
    return list({failure.pending_id: failure for failure in failures}.values())
