"""Define what callers send to the graphs: JSON from outside becomes these, and nothing else gets in."""

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from langgraph_engram.moments import with_offset
from langgraph_engram.schema import Frozen, Role, Scope

Moment = Annotated[datetime, AfterValidator(with_offset)]
"""A moment as callers send it, with the offset of its clock from the door on."""
MOST_NAME_CHARACTERS = 100
"""Characters of a speaker's name that are kept; what is longer is no name."""
UNSEEN = re.compile(r"[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
"""Marks that turn or hide letters. Those that join them belong to names of some scripts, and stay."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def plain_name(name: str) -> str:
    """Give a speaker's name on one line: it stands before what was said, and must not look like another line.

    Control characters and white space become single blanks, marks that nobody sees are left out, and a name of more
    than `MOST_NAME_CHARACTERS` is cut.
    """
    words = CONTROL.sub(" ", UNSEEN.sub("", name)).split()
    return " ".join(words)[:MOST_NAME_CHARACTERS].rstrip()


SpeakerName = Annotated[str, AfterValidator(plain_name)]
"""A speaker's name as callers send it, on one line from the door on."""


class Message(Frozen):
    """One utterance as it came in, already in our words."""

    role: Role = "user"
    speaker: SpeakerName = ""
    text: str
    captions: list[str] = []
    said_at: Moment | None = None
    external_id: str | None = None


class RememberRequest(Frozen):
    """What a caller asks of the write graph. Whose memory it is, is required."""

    user_id: str = Field(min_length=1)
    tenant: str = Field(default="default", min_length=1)
    agent_id: str | None = None
    session_id: str | None = None
    messages: list[Message] = []
    close_session: bool = False
    """Whether the session ends with these messages."""
    run_id: str = ""
    """Empty for a run id of the graph's own making."""
    retry_turn_ids: list[str] = []
    """Turns already stored whose later steps are to be done now."""

    @property
    def scope(self) -> Scope:
        """Give whose memory it is."""
        return Scope(tenant=self.tenant, user_id=self.user_id, agent_id=self.agent_id)


class RecallRequest(Frozen):
    """What a caller asks of the read graph."""

    query: str = Field(min_length=1)
    user_id: str = Field(min_length=1)
    tenant: str = Field(default="default", min_length=1)
    agent_id: str | None = None
    mode: Literal["search", "recall"] = "recall"
    budget: int | None = Field(default=None, ge=1)
    """Tokens of evidence in the result; absent for the preset's own."""
    now: Moment | None = None
    """The moment that "last week" counts from; absent for `as_of`, or the newest turn's time."""
    as_of: Moment | None = None
    """The moment as of which memory is read; absent for now."""
    run_id: str = ""

    @property
    def scope(self) -> Scope:
        """Give whose memory it is."""
        return Scope(tenant=self.tenant, user_id=self.user_id, agent_id=self.agent_id)
