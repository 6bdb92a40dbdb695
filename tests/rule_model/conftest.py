"""Fixtures that make turns, records, evidence and intents."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from langgraph_engram.schema import Evidence, Intent, Record, Turn

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)


@pytest.fixture
def turns() -> Callable[..., tuple[Turn, ...]]:
    """Make turns of "Name: text" lines, a minute apart from noon on Monday, 8 May 2023."""

    def make(*lines: str) -> tuple[Turn, ...]:
        said = [line.split(": ", 1) for line in lines]
        return tuple(
            Turn(
                turn_id=f"t{seq}",
                session_id="s",
                seq=seq,
                role="user",
                speaker=speaker,
                text=text,
                said_at=NOON + timedelta(minutes=seq),
            )
            for seq, (speaker, text) in enumerate(said)
        )

    return make


@pytest.fixture
def record() -> Callable[..., Record]:
    """Make a record of what Ana said, so many days after noon on 8 May 2023."""

    def make(content: str, day: int = 0, **fields: object) -> Record:
        known = {"record_id": f"{content}-{day}", "session_id": "s", "event_id": "e", "seq": day}
        defaults = {"memory_type": "fact", "speaker": "Ana", "mentioned_at": NOON + timedelta(days=day)}
        return Record.model_validate(
            {**known, **defaults, "source_turn_ids": [f"t{day}"], "content": content, **fields}
        )

    return make


@pytest.fixture
def passages(record: Callable[..., Record]) -> Callable[..., tuple[Evidence, ...]]:
    """Make passages of "Name: text" records, best first."""

    def make(*contents: str, **fields: object) -> tuple[Evidence, ...]:
        records = [
            record(content, day, speaker=content.split(":")[0], **fields) for day, content in enumerate(contents)
        ]
        return tuple(
            Evidence(evidence_id=record.record_id, text=record.content, record=record, score=1 / rank)
            for rank, record in enumerate(records, start=1)
        )

    return make


@pytest.fixture
def intent() -> Callable[..., Intent]:
    """Make an intent whose anchor is its query."""

    def make(query: str, **fields: object) -> Intent:
        return Intent.model_validate({"query": query, "anchor": query, **fields})

    return make


@pytest.fixture
def heard(turns: Callable[..., tuple[Turn, ...]]) -> Callable[..., tuple[Evidence, ...]]:
    """Make a passage of each "Name: text" turn, best first, the turns in one session."""

    def make(*lines: str) -> tuple[Evidence, ...]:
        return tuple(
            Evidence(evidence_id=turn.turn_id, text=f"{turn.speaker}: {turn.text}", turns=[turn], score=1 / rank)
            for rank, turn in enumerate(turns(*lines), start=1)
        )

    return make
