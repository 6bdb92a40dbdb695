"""Failures are classified, and requests are retried while a failure may be transient."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from langgraph_engram.llm.retries import MAX_REASON, classify_failure
from langgraph_engram.testing import FakeServer, Reply


class ServerError(Exception):
    """An error as providers' libraries raise it: with a status, and a response with headers."""

    def __init__(self, status_code, message="", headers=None):
        super().__init__(message)
        self.status_code = status_code
        self.response = self
        self.headers = headers or {}


class ConnectTimeout(TimeoutError):
    """As httpx calls it."""


@pytest.mark.parametrize(
    ("status", "message", "kind", "retry", "affects_all"),
    [
        (401, "bad key", "refused", "never", True),
        (403, "not for you", "refused", "never", True),
        (404, "model 'x' not found", "refused", "never", True),
        (400, "no such parameter", "refused", "never", False),
        (413, "body too large", "too_long", "never", False),
        (400, "context_length_exceeded", "too_long", "never", False),
        (500, "Requested tokens (9000) exceed context window of 8192", "too_long", "never", False),
        (429, "slow down", "rate_limited", "often", False),
        (429, "insufficient_quota", "refused", "never", True),
        (408, "", "timeout", "often", False),
        (504, "", "timeout", "often", False),
        (500, "oops", "unreachable", "often", True),
        (503, "overloaded", "unreachable", "often", True),
    ],
)
def test_a_status_gives_the_kind_of_failure(status, message, kind, retry, affects_all):
    """Transient failures are retried; what every question would meet affects all of them."""
    failure = classify_failure(ServerError(status, message))

    assert failure is not None
    assert (failure.kind, failure.retry, failure.affects_all) == (kind, retry, affects_all)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "response_format.type must be 'text' or 'json_object'"),
        (400, "Invalid schema for response_format 'Note'"),
        (422, "body -> tool_choice: extra fields not permitted"),
        (404, "No endpoints found that support tool use: tools"),
        (400, "registry.example/phi:latest does not support tools"),
        (400, "failed to parse grammar"),
    ],
)
def test_an_unsupported_method_is_recognised(status, message):
    """Another way of asking for JSON may work, and at once."""
    failure = classify_failure(ServerError(status, message))

    assert failure is not None
    assert failure.unsupported_method
    assert failure.retry == "never"


@pytest.mark.parametrize(
    ("error", "kind", "retry"),
    [
        (ConnectionRefusedError("nobody there"), "unreachable", "once"),
        (ConnectionResetError("gone"), "unreachable", "often"),
        (socket.gaierror("no such host"), "unreachable", "once"),
        (TimeoutError("too slow"), "timeout", "once"),
        (ValueError("null value for 'choices'"), "refused", "never"),
        (NotImplementedError("no tools"), "refused", "never"),
    ],
)
def test_errors_without_a_status_are_read_by_name(error, kind, retry):
    """Nothing listening is tried once more; a broken connection often."""
    failure = classify_failure(error)

    assert failure is not None
    assert (failure.kind, failure.retry) == (kind, retry)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), RuntimeError("a mistake in code")])
def test_other_errors_are_not_caught(error):
    """A mistake in code must not look like a server's."""
    assert classify_failure(error) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("soon", 0.0), ("Sat, 01 Jan 2000 00:00:00 GMT", 0.0)],
)
def test_the_pause_that_a_server_asks_for_is_read(value, seconds):
    """Retry-After is a number of seconds; what cannot be read, or is past, asks for none."""
    failure = classify_failure(ServerError(429, "slow down", {"retry-after": value}))

    assert failure is not None
    assert failure.retry_after == seconds


def test_a_pause_may_end_at_a_date():
    """Retry-After may name the moment."""
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30))

    failure = classify_failure(ServerError(429, "slow down", {"retry-after": moment}))

    assert failure is not None
    assert failure.retry_after == pytest.approx(30, abs=5)


