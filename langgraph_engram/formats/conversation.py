"""Say what a file of conversations becomes: sessions of messages. This module does not know any file format."""

from dataclasses import dataclass

from langgraph_engram.state import Message


@dataclass(frozen=True)
class Session:
    """One sitting of a conversation: its messages, oldest first."""

    session_id: str | None
    """The session's id in its source; absent for an id of the memory's own making."""
    messages: list[Message]
