"""Make turns, records and evidence."""

from datetime import timedelta

from langgraph_engram.schema import Evidence, Record, Turn
from tests.conftest import NOON, make_record, make_turn


def make_turns(*lines: str) -> tuple[Turn, ...]:
    """Make turns of "Name: text" lines, a minute apart from noon on Monday, 8 May 2023."""
    said = [line.split(": ", 1) for line in lines]
    return tuple(make_turn(seq, text, speaker=speaker) for seq, (speaker, text) in enumerate(said))


def dated(content: str, day: int = 0, **fields: object) -> Record:
    """Make a record of what Ana said, so many days after noon on 8 May 2023."""
    known = {"record_id": f"{content}-{day}", "mentioned_at": NOON + timedelta(days=day)}
    return make_record(day, content, **{**known, **fields})


def make_passages(*contents: str, **fields: object) -> tuple[Evidence, ...]:
    """Make passages of "Name: text" records, best first."""
    records = [dated(content, day, speaker=content.split(":")[0], **fields) for day, content in enumerate(contents)]
    return tuple(
        Evidence(evidence_id=record.record_id, text=record.content, record=record, score=1 / rank)
        for rank, record in enumerate(records, start=1)
    )


def heard(*lines: str) -> tuple[Evidence, ...]:
    """Make a passage of each "Name: text" turn, best first, the turns in one session."""
    return tuple(
        Evidence(evidence_id=turn.turn_id, text=f"{turn.speaker}: {turn.text}", turns=[turn], score=1 / rank)
        for rank, turn in enumerate(make_turns(*lines), start=1)
    )
