"""Fixtures that make turns, records, evidence and intents."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from langgraph_engram.schema import Evidence, Record, Turn
from tests.conftest import NOON, make_record, make_turn


@pytest.fixture
def turns() -> Callable[..., tuple[Turn, ...]]:
    """Make turns of "Name: text" lines, a minute apart from noon on Monday, 8 May 2023."""

    def make(*lines: str) -> tuple[Turn, ...]:
        said = [line.split(": ", 1) for line in lines]
        return tuple(make_turn(seq, text, speaker=speaker) for seq, (speaker, text) in enumerate(said))

    return make


@pytest.fixture
def record() -> Callable[..., Record]:
    """Make a record of what Ana said, so many days after noon on 8 May 2023."""

    def make(content: str, day: int = 0, **fields: object) -> Record:
        known = {"record_id": f"{content}-{day}", "mentioned_at": NOON + timedelta(days=day)}
        return make_record(day, content, **{**known, **fields})

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
def heard(turns: Callable[..., tuple[Turn, ...]]) -> Callable[..., tuple[Evidence, ...]]:
    """Make a passage of each "Name: text" turn, best first, the turns in one session."""

    def make(*lines: str) -> tuple[Evidence, ...]:
        return tuple(
            Evidence(evidence_id=turn.turn_id, text=f"{turn.speaker}: {turn.text}", turns=[turn], score=1 / rank)
            for rank, turn in enumerate(turns(*lines), start=1)
        )

    return make
