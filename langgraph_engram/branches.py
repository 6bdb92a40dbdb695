"""Follow a thread as LangGraph keeps it: which stored turns it holds, and why it no longer holds the others.

A thread is edited, cut and forked in its checkpoints, and memory hears of it when the thread goes on. Each turn of a
thread names the turn that it was said after, so that the turns of a session are a tree, and what a thread holds is the
way from a root to one of them. A turn that the thread lacks was edited where the thread has another text of its
message, removed where it stands on that way, and abandoned where it does not (docs/decisions/0026).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from langgraph_engram.schema import Turn, Withdrawal, make_id
from langgraph_engram.state import REMOVED, Message, Thread
from langgraph_engram.stores.index import ScopeIndex

Reasons = dict[str, Withdrawal | None]
"""Why a thread no longer holds turns, by turn id; None for those that it holds."""


def said_in(turn: Turn | Message) -> tuple[str, str, str, tuple[str, ...]]:
    """Return who says a turn, and what: of two versions of a message they differ."""
    return turn.role, turn.speaker or turn.role, turn.text, tuple(turn.captions)


def followed_turns(
    index: ScopeIndex, session_id: str, messages: Sequence[Message], thread: Thread | None, tips: Sequence[Turn]
) -> list[Turn]:
    """Return the stored turns that the thread of a session no longer holds, or holds again, as they are from now on.

    Args:
        messages: What is sent of the session: one that is stored with another text is an edit, with a thread or not.
        thread: The whole of it, where the session follows one. A thread that has nothing in common with what is stored
            begins anew beside it, as one does whose checkpoints were lost, unless it is known to be forked.
        tips: Its `tips_of`.
    """
    sent = [*(thread.messages if thread else ()), *messages]
    said = {message.external_id: said_in(message) for message in sent if message.external_id is not None}
    known = [turn for turn in index.turns.in_session(session_id) if turn.external_id in said]
    reasons: Reasons = {turn.turn_id: None if said[turn.external_id] == said_in(turn) else "edited" for turn in known}
    if thread:
        reasons = _of_lacking(index, session_id, thread, tips, reasons) | reasons
    now = datetime.now(UTC)
    return [
        turn.model_copy(update={"withdrawn": reason, "withdrawn_at": now if reason else None})
        for turn_id, reason in reasons.items()
        if (turn := index.turns.get(turn_id)) and turn.withdrawn != reason
    ]


def changes_of(index: ScopeIndex, session_id: str, thread: Thread) -> dict[str, str]:
    """Return what the way of a thread has changed of what was said on it, for its state to carry: `Thread.changed`."""
    versions = Counter(turn.external_id for turn in index.turns.in_session(session_id))
    present = {message.external_id: message for message in thread.messages}
    edited = {name: version_of(said) for name, said in present.items() if name and versions[name] > 1}
    removed = [name for name in thread.held or () if versions[name]]
    past = thread.changed | dict.fromkeys(removed, REMOVED)
    return {name: version for name, version in past.items() if name not in present} | edited


def version_of(turn: Turn | Message) -> str:
    """Return what tells the versions of a message apart."""
    return make_id(*said_in(turn))[:8]


def with_turns(index: ScopeIndex, turns: Sequence[Turn]) -> ScopeIndex:
    """Return an index with stored turns in another state."""
    rows = [index.turns.position(turn.turn_id) for turn in turns]
    return index.with_parts(turns=index.turns.with_items(turns, index.turns.vectors[rows])) if turns else index


def linked_turns(
    turns: Sequence[Turn], index: ScopeIndex, session_id: str, thread: Thread | None, tips: Sequence[Turn]
) -> list[Turn]:
    """Return new turns of a session as parts of its thread: an edit in place of the text before, others at the end."""
    first = {turn.external_id: turn for turn in reversed(index.session_turns(session_id, withdrawn=True)) if turn.graph}
    last = next(iter(tips), None)
    linked: list[Turn] = []
    for turn in turns:
        place: dict[str, str] = {}
        if edited := first.get(turn.external_id) if turn.external_id is not None else None:
            place = {"graph": edited.graph, "after": edited.after}
        elif thread:
            place = {"graph": thread.graph, "after": last.turn_id if last else ""}
            last = turn
        linked.append(turn.model_copy(update=place))
    return linked


def way_to(index: ScopeIndex, turn_id: str) -> Iterator[Turn]:
    """Yield a turn and those that it was said after, back to the beginning of its thread, in their first versions."""
    while turn := index.turns.get(turn_id):
        yield turn
        turn_id = turn.after


def tips_of(index: ScopeIndex, session_id: str, thread: Thread | None) -> list[Turn]:
    """Return the stored turns that a thread ends with, and ended with when it was last followed; none without one.

    Where nothing of its session is stored, they are of the session whose thread it was copied from.
    """
    if thread is None:
        return []
    names = [message.external_id for message in thread.messages if message.external_id is not None]
    return [tip for known in (names, thread.held or ()) if (tip := _last_of(index, session_id, thread, known))]


def _last_of(index: ScopeIndex, session_id: str, thread: Thread, names: Sequence[str]) -> Turn | None:
    """Return the turn that the last of some messages is, in its first version."""
    place = {name: at for at, name in enumerate(names)}
    known = np.isin(index.turns.external_id, [index.turns.code("external_id", name) for name in names])
    turns = [index.turns.items[position] for position in np.flatnonzero(known)]
    named = [turn for turn in turns if turn.graph == thread.graph]
    own = [turn for turn in named if turn.session_id == session_id]
    return max(own or named, key=lambda turn: (place[turn.external_id or ""], -turn.seq), default=None)


def _of_lacking(
    index: ScopeIndex, session_id: str, thread: Thread, tips: Sequence[Turn], known: Collection[str]
) -> Reasons:
    """Return why a thread lacks turns of its graph; None for what it trimmed, and for what it goes on from again."""
    if not tips and not thread.forked:
        return {}
    way = [turn for tip in tips for turn in way_to(index, tip.turn_id)]
    on_way = {turn.external_id for turn in way}
    own = [
        turn
        for turn in index.session_turns(session_id, withdrawn=True)
        if turn.graph == thread.graph and turn.turn_id not in known
    ]
    left = {turn.turn_id for turn in own if turn.withdrawn is None and turn.external_id not in on_way}
    reasons: Reasons = dict.fromkeys(left - _past_of_copies(index, session_id) if left else (), "abandoned")
    copied = [turn for turn in way if turn.session_id != session_id and turn.withdrawn == "abandoned"]
    versions: dict[str, list[Turn]] = {}
    for turn in own:
        if turn.external_id in on_way:
            versions.setdefault(turn.external_id or "", []).append(turn)
    for name, turns in versions.items():
        reasons |= _of_versions(turns, _current_version(name, turns, thread))
    return reasons | dict.fromkeys((turn.turn_id for turn in copied), None)


def _current_version(name: str, turns: Sequence[Turn], thread: Thread) -> str:
    """Return which version stands of a message that a thread let go of on its way; `REMOVED` for none."""
    if thread.held is None:
        current = [version_of(turn) for turn in turns if turn.withdrawn is None]
        return [*current, version_of(turns[0])][0] if thread.summarized else REMOVED
    return REMOVED if name in thread.held else thread.changed.get(name, version_of(turns[0]))


def _of_versions(turns: Sequence[Turn], current: str) -> Reasons:
    """Return why the versions of a message do not stand: all but one are edited, or the last that stood is removed."""
    if current != REMOVED:
        return {turn.turn_id: None if version_of(turn) == current else "edited" for turn in turns}
    return {turn.turn_id: "edited" if turn.withdrawn == "edited" else "removed" for turn in turns}


def _past_of_copies(index: ScopeIndex, session_id: str) -> set[str]:
    """Return the ids of the turns that copies of a session's thread go on from, in sessions of their own."""
    others = (turn for turn in index.turns.items if turn.after and turn.session_id != session_id and not turn.withdrawn)
    above = {turn.after for turn in others}
    copied = {turn_id for turn_id in above if (turn := index.turns.get(turn_id)) and turn.session_id == session_id}
    return {turn.turn_id for tip in copied for turn in way_to(index, tip)}
