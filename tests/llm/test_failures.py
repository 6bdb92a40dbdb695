"""Failures are classified; what is transient is tried again by the provider's client."""

import socket

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelTimeoutError

from langgraph_engram.llm.replies import MAX_REASON, failure_of
from tests.fake_server import FakeServer, Reply
from tests.llm.conftest import GOOD, AskNote, AskText, chat_of


class ServerError(Exception):
    """An error as providers' libraries raise it: with a status."""

    def __init__(self, status_code, message=""):
        super().__init__(message)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("status", "message", "kind", "affects_all"),
    [
        (401, "bad key", "refused", True),
        (403, "not for you", "refused", True),
        (404, "model 'x' not found", "refused", True),
        (400, "no such parameter", "refused", False),
        (413, "body too large", "too_long", False),
        (400, "context_length_exceeded", "too_long", False),
        (500, "Requested tokens (9000) exceed context window of 8192", "too_long", False),
        (429, "slow down", "rate_limited", False),
        (429, "insufficient_quota", "refused", True),
        (408, "", "timeout", False),
        (504, "", "timeout", False),
        (500, "oops", "unreachable", True),
        (503, "overloaded", "unreachable", True),
        (422, "the whole prompt " * 500, "refused", False),
    ],
)
def test_a_status_gives_the_kind_of_failure(status, message, kind, affects_all):
    """What every question would meet affects all of them; reasons are stored, and some servers send the prompt back."""
    failure = failure_of(ServerError(status, message))

    assert (failure.kind, failure.affects_all, failure.status) == (kind, affects_all, status)
    assert len(failure.reason) <= MAX_REASON + 3


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ContextOverflowError(), "too_long"),
        (ModelTimeoutError(), "timeout"),
        (TimeoutError("too slow"), "timeout"),
        (ConnectionResetError("gone"), "unreachable"),
        (socket.gaierror("no such host"), "unreachable"),
        (ValueError("null value for 'choices'"), "refused"),
        (NotImplementedError("no tools"), "refused"),
        (KeyboardInterrupt(), None),
        (ZeroDivisionError(), None),
        (RuntimeError("a mistake in code"), None),
    ],
)
def test_errors_without_a_status_are_read_by_class(error, kind):
    """LangChain's own errors, and Python's; a mistake in code must not look like a server's."""
    failure = failure_of(error)

    assert (failure and failure.kind) == kind


@pytest.mark.parametrize("bad", [Reply(status=429, retry_after=0.01), Reply(hangs_up=True)])
def test_what_is_transient_is_tried_again(bad):
    """A rate limit is waited for, a connection made again; both are one call."""
    with FakeServer([bad, Reply("Hello.")]) as server:
        result = chat_of(server, retries=1).ask(AskText())

    assert result.answer == "Hello."
    assert (len(server.requests), result.usage.calls) == (2, 1)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(status=429, retry_after=3600, error="no"), "rate_limited"),
        (Reply(status=401, error="no"), "refused"),
        (Reply(status=413, error="no"), "too_long"),
    ],
)
def test_permanent_failures_and_a_wait_of_an_hour_are_not_retried(reply, kind):
    """One call, no other method; the failure says why."""
    with FakeServer([reply]) as server:
        result = chat_of(server, retries=2).ask(AskNote())

    assert result.failure.kind == kind
    assert "no" in result.failure.reason
    assert len(server.requests) == 1


def test_a_slow_server_is_a_timeout():
    """The client's own time-out ends the wait."""
    with FakeServer(otherwise=Reply("Hello.", after_seconds=30)) as server:
        result = chat_of(server, timeout=0.1).ask(AskText())

    assert result.failure.kind == "timeout"


def test_an_absent_server_is_unreachable():
    """The reason is the system's, not the client's "Connection error." alone."""
    with FakeServer() as server:
        gone = server.url

    result = chat_of(gone).ask(AskText())

    assert result.failure.kind == "unreachable"
    assert "refused" in result.failure.reason


def test_a_bare_server_error_may_be_the_methods_fault():
    """While no method is known to work, one that meets status 500 is left for the next; later it is the server's."""
    with FakeServer([Reply(status=500), Reply(GOOD), Reply(status=500)]) as server:
        model = chat_of(server)
        first, second = model.ask(AskNote()), model.ask(AskNote())

    assert first.answer is not None
    assert (first.usage.calls, second.usage.calls) == (2, 1)
    assert second.failure is not None
    assert all("response_format" not in request for request in server.requests[1:])


def test_a_model_that_refuses_a_temperature_gets_none():
    """OpenAI's reasoning models take their own alone."""
    refusal = Reply(status=400, error="Unsupported value: 'temperature' does not support 0 with this model.")
    with FakeServer([refusal, Reply("Hello."), Reply("Hello.")]) as server:
        model = chat_of(server)
        first, second = model.ask(AskText()), model.ask(AskText())

    assert first.answer == second.answer == "Hello."
    assert ["temperature" in request for request in server.requests] == [True, False, False]
