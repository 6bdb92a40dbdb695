"""Send one request to a chat model with retries, classify its failures, and count every attempt.

Transient failures (rate limits, time-outs, broken connections, server errors) are retried after an exponential pause
with jitter, or after the pause that the server asks for.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import BoundedSemaphore
from time import perf_counter
from types import TracebackType
from typing import Literal, Self

from langchain_core.messages import AIMessage, BaseMessage
from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential, wait_random

from langgraph_engram.llm.base import Failure, FailureKind
from langgraph_engram.results import UsageEntry, count_tokens

Send = Callable[[list[BaseMessage]], AIMessage]
Retry = Literal["never", "once", "often"]

MAX_PAUSE = 60.0
"""Seconds. A request is not retried if the server asks for a longer pause."""
QUICK_PAUSE = 0.2
"""Seconds before a request is retried once."""
BACKOFF = wait_exponential(multiplier=0.5, max=20.0) + wait_random(0.0, 0.5)
MAX_REASON = 300
"""Characters of a server's message that are kept. Some servers send the whole prompt back."""
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens", re.I
)
NO_QUOTA = re.compile(r"insufficient_quota", re.I)
UNSUPPORTED_METHOD = re.compile(
    r"response_format|json_schema|json_object|json mode|tool_choice|parallel_tool|\btools?\b|function.?call|grammar"
    r"|structured output",
    re.I,
)
"""Words with which a server rejects the way in which JSON was requested."""
METHOD_STATUSES = {400, 404, 422, 500, 501}
SHARED_STATUSES = {401, 402, 403, 404}
TIMEOUT_STATUSES = {408, 504}
NO_LISTENER = {"ConnectionRefusedError", "gaierror", "ConnectTimeout"}
"""Errors raised where nothing listens at the address, or the host does not exist."""
CONNECTION_ERRORS = {"APIConnectionError", "ModelConnectionError", "TransportError", "ConnectionError", "gaierror"}
MALFORMED_REPLY = {"ValueError", "TypeError", "AttributeError", "LookupError", "RecursionError"}
"""Errors that chat models raise when the reply is no chat completion: a web page, or an error with status 200."""


@dataclass(frozen=True)
class RequestFailure(Failure):
    """A failure of the server or of the connection to it."""

    status: int | None = None
    """The HTTP status, where there is one."""
    retry_after: float = 0.0
    """Seconds that the server asks us to wait."""
    retry: Retry = "never"
    affects_all: bool = False
    """Whether every other question would fail the same way."""
    unsupported_method: bool = False
    """Whether the server rejects the way in which JSON was requested."""


def classify_failure(error: BaseException) -> RequestFailure | None:
    """Classify an error raised by a chat model.

    Returns:
        The failure; None for an error that comes from neither the server nor the connection to it.
    """
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    names = _class_names(error)
    status = _status(error)
    if status is not None:
        return _classify_status(status, reason, names, error)
    if "ContextOverflowError" in names:
        return RequestFailure("too_long", _shorten(reason))
    if "NotImplementedError" in names:
        return RequestFailure("refused", _shorten(reason), unsupported_method=True)
    if "ContentFilterFinishReasonError" in names:
        return RequestFailure("refused", _shorten(reason))
    return _classify_connection(error, reason, names)


