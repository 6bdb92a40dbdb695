"""Turn what a chat model raises into a typed failure of one question.

LangChain's `ModelError`s say what happened in the same words for every provider; other errors are read by their HTTP
status, or by the builtin that they refine.
"""

import re
from dataclasses import dataclass

import httpx
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelConnectionError,
    ModelError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

from langgraph_engram.llm.base import Failure, FailureKind

MAX_REASON = 300
"""Characters of a server's message that are kept. Some servers send the whole prompt back."""
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens", re.I
)
NO_QUOTA = "insufficient_quota"
NOT_IMPLEMENTED = 501
"""The status of what a chat model cannot send."""
SHARED_STATUSES = {401, 402, 403, 404}
TIMEOUT_STATUSES = {408, 504}
TIMEOUTS = (ModelTimeoutError, httpx.TimeoutException, TimeoutError)
CONNECTION_ERRORS = (ModelAPIError, ModelConnectionError, httpx.TransportError, OSError)
MALFORMED_REPLIES = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""Errors that chat models raise when the reply is no chat completion: a web page, or an error with status 200."""


@dataclass(frozen=True)
class RequestFailure(Failure):
    """A failure of the server or of the connection to it."""

    status: int | None = None
    """The HTTP status, where there is one."""
    affects_all: bool = False
    """Whether every other question would fail the same way."""


def failure_of(error: BaseException) -> RequestFailure | None:
    """Classify an error that a chat model raised; None for one of neither the server nor the connection to it."""
    status = _status(error)
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if status is None and isinstance(error, MALFORMED_REPLIES):
        reason = f"the reply is not a chat completion: {reason}"
    kind = _kind(error, status, reason)
    if kind is None:
        return None
    affects_all = kind == "unreachable" or status in SHARED_STATUSES or NO_QUOTA in reason
    reason += _root_cause(error)
    shown = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}..."
    return RequestFailure(kind, shown, status, affects_all)


def cut_off_reply(error: BaseException) -> AIMessage | None:
    """Return the reply inside OpenAI's error for an answer that reached the token limit; None for another error."""
    completion = getattr(error, "completion", None)
    if completion is None or completion.usage is None:
        return None
    usage = UsageMetadata(
        input_tokens=completion.usage.prompt_tokens,
        output_tokens=completion.usage.completion_tokens,
        total_tokens=completion.usage.total_tokens,
    )
    text = completion.choices[0].message.content or ""
    return AIMessage(text, response_metadata={"finish_reason": "length"}, usage_metadata=usage)


def _kind(error: BaseException, status: int | None, reason: str) -> FailureKind | None:
    if isinstance(error, ContextOverflowError) or status == 413 or (status and TOO_LONG.search(reason)):
        return "too_long"
    if isinstance(error, ModelRateLimitError) or status == 429:
        return "refused" if NO_QUOTA in reason else "rate_limited"
    if isinstance(error, TIMEOUTS) or status in TIMEOUT_STATUSES:
        return "timeout"
    if isinstance(error, CONNECTION_ERRORS) or (status and status >= 500 and status != NOT_IMPLEMENTED):
        return "unreachable"
    return "refused" if status or isinstance(error, (ModelError, *MALFORMED_REPLIES)) else None


def _status(error: BaseException) -> int | None:
    if isinstance(error, NotImplementedError):
        return NOT_IMPLEMENTED
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def _root_cause(error: BaseException) -> str:
    """Return what caused an error, in brackets: "Connection error." alone says little."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    return "" if root is error or str(root) in str(error) else f" ({root})"
