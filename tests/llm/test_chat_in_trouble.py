"""The chat adapter and servers in trouble: what is tried again, how long, and what it ends in."""

import pytest

from langgraph_engram.testing import FakeServer, Reply

GOOD = '{"label": "news", "confidence": 0.5}'


def test_a_rate_limit_is_waited_for(chat_of, tell, pauses):
    """The server says how long; every attempt is counted."""
    with FakeServer([Reply(status=429, retry_after=7), Reply("Hello.")]) as server:
        asked = chat_of(server).ask(tell())

    assert asked.answer == "Hello."
    assert asked.usage.calls == len(server.requests) == 2
    assert len(pauses) == 1
    assert pauses[0] == pytest.approx(7, abs=0.01)


def test_a_server_that_asks_for_an_hour_is_not_waited_for(chat_of, tell, pauses):
    """The failure says why."""
    with FakeServer([Reply(status=429, retry_after=3600, error="come back later")]) as server:
        asked = chat_of(server).ask(tell())

    assert asked.failure is not None
    assert asked.failure.kind == "rate_limited"
    assert "come back later" in asked.failure.reason
    assert pauses == []


def test_pauses_grow(chat_of, tell, pauses):
    """Four further attempts, each after a longer pause."""
    with FakeServer() as server:
        asked = chat_of(server, retries=4).ask(tell())

    assert asked.failure is not None
    assert asked.failure.kind == "unreachable"
    assert asked.usage.calls == len(server.requests) == 5
    assert [round(pause - 0.25) for pause in pauses[1:]] == [1, 2, 4]


def test_a_broken_connection_is_made_again(chat_of, tell):
    """A server that hangs up once is asked again."""
    with FakeServer([Reply(hangs_up=True), Reply("Hello.")]) as server:
        asked = chat_of(server).ask(tell())

    assert asked.answer == "Hello."
    assert asked.usage.calls == 2


def test_a_slow_server_is_a_timeout(chat_of, tell):
    """The client's own time-out ends the wait, and is tried again."""
    with FakeServer(otherwise=Reply("Hello.", after_seconds=30)) as server:
        asked = chat_of(server, timeout=0.1, retries=1).ask(tell())

    assert asked.failure is not None
    assert asked.failure.kind == "timeout"
    assert asked.usage.calls == 2


def test_nobody_there_is_found_out_quickly(chat_of, tell, pauses):
    """One further attempt, a moment later."""
    with FakeServer() as server:
        gone = server.url

    asked = chat_of(gone, retries=4).ask(tell())

    assert asked.failure is not None
    assert asked.failure.kind == "unreachable"
    assert asked.usage.calls == 2
    assert sum(pauses) < 1


@pytest.mark.parametrize(("status", "kind"), [(401, "refused"), (404, "refused"), (413, "too_long")])
def test_what_will_not_pass_is_not_tried_again(status, kind, chat_of, ask_note):
    """One call, no other method, no pause."""
    with FakeServer([Reply(status=status, error="no")]) as server:
        asked = chat_of(server).ask(ask_note())

    assert asked.failure is not None
    assert asked.failure.kind == kind
    assert len(server.requests) == 1


def test_a_bare_server_error_may_be_the_methods_fault(chat_of, ask_note):
    """While no method is known to work, a method that meets status 500 twice is left for the next."""
    with FakeServer([Reply(status=500), Reply(status=500), Reply(GOOD)]) as server:
        asked = chat_of(server).ask(ask_note())

    assert asked.answer is not None
    assert "tools" in server.requests[-1]


def test_a_model_that_refuses_a_temperature_gets_none(chat_of, tell):
    """OpenAI's reasoning models take their own alone."""
    refusal = Reply(status=400, error="Unsupported value: 'temperature' does not support 0 with this model.")
    with FakeServer([refusal, Reply("Hello."), Reply("Hello.")]) as server:
        model = chat_of(server)
        first, second = model.ask(tell()), model.ask(tell())

    assert first.answer == second.answer == "Hello."
    assert ["temperature" in request for request in server.requests] == [True, False, False]
