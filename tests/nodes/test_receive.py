"""Raw turns are stored once, before anything else, however much of a conversation is sent again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.alignment import new_turns
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidMessages
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.pending import UNFINISHED, pending_task, pending_tasks_for
from langgraph_engram.retrieval.passages import turn_passage
from langgraph_engram.state import Message, RememberRequest, Thread
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.clients import open_memory
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.rows import SharedRevisions
from tests.conftest import NOON


def test_what_is_received_is_stored_and_pending(store, scope, to_remember):
    """Before any model is asked, the turns stand in the store, and the run as unfinished."""
    request = to_remember("Hi!", "I moved to Oslo.")

    update = Receive(store)({"request": request})

    assert [turn.text for turn in store.index(scope).session_turns("s1")] == ["Hi!", "I moved to Oslo."]
    assert [task.turn_ids for task in store.pending_tasks(scope)] == [[turn.turn_id for turn in update["turns"]]]
    assert (update["run_id"], update["session_ids"], update["known_turns"]) == (request.run_id, ["s1"], 0)


def test_turns_of_a_run_that_was_cut_off_before_it_stored_them_are_pending_once(store, scope, to_remember):
    """Who sends them again has them done by a run of their own; what it did not send stays with the first."""
    first, again = to_remember("Hi!", "I moved to Oslo.", "It rains."), to_remember("Hi!", "I moved to Oslo.")
    unstored = new_turns(first, "s1", store.index(scope), [])
    store.commit(scope, Changes(pending_tasks=pending_tasks_for("cut off", "segment", [(unstored, UNFINISHED)])))

    update = Receive(store)({"request": again})

    assert {task.run_id: task.turn_ids for task in store.pending_tasks(scope)} == {
        again.run_id: [turn.turn_id for turn in update["turns"]],
        "cut off": [unstored[-1].turn_id],
    }


def test_turns_carry_the_order_of_their_users_dates(store, scope, to_remember):
    """What stands in the store is read in the order that held when it was said."""
    Receive(store, "day_first")({"request": to_remember("We paid on 03/04/2025.")})

    [turn] = store.index(scope).session_turns("s1")

    assert turn.date_order == "day_first"
    assert "(3 April 2025)" in turn_passage([turn], 1.0, {}).text


def test_a_run_that_was_cut_off_goes_on_with_its_own_turns(store, scope, to_remember):
    """A run that is begun again finds its turns stored and goes on; what it is sent beside them is not lost."""
    receive = Receive(store)
    request = to_remember("Hi!", "I moved to Oslo.")
    first = receive({"request": request})

    again = receive({"request": request})
    more = receive({"request": request.model_copy(update={"messages": to_remember("I ski.").messages})})

    assert (again["turns"], again["known_turns"]) == (first["turns"], first["known_turns"])
    assert [task.pending_id for task in again["tasks"]] == [task.pending_id for task in first["tasks"]]
    assert [turn.text for turn in more["turns"]] == ["Hi!", "I moved to Oslo.", "I ski."]
    assert len(store.pending_tasks(scope)) == 2


def test_a_run_that_was_cut_off_goes_on_though_others_have_written_since(store, scope, to_remember):
    """Its turns are aligned with the session as it left it, not over what another run has added."""
    receive = Receive(store)
    receive({"request": to_remember("Hi!")})
    request = to_remember("Hi!", "I moved to Oslo.")
    first = receive({"request": request})
    receive({"request": to_remember("I ski.")})

    again = receive({"request": request})

    assert again["turns"] == first["turns"]
    assert [turn.text for turn in store.index(scope).session_turns("s1")] == ["Hi!", "I moved to Oslo.", "I ski."]


def test_a_run_that_was_cut_off_does_not_bring_back_a_branch_that_was_left_since(store, scope, to_remember):
    """It followed its thread as it stored its turns; what the thread became afterwards stands."""
    receive = Receive(store)

    def follow(text):
        said = [Message(speaker="Ana", text=text, external_id=text)]
        forked = {"messages": said, "thread": Thread(messages=said, forked=True)}
        return to_remember(text).model_copy(update=forked)

    left = follow("I live in Oslo.")
    receive({"request": left})
    receive({"request": follow("I live in Porto.")})

    again = receive({"request": left})

    assert [turn.text for turn in again["turns"]] == ["I live in Oslo."]
    assert [turn.text for turn in store.index(scope).session_turns("s1")] == ["I live in Porto."]


def test_a_word_said_again_is_known_only_at_the_very_end(store, scope, to_remember):
    """A call may be sent again, and the same word may be said again later: only what is said last is ambiguous."""
    receive = Receive(store)
    ok, fine = Message(text="ok"), Message(role="assistant", text="fine")
    receive({"request": to_remember(ok, fine)})

    counts = [
        (len(update["turns"]), update["known_turns"])
        for update in (receive({"request": to_remember(*said)}) for said in ([ok], [ok], [fine], [ok], [ok, ok]))
    ]

    assert counts == [(1, 0), (0, 1), (1, 0), (1, 0), (1, 1)]
    assert [turn.text for turn in store.index(scope).session_turns("s1")] == ["ok", "fine", "ok", "fine", "ok", "ok"]


def test_what_a_system_asks_stands_outside_of_the_order(store, scope, to_remember):
    """Agents put it before the part of the history they send, with another date each day: the rest is known."""
    monday, tuesday = (Message(role="system", text=f"You are polite. Today is {day}.") for day in ("Monday", "Tuesday"))
    said = [Message(text=text) for text in ("Hi!", "I moved to Oslo.", "I ski.", "I swim.")]
    receive = Receive(store)
    receive({"request": to_remember(monday, *said[:2])})

    counts = [
        (len(update["turns"]), update["known_turns"])
        for update in (
            receive({"request": to_remember(*sent)}) for sent in ([monday, *said[1:3]], [tuesday, *said[1:]])
        )
    ]

    assert counts == [(1, 2), (2, 2)]
    texts = [turn.text for turn in store.index(scope).session_turns("s1") if turn.role == "user"]
    assert texts == [message.text for message in said]


def test_an_earlier_part_sent_again_is_known_by_its_times(store, scope, to_remember):
    """What stands further back in the session is known where each message has a time of its own."""
    said = [Message(text=text, said_at=NOON + timedelta(minutes=minute)) for minute, text in enumerate("abcab")]
    receive = Receive(store)
    receive({"request": to_remember(*said)})

    again = receive({"request": to_remember(*said[1:3])})
    new = receive({"request": to_remember(Message(text="a", said_at=NOON + timedelta(hours=1)))})

    assert (again["turns"], again["known_turns"]) == ([], 2)
    assert (len(new["turns"]), new["known_turns"]) == (1, 0)


def test_times_that_turns_share_identify_nothing(store, to_remember):
    """A file that dates whole sessions may hold the same word twice at one time: both are kept."""
    receive = Receive(store)
    receive({"request": to_remember("ok", "Shall we go?")})

    again = receive({"request": to_remember("ok")})

    assert again["known_turns"] == 0


class Killed(BaseException):
    """The process dies."""


def test_a_retry_finds_what_a_killed_process_stored_under_no_revision(scope, to_remember, monkeypatch):
    """Another process, whose index is of before that, reads the rows; a turn that is not there either ends no retry."""
    client, close = open_memory()
    killed, other = (ChromaStore(lambda: client, HashingEncoder(64), location="here", shared=True) for _ in range(2))
    assert len(other.index(scope).turns) == 0

    def die(self, scope):
        raise Killed

    monkeypatch.setattr(SharedRevisions, "renew", die)
    with pytest.raises(Killed):
        Receive(killed)({"request": to_remember("I moved to Oslo.")})
    [task] = other.pending_tasks(scope)

    update = Receive(other)({"request": to_remember(retry_turn_ids=[*task.turn_ids, "forgotten"])})

    assert [turn.text for turn in update["turns"]] == ["I moved to Oslo."]
    assert update["tasks"] == [task]
    close()


def test_turns_with_ids_are_known_by_them(store, scope, to_remember):
    """An id of the source decides: edited order or gaps change nothing."""
    first, second, third = (Message(text=text, external_id=name) for text, name in (("a", "1"), ("a", "2"), ("b", "3")))
    receive = Receive(store)
    receive({"request": to_remember(first, third)})

    update = receive({"request": to_remember(third, first, second)})

    assert [turn.external_id for turn in update["turns"]] == ["2"]
    assert update["known_turns"] == 2


def test_a_history_in_which_only_some_turns_have_ids_is_aligned(store, scope, to_remember):
    """Chat models give their replies ids, people's messages often have none: a whole history sent again stays one."""
    earlier = [Message(text="Hi"), Message(role="assistant", text="Hello!", external_id="run-1")]
    more = [Message(text="I moved."), Message(role="assistant", text="Where to?", external_id="run-2")]
    receive = Receive(store)
    receive({"request": to_remember(*earlier)})

    update = receive({"request": to_remember(*earlier, *more)})

    assert [turn.text for turn in update["turns"]] == ["I moved.", "Where to?"]
    assert update["known_turns"] == 2