@dataclass
class Tally:
    """What one question has cost so far."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repaired: int = 0
    invalid: int = 0
    started: float = field(default_factory=perf_counter)

    def count(self, messages: Sequence[BaseMessage], reply: AIMessage) -> None:
        """Add a reply's tokens: the server's count, or an estimate where it reports none."""
        usage = reply.usage_metadata
        if usage is not None and usage.get("total_cost") == 0:  # LangChain's mark of a reply from its cache
            self.calls -= 1
        elif usage is not None:
            self.prompt_tokens += usage["input_tokens"]
            self.completion_tokens += usage["output_tokens"]
        else:
            self.prompt_tokens += sum(count_tokens(str(message.text)) for message in messages)
            self.completion_tokens += count_tokens(
                str(reply.text) + "".join(str(call["args"]) for call in reply.tool_calls)
            )

    def entry(self, model: str) -> UsageEntry:
        """Return the usage entry of this question."""
        return UsageEntry(
            node="",
            model=model,
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            seconds=perf_counter() - self.started,
            invalid=self.invalid,
            repaired=self.repaired,
            asked=1,
        )


class Sender:
    """Send requests, a limited number at once, and retry transient failures. Safe to share between threads."""

    def __init__(self, retries: int, concurrency: int, sleep: Callable[[float], None] = time.sleep) -> None:
        """Create a sender.

        Args:
            retries: Further attempts after a transient failure.
            concurrency: Requests in flight at once, over all threads.
            sleep: Waits between attempts, in seconds.
        """
        self._retries = retries
        self._sleep = sleep
        self._slots = BoundedSemaphore(concurrency)

    def send(
        self, send: Send, messages: list[BaseMessage], tally: Tally, *, probing: bool = False
    ) -> AIMessage | RequestFailure:
        """Send a request, and count its attempts and tokens in `tally`.

        Args:
            send: Sends the messages once.
            messages: The request.
            tally: Where attempts and tokens are counted.
            probing: Whether a bare server error may mean that the server does not support what is requested; it is
                then retried only once.

        Returns:
            The reply, or the last failure.
        """
        retrying = Retrying(
            sleep=self._sleep,
            stop=lambda state: _is_over(state, self._retries, probing),
            wait=_pause,
            retry=retry_if_result(lambda result: isinstance(result, RequestFailure)),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        result: AIMessage | RequestFailure = retrying(self._attempt, send, messages, tally)
        return result

    def _attempt(self, send: Send, messages: list[BaseMessage], tally: Tally) -> AIMessage | RequestFailure:
        caught = _CaughtFailure()
        reply: AIMessage | None = None
        with self._slots, caught:
            tally.calls += 1
            reply = send(messages)
        reply = reply or caught.truncated
        if reply is None:
            assert caught.failure is not None, "a request ends with a reply or a failure"
            return caught.failure
        tally.count(messages, reply)
        return reply


class _CaughtFailure:
    """Suppress errors of the server and the connection, and keep what they mean; let every other error pass."""

    failure: RequestFailure | None = None
    truncated: AIMessage | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            return False
        self.truncated = _truncated_reply(error)
        self.failure = classify_failure(error) if self.truncated is None else None
        return self.truncated is not None or self.failure is not None


def _truncated_reply(error: BaseException) -> AIMessage | None:
    """Return the reply inside OpenAI's error for an answer that reached the token limit."""
    completion = getattr(error, "completion", None)
    if type(error).__name__ != "LengthFinishReasonError" or completion is None:
        return None
    usage = completion.usage
    return AIMessage(
        content=completion.choices[0].message.content or "",
        response_metadata={"finish_reason": "length"},
        usage_metadata={
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        }
        if usage
        else None,
    )


def _classify_status(status: int, reason: str, names: set[str], error: BaseException) -> RequestFailure:
    short = _shorten(reason)
    if status == 413 or "ContextOverflowError" in names or (status in METHOD_STATUSES and TOO_LONG.search(reason)):
        return RequestFailure("too_long", short, status)
    if status == 429 and not NO_QUOTA.search(reason):
        return RequestFailure("rate_limited", short, status, retry_after=_retry_after(error), retry="often")
    if status in METHOD_STATUSES and UNSUPPORTED_METHOD.search(reason):
        return RequestFailure("refused", short, status, unsupported_method=True)
    if status >= 500 or status in TIMEOUT_STATUSES:
        kind: FailureKind = "timeout" if status in TIMEOUT_STATUSES else "unreachable"
        return RequestFailure(
            kind, short, status, retry_after=_retry_after(error), retry="often", affects_all=kind == "unreachable"
        )
    return RequestFailure("refused", short, status, affects_all=status in SHARED_STATUSES or status == 429)


def _classify_connection(error: BaseException, reason: str, names: set[str]) -> RequestFailure | None:
    causes = list(_causes(error))
    cause_names = set[str]().union(*map(_class_names, causes))
    short = _shorten(reason if causes[-1] is error else f"{reason} ({causes[-1]})")
    if names & CONNECTION_ERRORS and cause_names & NO_LISTENER:
        return RequestFailure("unreachable", short, retry="once", affects_all=True)
    if any("Timeout" in name for name in names):
        return RequestFailure("timeout", short, retry="once")
    if names & CONNECTION_ERRORS:
        return RequestFailure("unreachable", short, retry="often", affects_all=True)
    if names & MALFORMED_REPLY:
        return RequestFailure("refused", _shorten(f"the reply is not a chat completion: {reason}"))
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it, the root last."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _class_names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _shorten(reason: str) -> str:
    return reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}..."


def _status(error: BaseException) -> int | None:
    for source in (error, getattr(error, "response", None)):
        status = getattr(source, "status_code", None)
        if isinstance(status, int) and status >= 400:
            return status
    return None


def _retry_after(error: BaseException) -> float:
    """Return the seconds of a Retry-After header, which holds a number or a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    value = str(headers.get("retry-after") or "").strip()
    if not value:
        return 0.0
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    moment = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _is_over(state: RetryCallState, retries: int, probing: bool) -> bool:
    failure = _last_failure(state)
    once = failure.retry == "once" or (probing and failure.status in METHOD_STATUSES)
    allowed = 0 if failure.retry == "never" else min(1, retries) if once else retries
    return state.attempt_number > allowed or failure.retry_after > MAX_PAUSE


def _pause(state: RetryCallState) -> float:
    failure = _last_failure(state)
    return QUICK_PAUSE if failure.retry == "once" else max(failure.retry_after, BACKOFF(state))


def _last_failure(state: RetryCallState) -> RequestFailure:
    result = state.outcome.result() if state.outcome else None
    assert isinstance(result, RequestFailure), "only failures are retried"
    return result