def test_a_long_message_is_cut():
    """Some servers send the whole prompt back, and reasons are stored."""
    failure = classify_failure(ServerError(422, "x" * 5000))

    assert failure is not None
    assert len(failure.reason) <= MAX_REASON + 3


GOOD = '{"label": "news", "confidence": 0.5}'


def test_a_rate_limit_is_waited_for(chat_of, ask_text, pauses):
    """The server says how long; every attempt is counted."""
    with FakeServer([Reply(status=429, retry_after=7), Reply("Hello.")]) as server:
        result = chat_of(server).ask(ask_text())

    assert result.answer == "Hello."
    assert result.usage.calls == len(server.requests) == 2
    assert len(pauses) == 1
    assert pauses[0] == pytest.approx(7, abs=0.01)


def test_a_server_that_asks_for_an_hour_is_not_retried(chat_of, ask_text, pauses):
    """The failure says why."""
    with FakeServer([Reply(status=429, retry_after=3600, error="come back later")]) as server:
        result = chat_of(server).ask(ask_text())

    assert result.failure is not None
    assert result.failure.kind == "rate_limited"
    assert "come back later" in result.failure.reason
    assert pauses == []


def test_pauses_grow(chat_of, ask_text, pauses):
    """Four further attempts, each after a longer pause."""
    with FakeServer() as server:
        result = chat_of(server, retries=4).ask(ask_text())

    assert result.failure is not None
    assert result.failure.kind == "unreachable"
    assert result.usage.calls == len(server.requests) == 5
    assert [round(pause - 0.25) for pause in pauses[1:]] == [1, 2, 4]


def test_a_broken_connection_is_made_again(chat_of, ask_text):
    """A server that hangs up once is asked again."""
    with FakeServer([Reply(hangs_up=True), Reply("Hello.")]) as server:
        result = chat_of(server).ask(ask_text())

    assert result.answer == "Hello."
    assert result.usage.calls == 2


def test_a_slow_server_is_a_timeout(chat_of, ask_text):
    """The client's own time-out ends the wait, and is tried again."""
    with FakeServer(otherwise=Reply("Hello.", after_seconds=30)) as server:
        result = chat_of(server, timeout=0.1, retries=1).ask(ask_text())

    assert result.failure is not None
    assert result.failure.kind == "timeout"
    assert result.usage.calls == 2


def test_an_absent_server_is_found_out_quickly(chat_of, ask_text, pauses):
    """One further attempt, a moment later."""
    with FakeServer() as server:
        gone = server.url

    result = chat_of(gone, retries=4).ask(ask_text())

    assert result.failure is not None
    assert result.failure.kind == "unreachable"
    assert result.usage.calls == 2
    assert sum(pauses) < 1


@pytest.mark.parametrize(("status", "kind"), [(401, "refused"), (404, "refused"), (413, "too_long")])
def test_permanent_failures_are_not_retried(status, kind, chat_of, ask_note):
    """One call, no other method, no pause."""
    with FakeServer([Reply(status=status, error="no")]) as server:
        result = chat_of(server).ask(ask_note())

    assert result.failure is not None
    assert result.failure.kind == kind
    assert len(server.requests) == 1


def test_a_bare_server_error_may_be_the_methods_fault(chat_of, ask_note):
    """While no method is known to work, a method that meets status 500 twice is left for the next."""
    with FakeServer([Reply(status=500), Reply(status=500), Reply(GOOD)]) as server:
        result = chat_of(server).ask(ask_note())

    assert result.answer is not None
    assert "tools" in server.requests[-1]


def test_a_model_that_refuses_a_temperature_gets_none(chat_of, ask_text):
    """OpenAI's reasoning models take their own alone."""
    refusal = Reply(status=400, error="Unsupported value: 'temperature' does not support 0 with this model.")
    with FakeServer([refusal, Reply("Hello."), Reply("Hello.")]) as server:
        model = chat_of(server)
        first, second = model.ask(ask_text()), model.ask(ask_text())

    assert first.answer == second.answer == "Hello."
    assert ["temperature" in request for request in server.requests] == [True, False, False]
