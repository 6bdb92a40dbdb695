"""Say what is asked to be forgotten: all of a scope, a session, a turn or a record."""

from dataclasses import dataclass

from langgraph_engram.errors import InvalidInput
from langgraph_engram.runs.requests import check_name
from langgraph_engram.schema import Turn
from langgraph_engram.stores.scope_index import ScopeIndex

WHERE = "`engram show --user USER --kind {} --json` lists the ids"


@dataclass(frozen=True)
class Target:
    """What is asked for, as it was named; nothing named is all of the scope."""

    session_id: str | None = None
    turn_id: str | None = None
    """Our id of a turn, or the one it has in its source."""
    record_id: str | None = None

    @property
    def is_everything(self) -> bool:
        """Say whether all of the scope is asked for."""
        return self.session_id is None and self.turn_id is None and self.record_id is None


def make_target(session_id: object, turn_id: object, record_id: object) -> Target:
    """Check what a caller names.

    Raises:
        InvalidInput: A name is none, or a record is named beside a session or a turn.
    """
    given = {"session_id": session_id, "turn_id": turn_id, "record_id": record_id}
    named = {name: check_name(name, value) for name, value in given.items() if value is not None}
    if "record_id" in named and len(named) > 1:
        raise InvalidInput("a record is named beside a session or a turn: forget one of them, then the other")
    return Target(**named)


def turns_meant(target: Target, index: ScopeIndex) -> list[Turn]:
    """Give the turns that a session or a turn is named for; none for a record.

    Raises:
        InvalidInput: No such turn is kept here, or several sessions have one of that name in their source.
    """
    if target.record_id is not None:
        return []
    turns = index.turns.items if target.session_id is None else index.turns.in_session(target.session_id)
    if target.turn_id is None:
        return list(turns)
    found = [one for one in turns if target.turn_id in (one.turn_id, one.external_id)]
    if not found:
        where = "" if target.session_id is None else f" in session {target.session_id!r}"
        raise InvalidInput(f"unknown turn {target.turn_id!r}{where}: {WHERE.format('turns')}")
    if len(found) > 1:
        sessions = ", ".join(repr(one.session_id) for one in found)
        raise InvalidInput(f"several turns are called {target.turn_id!r}: name the session too, one of {sessions}")
    return found
