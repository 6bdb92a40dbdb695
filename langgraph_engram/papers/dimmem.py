"""What DimMem (arXiv 2605.15759) alone needs: windows, records by dimensions, pairs one by one, routes one by one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from langgraph_engram.consolidation.pairing import ComparisonSet, NearDuplicates, PairFinder
from langgraph_engram.consolidation.resolution import NO_VERDICT, ClusterBatch, ClusterResolver, Resolution, clusters_of
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.extraction.extractor import View
from langgraph_engram.extraction.records import DIMENSIONS
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.papers.search import RecordRanker, quote_passage, text_scores
from langgraph_engram.prompts.decide_update import UpdateVerdict, UpdateVerdicts
from langgraph_engram.prompts.extract_records import ExtractLasting, ExtractRecords
from langgraph_engram.prompts.parse_intent import SYSTEM
from langgraph_engram.prompts.rendering import DATA_ONLY, plain
from langgraph_engram.prompts.write_answer import BRIEF, CITE, DATES, NEWEST, UNKNOWN, Wording
from langgraph_engram.retrieval.passages import Candidate, reply_position, turns_of
from langgraph_engram.retrieval.scoring import Scores, dimension_parts, weighted_mean
from langgraph_engram.schema import Action, Event, Evidence, Intent, Pair, Record, Turn
from langgraph_engram.segmentation.events import EventBuilder, SummaryLimits, TurnTopic
from langgraph_engram.segmentation.segmenter import Segmentation, Segmenter, SessionTurns
from langgraph_engram.stores.index import RECORDS, Matches, RecordIndex, ScopeIndex
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.words import words

INTENT_RULES = f"""{SYSTEM}
Word the anchor for retrieval: it keeps the time, place, quantity and order that the question names, and says \
"the user" for "I", "me" and "my". Give a time in dates counted from today, as "on", "before", "after" or "around" \
one, or "between" two; a year is between its first and its last day.
It needs the assistant where it goes back to an earlier conversation ("last time", "we talked about", "our previous \
chat"), or asks to be reminded of what was recommended, mentioned, said, told, provided or suggested. "Can you remind \
me which airline you suggested?" does; "How many countries have I visited this year?" does not."""
"""How a query is parsed (Figure 8)."""
PAIR_RULES = f"""You decide what becomes of two memories that look alike, the older one first.
MERGE: facts that add to each other, one event told twice, or traits and tastes that overlap; one sentence can hold \
every detail of both.
SUPERSEDE: facts, where the newer contradicts or corrects the older.
KEEP_BOTH: distinct events, above all at different times; traits that have nothing to do with each other; anything \
you are not sure of.
{DATA_ONLY}"""
"""What the three actions mean for facts, episodes and profiles (section 3.4)."""
REASONED = Wording(
    "First weigh the pieces in two or three sentences. Then write a last line that begins with "
    f'"Answer:" and holds the answer alone. On that line: {BRIEF} {CITE}\n{DATES} {NEWEST}',
    'Reason briefly, then give the line "Answer: ...".',
    f"Guess nothing that the pieces do not say. If they do not suffice, the last line is: Answer: {UNKNOWN}",
)
"""The fewest words after a short reasoning (appendix E)."""


def records_view(settings: DimMemSettings) -> View:
    """Ask for records without relations (section 3.2), of the dimensions that the settings leave (section 4.3)."""
    named = DIMENSIONS if settings.dimensions else ()
    dimensions = [name for name in named if settings.causal or name not in ("reason", "purpose")]
    question = ExtractLasting if settings.extractor == "selective" else ExtractRecords
    return View("dimensional", question, dimensions)


@dataclass(frozen=True)
class WindowSegmenter(Segmenter):
    """Cut turns into sliding windows."""

    settings: DimMemSettings

    @property
    def context_turns(self) -> int:  # type: ignore[override]  # a number of the settings
        """Return how many turns before a window are read with it."""
        return self.settings.overlap

    @property
    def waits(self) -> bool:  # type: ignore[override]  # a choice of the settings
        """Return whether a window is read when the next one begins."""
        return self.settings.waits

    def segment(self, scope_key: str, session: SessionTurns) -> Segmentation:
        """Return the windows of a session; nothing names them, and no boundary is kept."""
        topics = [TurnTopic() for _ in session.turns]
        return Segmentation(self.events(scope_key, session, topics, self.limits))

    def events(
        self, scope_key: str, session: SessionTurns, topics: Sequence[TurnTopic], limits: SummaryLimits
    ) -> list[Event]:
        """Return the windows of a session as if all of it had come in one call, with the topics of its turns."""
        exchanges = exchange_starts([*session.stored, *session.turns])
        spans = windows(len(exchanges), self.settings.window, self.settings.overlap)
        ends = [exchanges[end] - len(session.stored) for _, end in spans[:-1]]
        cuts = [end for end in ends if end >= 0]
        return session.events(EventBuilder(scope_key, limits, "window"), topics, cuts, self.overlapping_turns)

    def overlapping_turns(self, earlier: Sequence[Turn]) -> Sequence[Turn]:
        """Return the turns that a window shares with the one before it: read, but never a source."""
        starts = exchange_starts(earlier)[-self.settings.overlap :] if self.settings.overlap else []
        return earlier[starts[0] :] if starts else []


def windows(count: int, window: int, overlap: int) -> list[tuple[int, int]]:
    """Cut `count` turns into sliding windows of W turns that share O with the one before (section 3.2).

    The step is max(1, W - O); the last window ends at the last turn and may be short. Windows are pairs (start, end),
    the end not included.
    """
    step = max(1, window - overlap)
    starts = range(0, max(count - window, 0) + step, step) if count else ()
    return [(start, min(start + window, count)) for start in starts]


def exchange_starts(turns: Sequence[Turn]) -> list[int]:
    """Return the positions at which somebody speaks to an assistant, or to other people: what W and O count.

    DimMem's turn is an utterance with the assistant's reply (Eq. 3), so that a reply belongs to what it follows.
    """
    return [position for position, turn in enumerate(turns) if turn.role == "user"]


@dataclass(frozen=True)
class EveryPairFinder(PairFinder):
    """Pair all records of one type that share keywords and are close in meaning; none is ruled out (section 3.4)."""

    all_pairs: bool = False
    """Whether meaning alone decides (Table 5, the baseline)."""

    def narrowed(self, compared: ComparisonSet, index: ScopeIndex) -> ComparisonSet:
        """Return all active records, with all of their keywords."""
        del index
        return compared

    def alike(self, compared: ComparisonSet, position: int) -> tuple[NearDuplicates, int]:
        """Return the earlier records that pass both thresholds, and how many vectors were compared."""
        if self.all_pairs:
            near = np.flatnonzero(compared.comparable[:position])
        else:
            near = compared.with_shared_keywords(position, self.settings.jaccard)
        cosines = compared.cosines(position, near)
        passing = cosines >= self.settings.cosine
        return NearDuplicates(position, near[passing], cosines[passing]), len(near)

    def triage(
        self, found: Sequence[NearDuplicates], compared: ComparisonSet, index: ScopeIndex
    ) -> tuple[list[NearDuplicates], Counter[str]]:
        """Return all of them."""
        del compared, index
        return [*found], Counter()


class PairResolver(ClusterResolver):
    """Decide on each pair by a question of its own, of three actions (Eq. 9)."""

    rules = PAIR_RULES

    def batches(self, pairs: Sequence[Pair], own: Mapping[str, Record], index: ScopeIndex) -> list[ClusterBatch]:
        """Return each pair alone."""
        return [(pair,) for pair in clusters_of([(pair.older_id, pair.newer_id) for pair in pairs], own, index)]

    def resolve(self, answered: Sequence[tuple[ClusterBatch, UpdateVerdicts]]) -> list[Resolution]:
        """Return what becomes of each pair, oldest first; nothing of one that an earlier pair has left one record of.

        It is the same for every order of pairs.
        """
        resolutions: list[Resolution] = []
        gone: set[str] = set()
        for ((older, newer),), answer in sorted(answered, key=lambda pair: [*map(RECORDS.sort_key, pair[0][0])]):
            verdicts = (verdict for verdict in answer.verdicts if verdict.cluster == 1)
            verdict = next(verdicts, UpdateVerdict(action="KEEP_BOTH", reason=NO_VERDICT))
            if not gone.isdisjoint((older.record_id, newer.record_id)):
                resolutions.append(
                    Resolution((older, newer), "KEEP_BOTH", "something else takes the place of one of them")
                )
                continue
            action: Action = "SUPERSEDE" if verdict.action == "CONFLICT" else verdict.action
            leaving: dict[Action, set[str]] = {
                "MERGE": {older.record_id, newer.record_id},
                "SUPERSEDE": {older.record_id},
            }
            gone |= leaving.get(action, set())
            resolutions.append(Resolution((older, newer), action, verdict.reason, verdict.content.strip()))
        return resolutions


@dataclass(frozen=True)
class DimMemRanker(RecordRanker):
    """Rank records route after route, without repeated content, as DimMem's code does (section 3.3, Eq. 6-8)."""

    numbers: DimMemSettings

    def rank(self, matches: Matches, intent: Intent, query: Vectors) -> Iterator[Candidate]:
        """Yield the records that any route finds, each with the replies that the query asks for."""
        index = matches.index
        scores = text_scores(index, intent, query, self.routes)
        if "dimension" in self.routes:
            scores["dimension"] = constraint_scores(index.records, intent, self.numbers)
        wanted = self.numbers.assistant_replies
        wants_replies = wanted == "always" or (wanted == "asked_for" and intent.needs_assistant)
        for candidate in without_repeats(index, self.best_records(matches, scores)):
            yield with_assistant_replies(index, candidate) if wants_replies else candidate


