"""Reading errors: what kind of failure each is, and whether it may pass."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from langgraph_engram.llm.sending import LONGEST_REASON, classify_failure


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
    ("status", "message", "kind", "retry", "everyone"),
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
def test_a_status_says_what_is_the_trouble(status, message, kind, retry, everyone):
    """What may pass is tried again; what no question can escape concerns everyone."""
    trouble = classify_failure(ServerError(status, message))

    assert trouble is not None
    assert (trouble.kind, trouble.retry, trouble.everyone) == (kind, retry, everyone)


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
def test_a_complaint_about_the_method_is_told_apart(status, message):
    """Another way of asking for JSON may work, and at once."""
    trouble = classify_failure(ServerError(status, message))

    assert trouble is not None
    assert trouble.of_method
    assert trouble.retry == "never"


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
    trouble = classify_failure(error)

    assert trouble is not None
    assert (trouble.kind, trouble.retry) == (kind, retry)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), RuntimeError("a mistake in code")])
def test_other_errors_are_not_ours_to_hold(error):
    """A mistake in code must not look like a server's."""
    assert classify_failure(error) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("soon", 0.0), ("Sat, 01 Jan 2000 00:00:00 GMT", 0.0)],
)
def test_the_pause_that_a_server_asks_for_is_read(value, seconds):
    """Retry-After is a number of seconds; what cannot be read, or is past, asks for none."""
    trouble = classify_failure(ServerError(429, "slow down", {"retry-after": value}))

    assert trouble is not None
    assert trouble.pause == seconds


def test_a_pause_may_end_at_a_date():
    """Retry-After may name the moment."""
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30))

    trouble = classify_failure(ServerError(429, "slow down", {"retry-after": moment}))

    assert trouble is not None
    assert trouble.pause == pytest.approx(30, abs=5)


def test_a_long_message_is_cut():
    """Some servers send the whole prompt back, and reasons are stored."""
    trouble = classify_failure(ServerError(422, "x" * 5000))

    assert trouble is not None
    assert len(trouble.reason) <= LONGEST_REASON + 3
