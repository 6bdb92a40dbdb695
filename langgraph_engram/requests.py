"""Turn the arguments of a call into a request, or say what is wrong with them: the door where input is checked."""

from datetime import datetime
from typing import Literal
from uuid import uuid4

from langgraph_engram.errors import InvalidInput, InvalidMessages, MissingUser
from langgraph_engram.schema import Scope
from langgraph_engram.state import Message, RecallRequest, RememberRequest

MOST_QUERY_CHARACTERS = 20_000


def make_scope(user_id: str, tenant: str, agent_id: str | None) -> Scope:
    """Say whose memory it is.

    Raises:
        MissingUser: No user was named.
        InvalidInput: The tenant or the agent is empty.
    """
    if not isinstance(user_id, str) or not user_id.strip():
        raise MissingUser("no user was named: pass user_id, because memory never guesses whose it is")
    if not tenant or agent_id == "":
        raise InvalidInput("the tenant or the agent is empty: leave it out, or name one")
    return Scope(tenant=tenant, user_id=user_id, agent_id=agent_id)


def remember_request(
    scope: Scope, messages: list[Message], session_id: str | None, *, close_session: bool
) -> RememberRequest:
    """Ask the write graph to remember messages, under a run id of its own.

    Raises:
        InvalidInput: The session has an empty name.
    """
    if session_id == "":
        raise InvalidInput("the session has an empty name: leave it out, or name one")
    return RememberRequest(
        **scope.model_dump(),
        session_id=session_id,
        messages=messages,
        close_session=close_session,
        run_id=str(uuid4()),
    )


def retry_request(scope: Scope, session_id: str, turn_ids: list[str]) -> RememberRequest:
    """Ask the write graph to do the later steps of stored turns again."""
    return RememberRequest(
        **scope.model_dump(),
        session_id=session_id,
        retry_turn_ids=list(dict.fromkeys(turn_ids)),
        run_id=str(uuid4()),
    )


def recall_request(
    query: str, scope: Scope, mode: Literal["search", "recall"], budget: int | None, now: datetime | None
) -> RecallRequest:
    """Ask the read graph; a query beyond 20,000 characters is cut.

    Raises:
        InvalidMessages: The query is empty.
        InvalidInput: The budget is below one token.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidMessages("the question is empty: ask something")
    if budget is not None and budget < 1:
        raise InvalidInput(f"the budget is {budget}: give at least 1 token")
    return RecallRequest(
        query=query.strip()[:MOST_QUERY_CHARACTERS],
        **scope.model_dump(),
        mode=mode,
        budget=budget,
        now=now,
        run_id=str(uuid4()),
    )