def without_repeats(index: ScopeIndex, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield records without those that repeat another's content, whatever its case and spaces."""
    seen: set[str] = set()
    for candidate in candidates:
        content = " ".join(index.records.items[candidate.position].content.casefold().split())
        if content not in seen:
            seen.add(content)
            yield candidate


def with_assistant_replies(index: ScopeIndex, candidate: Candidate) -> Candidate:
    """Return a record with the assistant's reply to each turn that it cites (Eq. 8)."""
    cited = turns_of(index, candidate)
    replies = [reply for position in cited if (reply := reply_position(index, position)) >= 0]
    return candidate._replace(replies=tuple(reply for reply in dict.fromkeys(replies) if reply not in cited))


def constraint_scores(records: RecordIndex, intent: Intent, numbers: DimMemSettings) -> Scores:
    """Score n records by the constraints of a query, its keywords among them, in [0, 1] (Eq. 7)."""
    parts = dimension_parts(records, intent, unknown=0, mention_counts=numbers.mention_counts)
    if intent.keywords:
        phrase, token = _keyword_scores(records.items, intent.keywords)
        parts += [(numbers.phrase_weight, phrase), (numbers.token_weight, token)]
    return weighted_mean(parts, len(records))


def _keyword_scores(records: Sequence[Record], keywords: Sequence[str]) -> tuple[Scores, Scores]:
    """Return for each record the share of keywords found as phrases, and the share of their words found (Eq. 7).

    The location has a score of its own (Table 8).
    """
    phrases = [keyword.casefold() for keyword in keywords]
    tokens = {word for keyword in keywords for word in words(keyword)}
    texts = [
        " ".join([item.content, item.time_text, item.reason, item.purpose, *item.keywords]).casefold()
        for item in records
    ]
    phrase_shares = [sum(phrase in text for phrase in phrases) / len(phrases) for text in texts]
    token_shares = [len(tokens & set(words(text))) / len(tokens) if tokens else 0.0 for text in texts]
    return np.asarray(phrase_shares, dtype=np.float32), np.asarray(token_shares, dtype=np.float32)


def with_dimensions(evidence: Sequence[Evidence]) -> str:
    """Quote passages as they were found, each record with its dimensions behind it (appendix A.1)."""
    return "\n".join(
        quote_passage(number, passage) + (f" ({named})" if (named := _dimensions_of(passage.record)) else "")
        for number, passage in enumerate(evidence, start=1)
    )


def _dimensions_of(record: Record | None) -> str:
    """Name the dimensions of a record that are known: "type: episodic; time: 7 May 2023; location: Oslo"."""
    if record is None:
        return ""
    days = dict.fromkeys(format_day(moment) for moment in (record.event_start, record.event_end) if moment)
    named = {
        "type": record.memory_type or "",
        "time": " to ".join(days) or record.time_text,
        "location": record.location,
        "reason": record.reason,
        "purpose": record.purpose,
        "keywords": ", ".join(record.keywords),
    }
    return "; ".join(f"{name}: {plain(value)}" for name, value in named.items() if value)
