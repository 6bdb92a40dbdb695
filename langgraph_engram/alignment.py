"""Align the messages of a call with the stored turns of their sessions, so that only what is new is stored."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from langgraph_engram.branches import followed_turns, linked_turns, said_in, tips_of, with_turns
from langgraph_engram.errors import InvalidMessages
from langgraph_engram.pending import stored_turns, turns_begun
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import PendingTask, Turn, make_id, unnamed_session_id
from langgraph_engram.state import Message, RememberRequest
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds

SHORT_SESSION = 0.5
"""Share of what one extraction reads up to which a session is short; a longer one has a run of its own."""


def name_session(request: RememberRequest) -> str:
    """Return the session id of a call; of one that names none it is made of its content, the same for the same call."""
    if request.session_id:
        return request.session_id
    contents = [(message.role, message.speaker, message.text, message.external_id) for message in request.messages]
    return unnamed_session_id(request.scope.key, *contents)


def share_runs(requests: Sequence[RememberRequest], tokens: int) -> list[list[RememberRequest]]:
    """Group whole sessions: consecutive short ones share a run, as long as one extraction can read them together."""
    groups: list[list[RememberRequest]] = []
    names, tokens_in_group, is_open = set[str](), 0, False
    for request in requests:
        name = name_session(request)
        read = (" ".join([f"{sent.speaker}: {sent.text}", *sent.captions]) for sent in request.messages)
        size = sum(map(count_tokens, read))
        is_short = bool(request.messages) and size <= SHORT_SESSION * tokens
        if not (is_open and is_short and name not in names and tokens_in_group + size <= tokens):
            groups.append([])
            names, tokens_in_group = set(), 0
        groups[-1].append(request)
        names.add(name)
        tokens_in_group, is_open = tokens_in_group + size, is_short
    return groups


def join_requests(requests: Sequence[RememberRequest]) -> RememberRequest:
    """Return one request for the sessions of a group, each message with its session; one alone stays as it is."""
    if len(requests) == 1:
        return requests[0]
    messages = [
        message.model_copy(update={"session_id": name_session(request)})
        for request in requests
        for message in request.messages
    ]
    masked, refused = (sum(getattr(request, name) for request in requests) for name in ("masked", "refused"))
    return requests[0].model_copy(update={"messages": messages, "masked": masked, "refused": refused})


def requests_by_session(request: RememberRequest) -> dict[str, RememberRequest]:
    """Return what is sent of each session, by session id, in order; a request without messages is about its own."""
    named = name_session(request)
    sent: dict[str, list[Message]] = {}
    for message in request.messages:
        sent.setdefault(message.session_id or named, []).append(message)
    if len(sent) < 2:
        return {next(iter(sent), named): request}
    return {
        session_id: request.model_copy(
            update={"messages": own, "thread": request.thread if session_id == request.session_id else None}
        )
        for session_id, own in sent.items()
    }


def turns_of_run(
    run_id: str, sessions: Mapping[str, RememberRequest], index: ScopeIndex, pending: Sequence[PendingTask]
) -> tuple[list[Turn], list[list[Turn]]]:
    """Return the stored turns that a run's threads no longer hold, or hold again, and the run's own of each session.

    These are those that it stored before it was cut off, and those that are new. A thread that it followed then is not
    followed again: it may have gone on since.
    """
    tips = {name: tips_of(index, name, sent.thread) for name, sent in sessions.items()}
    begun = {session_id: stored_turns(index, turns_begun(pending, run_id, session_id)) for session_id in sessions}
    followed = [
        turn
        for name, sent in sessions.items()
        if not begun[name]
        for turn in followed_turns(index, name, sent.messages, sent.thread, tips[name])
    ]
    index = with_turns(index, followed)
    own = [[*begun[name], *new_turns(sent, name, index, begun[name], tips[name])] for name, sent in sessions.items()]
    return followed, own


def new_turns(
    request: RememberRequest, session_id: str, index: ScopeIndex, begun: Sequence[Turn] = (), tips: Sequence[Turn] = ()
) -> list[Turn]:
    """Return the turns of a request that are not stored yet.

    The call's turns are aligned with the stored end of the session by their longest overlap, and what follows is new:
    a whole history or only its newest message may be sent. A turn with an `external_id` is known by it wherever it
    stands, and messages from further back where each was said at a time that only one stored turn has. System messages
    stand outside of this order: one is new where the session does not hold it yet. A run that was cut off goes on as if
    the session still ended with what it had `begun`. A message that is stored with another text is a turn of its own.
    """
    whole = index.session_turns(session_id, withdrawn=True)
    stored = [turn for turn in whole if turn.withdrawn is None]
    edits = _edits(request, whole)
    if not edits and _is_known_span(stored, request.messages):
        return []
    seen = [turn for turn in stored if turn.seq <= begun[-1].seq] if begun else stored
    known_ids = {turn.external_id for turn in whole}
    fresh = list(edits)
    for message in _following(seen, request.messages):
        if message.external_id is None or message.external_id not in known_ids:
            fresh.append(message)
        known_ids.add(message.external_id)
    start = whole[-1].seq + 1 if whole else 0
    now = _after(stored)
    edited = {message.external_id for message in edits}
    turns = [
        _turn(message, request, session_id, seq, now, is_edit=message.external_id in edited)
        for seq, message in enumerate(fresh, start=start)
    ]
    return linked_turns(turns, index, session_id, request.thread, tips)


def _edits(request: RememberRequest, stored: Sequence[Turn]) -> list[Message]:
    """Return the messages that are stored with another text, each once; an error where one id names two messages."""
    before = {turn.external_id: turn for turn in stored if turn.external_id is not None}
    known = {(turn.external_id, said_in(turn)) for turn in stored}
    said: dict[str, Message] = {}
    for message in request.messages:
        if message.external_id is not None:
            first = said.setdefault(message.external_id, message)
            if said_in(first) != said_in(message):
                raise InvalidMessages(
                    f"two messages have the id {message.external_id!r} and other words each: give each an id of its own"
                )
    threaded = {message.external_id: message for message in (request.thread.messages if request.thread else ())}
    edits = [
        message
        for name, message in (threaded | said).items()
        if name in before and (name, said_in(message)) not in known
    ]
    for message in edits:
        turn = before[message.external_id or ""]
        if turn.role != message.role or len({turn.speaker, message.speaker} - {turn.role}) > 1:
            raise InvalidMessages(
                f"message {message.external_id!r} was said by {turn.speaker!r}, and is edited by {message.speaker!r}: "
                f"send it under an id of its own"
            )
    return edits


def _after(stored: Sequence[Turn]) -> datetime:
    """Return when what is said now was said: not before the end of its session, though the clock was set back."""
    now = datetime.now(UTC)
    last = stored[-1].said_at if stored else None
    return last if last and epoch_seconds(last, 0.0) > epoch_seconds(now, 0.0) else now


def _following(stored: Sequence[Turn], sent: Sequence[Message]) -> list[Message]:
    """Return what follows the stored end of a session, and the system messages that it does not hold."""
    said = [position for position, message in enumerate(sent) if message.role != "system"]
    ended, begun = [turn for turn in stored if turn.role != "system"], [sent[position] for position in said]
    lengths = range(min(len(ended), len(begun)), 0, -1)  # the longest end of what is stored that is sent again
    known = next((length for length in lengths if all(map(_is_same, ended[-length:], begun))), 0)
    following = {*said[known:]}
    for position, message in enumerate(sent):
        if message.role == "system" and not any(_is_same(turn, message) for turn in stored):
            following.add(position)
    return [sent[position] for position in sorted(following)]


def _is_known_span(stored: Sequence[Turn], sent: Sequence[Message]) -> bool:
    """Return whether all messages stand in a stored session, in its order, at times that only one turn has."""
    counts = Counter(turn.said_at for turn in stored)
    seq_of = {(said_in(turn), turn.said_at): turn.seq for turn in stored if counts[turn.said_at] == 1}
    found = [seq_of.get((said_in(message), message.said_at), -1) for message in sent]
    return -1 not in found and found == sorted(set(found))


def _is_same(turn: Turn, message: Message) -> bool:
    if turn.external_id is not None and message.external_id is not None:
        return turn.external_id == message.external_id
    return said_in(turn) == said_in(message) and message.said_at in (None, turn.said_at)


def _turn(
    message: Message, request: RememberRequest, session_id: str, seq: int, now: datetime, *, is_edit: bool
) -> Turn:
    content = said_in(message)
    identity = (seq, *content) if message.external_id is None else (message.external_id, *(content if is_edit else ()))
    return Turn(
        turn_id=make_id(request.scope.key, session_id, *identity),
        session_id=session_id,
        seq=seq,
        role=message.role,
        speaker=message.speaker or message.role,
        text=message.text,
        captions=message.captions,
        said_at=message.said_at or now,
        external_id=message.external_id,
        metadata=request.metadata,
    )
