"""TODO."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from langgraph_engram.schema import Scope, Turn, make_id
from langgraph_engram.state import Message, RememberRequest
from langgraph_engram.stores.index import ScopeIndex

UNNAMED = re.compile(r"call-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Kept = TypeVar("Kept")
Sent = TypeVar("Sent")


def name_session(request: RememberRequest) -> str:
    """Name the session of a call that names none: by its content, so that the same call is known again."""
    said = [(message.role, message.speaker, message.text, message.external_id) for message in request.messages]
    return f"call-{make_id(request.scope.key, *said)}"


def is_unnamed(session_id: str) -> bool:
    """Say whether a session is a call that named none."""
    return bool(UNNAMED.fullmatch(session_id))


def new_turns(request: RememberRequest, session_id: str, index: ScopeIndex, begun: Sequence[Turn] = ()) -> list[Turn]:
    """Give the turns of a request that are not stored yet.

    The call's turns are aligned with the stored end of the session by their longest overlap, and what follows is new:
    a whole history or only its newest message may be sent. A turn with an `external_id` is known by it wherever it is.
    Messages from further back are known where each was said at a moment that only one stored turn has. The same word
    alone is known only where it is the very end of the session, because a call may be sent again. What a system asks
    stands outside of this order, since agents put it before whatever part of a history they send: it is new where the
    session does not hold it yet.

    Args:
        request: What is sent.
        session_id: The session it is of.
        index: What is stored of the scope.
        begun: The turns that the same run has stored already: the session ended with them when it was cut off.
    """
    stored = index.session_turns(session_id)
    if is_part_of(stored, request.messages):
        return []
    seen = [turn for turn in stored if turn.seq <= begun[-1].seq] if begun else stored
    following = _following(seen, request.messages)
    fresh = [one for one in _named_once(following) if not _is_known(one, request.scope, session_id, index)]
    start = stored[-1].seq + 1 if stored else 0
    clock = datetime.now(UTC)
    return [_turn(one, request.scope, session_id, start + place, clock) for place, one in enumerate(fresh)]


def _following(stored: Sequence[Turn], sent: Sequence[Message]) -> list[Message]:
    """Give what follows the stored end of a session, and what a system asks that it did not ask before."""
    said = [message for message in sent if message.role != "system"]
    known = overlap([turn for turn in stored if turn.role != "system"], said, _same)
    place = 0
    following: list[Message] = []
    for message in sent:
        asks = message.role == "system"
        if not any(_same(turn, message) for turn in stored) if asks else place >= known:
            following.append(message)
        place += not asks
    return following


def overlap(stored: Sequence[Kept], sent: Sequence[Sent], same: Callable[[Kept, Sent], bool]) -> int:
    """Give the length of the longest end of `stored` that `sent` begins with."""
    for length in range(min(len(stored), len(sent)), 0, -1):
        if all(same(one, other) for one, other in zip(stored[-length:], sent, strict=False)):
            return length
    return 0


def is_part_of(stored: Sequence[Turn], sent: Sequence[Message]) -> bool:
    """Say whether all that is sent stands in a stored session, in its order, at moments that are told apart."""
    shared = Counter(turn.said_at for turn in stored)
    places = {(_said(turn), turn.said_at): turn.seq for turn in stored if shared[turn.said_at] == 1}
    found = [places.get((_said(message), message.said_at), -1) for message in sent]
    return -1 not in found and found == sorted(set(found))


def _same(turn: Turn, message: Message) -> bool:
    if turn.external_id is not None and message.external_id is not None:
        return turn.external_id == message.external_id
    return _said(turn) == _said(message) and message.said_at in (None, turn.said_at)


def _said(turn: Turn | Message) -> tuple[str, str, str, tuple[str, ...]]:
    return turn.role, turn.speaker or turn.role, turn.text, tuple(turn.captions)


def _named_once(messages: Sequence[Message]) -> list[Message]:
    """Give messages without those that repeat the id of an earlier one."""
    first = {one.external_id: place for place, one in reversed(list(enumerate(messages)))}
    return [one for place, one in enumerate(messages) if one.external_id is None or first[one.external_id] == place]


def _is_known(message: Message, scope: Scope, session_id: str, index: ScopeIndex) -> bool:
    return message.external_id is not None and make_id(scope.key, session_id, message.external_id) in index.turns


def _turn(message: Message, scope: Scope, session_id: str, seq: int, clock: datetime) -> Turn:
    place = (message.external_id,) if message.external_id is not None else (seq, *_said(message))
    return Turn(
        turn_id=make_id(scope.key, session_id, *place),
        session_id=session_id,
        seq=seq,
        role=message.role,
        speaker=message.speaker or message.role,
        text=message.text,
        captions=message.captions,
        said_at=message.said_at or clock,
        external_id=message.external_id,
    )
