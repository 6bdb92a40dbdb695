"""Measure how the time and the memory of a search grow with what is remembered (`engram bench speed`).

The memories are made by templates and stored as the write graph would store them, without being extracted, so that
large scopes are filled in seconds. Scopes of several sizes are measured in turns: load of the machine meets all alike.
"""

import gc
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from engram_lab.harness import MEDIAN, NEARLY_ALL, Figures, MemoryOpener, Progress, percentile
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Event, Record, Scope, Synthesis, Turn, make_id
from langgraph_engram.stores.base import Changes

TURNS_OF_SESSION = 20
TURNS_OF_EVENT = 5
RECORDS_OF_TURN = 2
RECORDS_OF_EVENT = TURNS_OF_EVENT * RECORDS_OF_TURN
RECORDS_OF_BLOCK = 100 * TURNS_OF_SESSION * RECORDS_OF_TURN
RECORDS_OF_SYNTHESIS = 50
SMALLER = 10
"""How many times smaller the other scopes are that each scope is compared with."""
MAX_SEARCHES = 60
"""Searches of each scope that are measured, each beside one after a write."""
WARM_SEARCHES = 3
STEPS = ("read_rows", "first_search", "search", "write", "after_write")
"""What is measured: the first search of all, that of a store opened again, and those of a store that is in use."""
START = datetime(2020, 1, 6, 9, tzinfo=UTC)
SPEAKERS = ("Ana", "Ben")
CITIES = ("Lisbon", "Oslo", "Boston", "Kyoto", "Lima", "Dublin", "Quito", "Perth", "Turin", "Accra", "Denver", "Seoul")
VERBS = ("bought", "repaired", "sold", "lost", "painted", "borrowed", "found", "described", "ordered", "visited")
FEELINGS = ("glad", "worried", "proud", "tired", "surprised", "relieved")
SYLLABLES = ("ba", "den", "fi", "gor", "ha", "kel", "lu", "mar", "ni", "pol", "ra", "sten", "ti", "vor", "wa", "zu")


@dataclass
class Clock:
    """The seconds that calls took, by the process and by the wall."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def measure(self, call: Callable[[], object]) -> None:
        """Call, and add what it took."""
        wall, cpu = perf_counter(), process_time()
        call()
        self.cpu.append(process_time() - cpu)
        self.wall.append(perf_counter() - wall)

    def figures(self) -> Figures:
        """Return milliseconds: the median and the 95th percentile of both."""
        return {
            f"{name}_{label}_ms": round(1000 * (percentile(seconds, rank) or 0.0), 3)
            for name, seconds in (("cpu", self.cpu), ("wall", self.wall))
            for label, rank in (("p50", MEDIAN), ("p95", NEARLY_ALL))
        }


@dataclass(frozen=True)
class Writer:
    """Make texts from templates: words of a vocabulary of 4,096, the frequent ones first, as in a language."""

    draw: random.Random

    def sentence(self) -> str:
        """Return what a person says of themselves."""
        verb, city, feeling = (self.draw.choice(words) for words in (VERBS, CITIES, FEELINGS))
        return (
            f"I {verb} the {self._word()} {self._word()} in {city} with a {self._word()}, "
            f"and I was {feeling} about the {self._word()}."
        )

    def question(self) -> str:
        """Return what may be asked about one of them."""
        name, city, word = self.draw.choice(SPEAKERS), self.draw.choice(CITIES), self._word()
        return self.draw.choice(
            [
                f"What did {name} say about the {word} {self._word()}?",
                f"When was {name} in {city} with the {word}?",
                f"Who {self.draw.choice(VERBS)} a {word} {self._word()} in {city}?",
            ]
        )

    def _word(self) -> str:
        number = int(4096 ** self.draw.random())
        return "".join(SYLLABLES[number // 16**place % 16] for place in range(3))


def run_speed(open_memory: MemoryOpener, *, records: int, progress: Progress = None) -> Figures:
    """Measure searches in a scope of `records` records, and in one ten times smaller.

    Returns:
        Figures as plain JSON, by the records of a scope: milliseconds of CPU and wall of each step, and the megabytes
        that a scope takes.
    """
    sizes = sorted({max(RECORDS_OF_TURN, records // SMALLER), records})
    scopes = {size: Scope(user_id=f"{size}-0") for size in sizes}
    clocks = {(size, step): Clock() for size in sizes for step in STEPS}
    megabytes: dict[int, float] = {}
    writer = Writer(random.Random(0))
    with TemporaryDirectory(prefix="engram-speed-") as folder:
        with open_memory(folder) as memory:
            for size, scope in scopes.items():
                if progress:
                    progress(f"filling {size:,} records", 0, 1)
                fill(memory, scope, size, writer)
                clocks[size, "read_rows"].measure(_search(memory, scope, writer))
        with open_memory(folder) as memory:
            for size, scope in scopes.items():
                before = resident_megabytes()
                clocks[size, "first_search"].measure(_search(memory, scope, writer))
                gc.collect()
                megabytes[size] = round(resident_megabytes() - before, 1)
                for _ in range(WARM_SEARCHES):
                    _search(memory, scope, writer)()
            for step in range(MAX_SEARCHES):
                if progress:
                    progress("searching", step, MAX_SEARCHES)
                for size, scope in scopes.items():
                    clocks[size, "search"].measure(_search(memory, scope, writer))
                    clocks[size, "write"].measure(_write(memory, scope, writer, step))
                    clocks[size, "after_write"].measure(_search(memory, scope, writer))
    figures: Figures = {"searches": MAX_SEARCHES, "encoder": memory.store.encoder.name}
    for size in sizes:
        steps = {step: clock.figures() for (of_size, step), clock in clocks.items() if of_size == size}
        figures[f"{size}_records"] = {**steps, "memory_mb": megabytes[size]}
    return figures


def fill(memory: Memory, scope: Scope, records: int, writer: Writer) -> None:
    """Store conversations that hold so many records, a hundred sessions at once: turns, events, records, syntheses."""
    for start in range(0, records, RECORDS_OF_BLOCK):
        events, turns, held = [], [], []
        for first in range(start, min(records, start + RECORDS_OF_BLOCK), RECORDS_OF_EVENT):
            event, its_turns, its_records = _event(scope, first, min(RECORDS_OF_EVENT, records - first), writer)
            events.append(event)
            turns += its_turns
            held += its_records
        covered = [held[first : first + RECORDS_OF_SYNTHESIS] for first in range(0, len(held), RECORDS_OF_SYNTHESIS)]
        changes = Changes(turns=turns, events=events, records=held, syntheses=[_synthesis(some) for some in covered])
        memory.store.commit(scope, changes)


def resident_megabytes() -> float:
    """Return the memory that this process takes now; 0 where the system has no /proc."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if status.exists() else 0.0


