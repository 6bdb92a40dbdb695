"""Turn the arguments of a call into a request, or say what is wrong with them: the door where input is checked.

Every message names the argument, what was given, and what to give instead.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal
from uuid import uuid4

from langgraph_engram.errors import InvalidInput, InvalidMessages, MissingUser
from langgraph_engram.formats.fields import EARLIEST_YEAR, LATEST_YEAR, read_moment, read_until, shown
from langgraph_engram.formats.messages import Session
from langgraph_engram.schema import Scope
from langgraph_engram.state import Message, RecallRequest, RememberRequest


def make_scope(user_id: str, tenant: str, agent_id: str | None) -> Scope:
    """Say whose memory it is.

    Raises:
        MissingUser: No user was named.
        InvalidInput: A name is empty, no string, or holds what cannot be kept.
    """
    if not isinstance(user_id, str) or not user_id.strip():
        raise MissingUser(
            f"no user was named (user_id is {shown(user_id)}): pass user_id, a string, because memory never guesses "
            f"whose it is"
        )
    name = check_name("user_id", user_id, "name one")
    other = None if agent_id is None else check_name("agent_id", agent_id)
    return Scope(tenant=check_name("tenant", tenant), user_id=name, agent_id=other)


def check_name(argument: str, value: object, advice: str = "leave it out, or name one") -> str:
    """Give a name that can be kept.

    Raises:
        InvalidInput: It is no string, is empty, or holds half a character or NUL.
    """
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{argument} is {shown(value)}, which is no name: {advice}, as a string")
    return check_text(argument, value)


def check_text(argument: str, value: str) -> str:
    """Give a text that can be kept.

    Raises:
        InvalidMessages: It holds half a character or NUL.
    """
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidMessages(
            f"{argument} holds half a character or NUL in {shown(value)}: send text that is valid Unicode"
        )
    return value


def remember_request(
    scope: Scope, messages: list[Message], session_id: str | None, *, close_session: bool
) -> RememberRequest:
    """Ask the write graph to remember messages, under a run id of its own.

    Raises:
        InvalidInput: The session has no proper name, or `close_session` is neither true nor false.
        InvalidMessages: A message holds what cannot be kept.
    """
    if not isinstance(close_session, bool):
        raise InvalidInput(f"close_session is {shown(close_session)}: pass True or False")
    for place, one in enumerate(messages):
        for text in (one.text, one.speaker, one.external_id or "", *one.captions):
            check_text(f"messages[{place}]", text)
    return RememberRequest(
        **scope.model_dump(),
        session_id=None if session_id is None else check_name("session_id", session_id),
        messages=messages,
        close_session=close_session,
        run_id=str(uuid4()),
    )


def to_sessions(sessions: object) -> Sequence[Session]:
    """Give whole conversations.

    Raises:
        InvalidInput: It is no list of `Session`.
    """
    if not isinstance(sessions, Sequence) or not all(isinstance(one, Session) for one in sessions):
        raise InvalidInput(f"sessions is {shown(sessions)}: pass a list of Session, as read_sessions gives them")
    return sessions


def retry_request(scope: Scope, session_id: str, turn_ids: list[str]) -> RememberRequest:
    """Ask the write graph to do the later steps of stored turns again."""
    return RememberRequest(
        **scope.model_dump(),
        session_id=session_id,
        retry_turn_ids=list(dict.fromkeys(turn_ids)),
        run_id=str(uuid4()),
    )


def recall_request(
    query: str,
    scope: Scope,
    mode: Literal["search", "recall"],
    budget: int | None = None,
    now: datetime | str | None = None,
    as_of: datetime | str | None = None,
) -> RecallRequest:
    """Ask the read graph.

    Raises:
        InvalidMessages: The query is empty, no string, or not valid Unicode.
        InvalidInput: The budget is no number of tokens, or `now` or `as_of` no moment.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidMessages(f"the question is empty or no text (query is {shown(query)}): ask something")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
        raise InvalidInput(f"the budget is {shown(budget)}: give a whole number of tokens, at least 1, or leave it out")
    return RecallRequest(
        query=check_text("query", query.strip()),
        **scope.model_dump(),
        mode=mode,
        budget=budget,
        now=check_moment("now", now, read_moment),
        as_of=check_moment("as_of", as_of, read_until),
        run_id=str(uuid4()),
    )


def check_moment(name: str, moment: object, read: Callable[[object], datetime | None]) -> datetime | None:
    """Give the moment that a question is about: a datetime, or ISO 8601 text.

    Raises:
        InvalidInput: It is neither, or lies outside the years that can be reckoned with.
    """
    if moment is None or isinstance(moment, datetime | str):
        with suppress(InvalidMessages):
            return read(moment)
    raise InvalidInput(
        f"{name} is {shown(moment)}: pass a datetime or ISO 8601 text of the years {EARLIEST_YEAR} to {LATEST_YEAR}, "
        f"or leave it out"
    )
