"""Validate the arguments of a call and build the request for a graph.

Every error names the argument, its value, and what to pass instead.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Literal, get_args
from uuid import uuid4

from langgraph_engram.errors import EngramError, InvalidInput, InvalidMessages, MissingUser
from langgraph_engram.filters import Filters, check_filters, check_limit, check_metadata
from langgraph_engram.formats.messages import YEARS, Session, check_text, read_moment, read_until, shown, to_messages
from langgraph_engram.schema import Branches, Metadata, Scope
from langgraph_engram.settings import AnswerStyle
from langgraph_engram.state import Message, RecallRequest, RememberRequest, Thread

MOST_THREAD = 8
"""Messages before a query that are read with it, at most."""
MOST_CHARACTERS = 2000
"""Characters of each that are read, its last ones."""


def make_scope(user_id: str, tenant: str, agent_id: str | None) -> Scope:
    """Return the scope of a user."""
    if not isinstance(user_id, str) or not user_id.strip():
        named = f"no user was named (user_id is {shown(user_id)})"
        raise MissingUser(f"{named}: pass user_id, a string, because memory never guesses whose it is")
    return Scope(
        tenant=check_name("tenant", tenant),
        user_id=check_name("user_id", user_id, "name one"),
        agent_id=None if agent_id is None else check_name("agent_id", agent_id),
    )


def remember_request(
    scope: Scope,
    messages: list[Message],
    session_id: str | None,
    *,
    close_session: bool,
    metadata: Metadata | None = None,
    thread: Thread | None = None,
) -> RememberRequest:
    """Return a request to remember messages, as `to_messages` gives them, with a new run id."""
    if not isinstance(close_session, bool):
        raise InvalidInput(f"close_session is {shown(close_session)}: pass True or False")
    if thread is not None and session_id is None:
        raise InvalidInput("a thread is followed in a session of its own: pass session_id, such as its thread_id")
    return RememberRequest(
        **dict(scope),
        session_id=None if session_id is None else check_name("session_id", session_id),
        messages=messages,
        close_session=close_session,
        run_id=str(uuid4()),
        metadata=check_metadata(metadata),
        thread=thread,
    )


def retry_request(scope: Scope, session_id: str, turn_ids: list[str]) -> RememberRequest:
    """Return a request to repeat the later steps of stored turns, with a new run id."""
    unique = list(dict.fromkeys(turn_ids))
    return RememberRequest(**dict(scope), session_id=session_id, retry_turn_ids=unique, run_id=str(uuid4()))


def recall_request(
    query: str,
    scope: Scope,
    mode: Literal["search", "recall"],
    budget: int | None = None,
    *,
    now: datetime | str | None = None,
    as_of: datetime | str | None = None,
    answer_style: AnswerStyle | None = None,
    stop: float | None = None,
    filters: Filters | None = None,
    limit: int | None = None,
    select: bool = False,
    thread: Sequence[object] = (),
    branches: Branches = "current",
) -> RecallRequest:
    """Return a request to search or recall, with a new run id."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidMessages(f"the question is empty or no text (query is {shown(query)}): ask something")
    if budget is not None:
        check_budget(budget)
    check_limit(limit)
    if stop is not None and (isinstance(stop, bool) or not isinstance(stop, int | float) or not 0 <= stop <= 1):
        raise InvalidInput(f"stop is {shown(stop)}: give a number from 0, for no end, to 1, or leave it out")
    if answer_style is not None and answer_style not in get_args(AnswerStyle):
        styles = ", ".join(map(repr, get_args(AnswerStyle)))
        raise InvalidInput(f"answer_style is {shown(answer_style)}: choose one of {styles}, or leave it out")
    if branches not in get_args(Branches):
        raise InvalidInput(f"branches is {shown(branches)}: choose 'current' or 'all'")
    return RecallRequest(
        query=check_text("query", query.strip()),
        **dict(scope),
        mode=mode,
        budget=budget,
        stop=stop,
        now=_check_moment("now", now, read_moment),
        as_of=_check_moment("as_of", as_of, read_until),
        run_id=str(uuid4()),
        answer_style=answer_style,
        filters=check_filters(filters),
        limit=limit,
        select=select,
        thread=_check_thread(thread),
        branches=branches,
    )


def to_sessions(sessions: object) -> Sequence[Session]:
    """Return sessions that are valid."""
    if not isinstance(sessions, Sequence) or not all(isinstance(session, Session) for session in sessions):
        raise InvalidInput(f"sessions is {shown(sessions)}: pass a list of Session, as read_sessions gives them")
    return sessions


@contextmanager
def errors_of_sessions(sessions: Sequence[Session], position: int) -> Iterator[None]:
    """Name a session in the errors that are raised while it is read or written; of several, the first and the last."""
    try:
        yield
    except EngramError as error:
        names = [
            f"number {number}" if session.session_id is None else shown(session.session_id)
            for number, session in enumerate(sessions, start=position + 1)
        ]
        named = f"session {names[0]}" if len(names) == 1 else f"sessions {names[0]} to {names[-1]}"
        raise type(error)(f"{named}: {error}") from error


def check_name(argument: str, value: object, advice: str = "leave it out, or name one") -> str:
    """Return a name that is valid."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{argument} is {shown(value)}, which is no name: {advice}, as a string")
    return check_text(argument, value)


def check_budget(value: object) -> int:
    """Return a budget that is valid."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"the budget is {shown(value)}: give a whole number of tokens, at least 1, or leave it out")
    return value


def _check_thread(thread: object) -> list[str]:
    """Return the texts of what was said before a message, as far as they are read."""
    if not isinstance(thread, Sequence) or isinstance(thread, str):
        raise InvalidInput(f"thread is {shown(thread)}: give the messages before the query, oldest first")
    if all(isinstance(turn, str) for turn in thread[-MOST_THREAD:]):
        return [check_text("thread", turn)[-MOST_CHARACTERS:] for turn in thread[-MOST_THREAD:]]
    said = to_messages(thread[-MOST_THREAD:])
    return [message.text[-MOST_CHARACTERS:] for message in said if message.role in ("user", "assistant")]


def _check_moment(name: str, moment: object, read: Callable[[object], datetime | None]) -> datetime | None:
    """Return a moment given as a datetime or ISO 8601 text."""
    if moment is None or isinstance(moment, datetime | str):
        with suppress(InvalidMessages):
            return read(moment)
    raise InvalidInput(
        f"{name} is {shown(moment)}: pass a datetime or ISO 8601 text of the years {YEARS[0]} to {YEARS[-1]}, "
        f"or leave it out"
    )