def _search(memory: Memory, scope: Scope, writer: Writer) -> Callable[[], object]:
    query = writer.question()
    return lambda: memory.search(query, user_id=scope.user_id)


def _write(memory: Memory, scope: Scope, writer: Writer, step: int) -> Callable[[], object]:
    message = {"speaker": SPEAKERS[0], "text": writer.sentence(), "said_at": START + timedelta(days=4000, hours=step)}
    return lambda: memory.remember([message], user_id=scope.user_id, session_id="newest")


def _event(scope: Scope, first: int, size: int, writer: Writer) -> tuple[Event, list[Turn], list[Record]]:
    """Make up an event: its turns, of two sentences each, and so many records, whose numbers begin with `first`."""
    event_id, turns, records = make_id("event", scope.key, first), [], []
    for number in range(first, first + size, RECORDS_OF_TURN):
        sentences = [writer.sentence() for _ in range(min(RECORDS_OF_TURN, first + size - number))]
        turn = _turn(scope, number // RECORDS_OF_TURN, " ".join(sentences))
        turns.append(turn)
        records += [_record(turn, event_id, part, sentence) for part, sentence in enumerate(sentences)]
    event = Event(
        event_id=event_id,
        session_id=turns[0].session_id,
        seq=turns[0].seq // TURNS_OF_EVENT,
        kind="event",
        turn_ids=[turn.turn_id for turn in turns],
        started_at=turns[0].said_at,
        ended_at=turns[-1].said_at,
        summary=" ".join(turns[0].text.split()[2:6]),
        status="closed",
    )
    return event, turns, records


def _turn(scope: Scope, number: int, text: str) -> Turn:
    session, seq = divmod(number, TURNS_OF_SESSION)
    return Turn(
        turn_id=make_id(scope.key, number),
        session_id=str(session),
        seq=seq,
        role="user",
        speaker=SPEAKERS[seq % 2],
        text=text,
        said_at=START + timedelta(days=session, minutes=seq),
    )


def _record(turn: Turn, event_id: str, part: int, sentence: str) -> Record:
    return Record(
        record_id=make_id("record", turn.turn_id, part),
        memory_type="episodic",
        content=f"{turn.speaker}: {sentence}",
        event_start=turn.said_at,
        event_end=turn.said_at,
        mentioned_at=turn.said_at,
        keywords=sentence.split()[3:5],
        speaker=turn.speaker,
        session_id=turn.session_id,
        event_id=event_id,
        seq=turn.seq,
        part=part,
        source_turn_ids=[turn.turn_id],
    )


def _synthesis(records: Sequence[Record]) -> Synthesis:
    return Synthesis(
        synthesis_id=make_id("synthesis", records[0].record_id),
        text=" ".join(record.content for record in records[:3]),
        window_start=records[0].mentioned_at,
        window_end=records[-1].mentioned_at,
        covered_record_ids=[record.record_id for record in records],
    )