def test_a_call_without_a_session_is_one_of_its_own(store, to_remember):
    """Two calls are two sessions; the same call is the same session."""
    receive = Receive(store)

    first, second, again = (
        receive({"request": to_remember(text, session_id=None)}) for text in ("I ski.", "I swim.", "I ski.")
    )

    assert first["session_ids"] != second["session_ids"]
    assert again["session_ids"] == first["session_ids"]
    assert again["turns"] == []


def test_a_retry_is_about_stored_turns(store, scope, turn, to_remember):
    """Turns named for a retry come in order of time; those that are gone are left out, and those that are done.

    So are turns of another session, on which a pending synthesis may rest.
    """
    turns = [turn(0), turn(1), turn(2), turn(3, session_id="s2")]
    tasks = [pending_task("run", [turns[number]], "extract", "it took too long") for number in (1, 0, 3)]
    store.commit(scope, Changes(turns=turns, pending_tasks=tasks))

    update = Receive(store)({"request": to_remember(retry_turn_ids=["t2", "t1", "gone", "t0", "t3"])})

    assert [turn.turn_id for turn in update["turns"]] == ["t0", "t1"]
    assert len(store.index(scope).turns) == 4


@given(st.lists(st.tuples(st.sampled_from(["ok", "hm"]), st.sampled_from([None, "1", "2", "3"])), max_size=6))
def test_ids_are_distinct_whatever_is_sent(said):
    """No two new turns share an id: one that comes twice in a call is one turn, and an error with two texts."""
    messages = [Message(text=text, external_id=name) for text, name in said]
    named = {(text, name) for text, name in said if name}

    if len({name for _, name in named}) < len(named):
        with pytest.raises(InvalidMessages, match="two messages have the id"):
            new_turns(RememberRequest(user_id="u", messages=messages), "s", ScopeIndex())
        return
    turns = new_turns(RememberRequest(user_id="u", messages=messages), "s", ScopeIndex())

    assert len({turn.turn_id for turn in turns}) == len(turns)
    assert [turn.seq for turn in turns] == list(range(len(turns)))
