"""Write narratives across events (StructMem section 2.2), and tell which sentence of a note nobody said.

Words cannot be verified record by record, for what is summed up has its own; numbers can ("raising over $10,000").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.extraction.evidence import missing_number
from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Record, Synthesis, make_id
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import SynthesisJob, by_mention
from langgraph_engram.temporal.datetimes import epoch_seconds, format_day
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.words import NUMBER, numbers_in, spelled_numbers, words


@dataclass(frozen=True)
class History:
    """What a narrative goes back to (StructMem section 2.2)."""

    seeds: int = 0
    """K, seed records; 0 for the buffer alone."""
    encoder: Encoder | None = None
    """What encodes the texts of a buffer as one query; None for the mean of their vectors."""


NO_HISTORY = History()


def history_of(index: ScopeIndex, buffer: Sequence[Record], history: History) -> list[Record]:
    """Return the earlier records that a buffer is summarized beside, in order of time (StructMem Eq. 4).

    They are the utterances of the seeds: the K records nearest to the buffer among those of known time before it.
    """
    records = index.records
    first = min((record.mentioned_at for record in buffer if record.mentioned_at), default=None)
    positions = [records.position(record.record_id) for record in buffer if record.record_id in records]
    if first is None or not positions:
        return []
    query = records.vectors[positions].mean(axis=0)
    if history.encoder:
        (query,) = history.encoder.encode([" ".join(record.content for record in buffer)])
    scores = records.cosine(query)
    earlier = np.flatnonzero((records.mentioned_at < epoch_seconds(first, 0.0)) & records.active & ~records.is_chunk)
    nearest = earlier[np.argsort(-scores[earlier], kind="stable")][: history.seeds]
    groups = records.codes("group_utterance", lambda record: repr((record.session_id, record.seq)))
    beside = earlier[np.isin(groups[earlier], groups[nearest])]
    return sorted((records.items[position] for position in beside), key=by_mention)


EMPTY = "the model wrote an empty text"
ENUMERATION = re.compile(r"^\s*(?:[-*#]+\s*)?\d+[.)]\s+", re.MULTILINE)
"""The number of an item of a list; it says nothing."""


@dataclass(frozen=True)
class WrittenSyntheses:
    """What came of the jobs of a run."""

    done: list[tuple[SynthesisJob, Synthesis]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why each job failed, in the order of the jobs; empty for one that is done."""
    usage: list[UsageEntry] = field(default_factory=list)


@dataclass(frozen=True)
class SynthesisWriter:
    """Write syntheses."""

    model: Model
    settings: SynthesisSettings
    history: History = NO_HISTORY

    def write(self, index: ScopeIndex, scope_key: str, jobs: Sequence[SynthesisJob]) -> WrittenSyntheses:
        """Return a synthesis for each job that could be written; quotes where rules write."""
        if not jobs:
            return WrittenSyntheses()
        questions = [
            WriteSynthesis(job.records, tuple(history_of(index, job.records, self.history)), self.settings.max_words)
            for job in jobs
        ]
        results = self.model.ask_all(questions)
        written = WrittenSyntheses(usage=[entry_of("synthesize", results)])
        for job, question, result in zip(jobs, questions, results, strict=True):
            if text := shorten(result.answer or "", 2 * self.settings.max_words):
                narrative = _synthesis(scope_key, job, question.seeds, text, quoted=result.by_rule)
                written.done.append((job, narrative))
            written.reasons.append("" if text else result.failure.reason if result.failure else EMPTY)
        return written


def _synthesis(scope_key: str, job: SynthesisJob, seeds: Sequence[Record], text: str, *, quoted: bool) -> Synthesis:
    times = [record.mentioned_at for record in job.records if record.mentioned_at]
    ids = [record.record_id for record in job.records]
    stale = job.synthesis
    return Synthesis(
        synthesis_id=stale.synthesis_id if stale else make_id(scope_key, "synthesis", *ids),
        text=text,
        quoted=quoted,
        window_start=min(times, default=None),
        window_end=max(times, default=None),
        covered_record_ids=list(dict.fromkeys([*(stale.covered_record_ids if stale else []), *ids])),
        seed_event_ids=list(dict.fromkeys(record.event_id for record in seeds)),
    )


def shorten(text: str, most: int) -> str:
    """Return a text without its end where it runs on: whole sentences of at most `most` words."""
    if len(text.split()) <= most:
        return text.strip()
    kept: list[str] = []
    for sentence in split_sentences(text):
        if len(" ".join([*kept, sentence]).split()) > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def holds_numbers(text: str, records: Sequence[Record]) -> bool:
    """Return whether records say all numbers of a text: in words or digits, or as a day of a mention or an event."""
    numbers = NUMBER.findall(ENUMERATION.sub("", text))
    known = " ".join(part for record in records if numbers for part in _texts(record))
    return not missing_number(numbers, {*numbers_in(known), *spelled_numbers(words(known))})


def _texts(record: Record) -> list[str]:
    times = (record.mentioned_at, record.event_start, record.event_end)
    days = [f"{format_day(time)} {time:%Y %m %d}" for time in times if time]
    return [record.content, record.time_text, record.reason, record.purpose, *days]
