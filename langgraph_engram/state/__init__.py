"""Define what travels along the edges of the two graphs: `requests` into both, `writing` and `reading` along each.

Only pydantic models named here, strings and numbers travel: no vector, no question, no history. What a checkpoint
reloads is exactly what was saved.
"""

from langgraph_engram.state.reading import BatchSelection, ReadInput, ReadState, SelectInput
from langgraph_engram.state.requests import (
    MOST_NAME_CHARACTERS,
    Message,
    Moment,
    RecallRequest,
    RememberRequest,
    SpeakerName,
    plain_name,
)
from langgraph_engram.state.writing import FilterCounts, Pair, Proposal, WriteInput, WriteState

__all__ = [
    "MOST_NAME_CHARACTERS",
    "BatchSelection",
    "FilterCounts",
    "Message",
    "Moment",
    "Pair",
    "Proposal",
    "ReadInput",
    "ReadState",
    "RecallRequest",
    "RememberRequest",
    "SelectInput",
    "SpeakerName",
    "WriteInput",
    "WriteState",
    "plain_name",
]
