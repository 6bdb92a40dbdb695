"""Send one request to a chat model until it is answered or has failed for good, and count every attempt.

What may pass (rate limits, time-outs, broken connections, server errors) is sent again after a growing pause with
jitter, or after the pause that the server asks for. This module does not know what is asked, nor by which method.
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
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage
from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential, wait_random

from langgraph_engram.llm.base import Failure, FailureKind
from langgraph_engram.results import UsageEntry, count_tokens

Retry = Literal["never", "once", "often"]

LONGEST_REASON = 300
"""Characters of a server's message that are kept. Some servers send the whole prompt back."""
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens", re.I
)
NO_QUOTA = re.compile(r"insufficient_quota", re.I)
METHOD = re.compile(
    r"response_format|json_schema|json_object|json mode|tool_choice|parallel_tool|\btools?\b|function.?call|grammar"
    r"|structured output",
    re.I,
)
"""Words by which a server complains of the way in which JSON was asked for."""
METHOD_STATUSES = {400, 404, 422, 500, 501}
EVERYONE_STATUSES = {401, 402, 403, 404}
TIMEOUT_STATUSES = {408, 504}
ABSENT = {"ConnectionRefusedError", "gaierror", "ConnectTimeout"}
"""Nothing listens there, or there is no such place."""
CONNECTIONS = {"APIConnectionError", "ModelConnectionError", "TransportError", "ConnectionError", "gaierror"}
UNREADABLE = {"ValueError", "TypeError", "AttributeError", "KeyError"}
"""What chat models raise when the reply is not a chat completion: a web page, or an error with status 200."""


@dataclass(frozen=True)
class RequestFailure(Failure):
    """A failure that the server caused, or the way to it."""

    status: int | None = None
    """The HTTP status, where there is one."""
    pause: float = 0.0
    """Seconds that the server asks us to wait."""
    retry: Retry = "never"
    everyone: bool = False
    """Whether every other question would meet it too."""
    of_method: bool = False
    """Whether the server complains of how JSON was asked for."""


def classify_failure(error: BaseException) -> RequestFailure | None:
    """Read an error of a chat model.

    Returns:
        What is the trouble; None for an error that does not come from a server or from the way to it.
    """
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    names = _names(error)
    status = _status(error)
    if status is not None:
        return _by_status(status, reason, names, error)
    if "ContextOverflowError" in names:
        return RequestFailure("too_long", _short(reason))
    if "NotImplementedError" in names:
        return RequestFailure("refused", _short(reason), of_method=True)
    if "ContentFilterFinishReasonError" in names:
        return RequestFailure("refused", _short(reason))
    return _on_the_way(error, reason, names)


def _by_status(status: int, reason: str, names: set[str], error: BaseException) -> RequestFailure:
    short = _short(reason)
    if status == 413 or "ContextOverflowError" in names or (status in METHOD_STATUSES and TOO_LONG.search(reason)):
        return RequestFailure("too_long", short, status)
    if status == 429 and not NO_QUOTA.search(reason):
        return RequestFailure("rate_limited", short, status, pause=_asked_pause(error), retry="often")
    if status in METHOD_STATUSES and METHOD.search(reason):
        return RequestFailure("refused", short, status, of_method=True)
    if status >= 500 or status in TIMEOUT_STATUSES:
        kind: FailureKind = "timeout" if status in TIMEOUT_STATUSES else "unreachable"
        everyone = kind == "unreachable"
        return RequestFailure(kind, short, status, pause=_asked_pause(error), retry="often", everyone=everyone)
    return RequestFailure("refused", short, status, everyone=status in EVERYONE_STATUSES or status == 429)


def _on_the_way(error: BaseException, reason: str, names: set[str]) -> RequestFailure | None:
    causes = set[str]().union(*map(_names, _chain(error)))
    short = _short(_with_cause(error, reason))
    if names & CONNECTIONS and causes & ABSENT:
        return RequestFailure("unreachable", short, retry="once", everyone=True)
    if any("Timeout" in name for name in names):
        return RequestFailure("timeout", short, retry="once")
    if names & CONNECTIONS:
        return RequestFailure("unreachable", short, retry="often", everyone=True)
    if names & UNREADABLE:
        return RequestFailure("refused", _short(f"the reply is not a chat completion: {reason}"))
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _with_cause(error: BaseException, reason: str) -> str:
    *_, root = _chain(error)
    return reason if root is error else f"{reason} ({root})"


def _short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."


def _status(error: BaseException) -> int | None:
    for place in (error, getattr(error, "response", None)):
        status = getattr(place, "status_code", None)
        if isinstance(status, int) and status >= 400:
            return status
    return None


def _asked_pause(error: BaseException) -> float:
    """Read the seconds of a Retry-After header: a number, or a date."""
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


Send = Callable[[list[BaseMessage]], AIMessage]

LONGEST_PAUSE = 60.0
"""Seconds. A server that asks for a longer pause is not waited for."""
QUICK_PAUSE = 0.2
"""Seconds before the one further attempt at a server that is not there."""
GROWING_PAUSE = wait_exponential(multiplier=0.5, max=20.0) + wait_random(0.0, 0.5)


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
        """Add a reply's tokens: the server's count, or an estimate where it gives none."""
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
        """Give the ledger entry of this question."""
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


class Noticed:
    """Keep what goes wrong on the way to a server, and let every other error pass."""

    trouble: RequestFailure | None = None
    cut_off: AIMessage | None = None

    def __enter__(self) -> "Noticed":
        """Begin to watch."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Hold back an error that can be read as trouble."""
        if error is None:
            return False
        self.cut_off = cut_off_reply(error)
        self.trouble = classify_failure(error) if self.cut_off is None else None
        return self.cut_off is not None or self.trouble is not None


class Sender:
    """Send requests, so many at once, and again while the trouble may pass. Safe to share between threads."""

    def __init__(self, retries: int, concurrency: int, sleep: Callable[[float], None] = time.sleep) -> None:
        """Make a sender.

        Args:
            retries: Further attempts after trouble that may pass.
            concurrency: Requests in flight at once, whoever asks.
            sleep: What waits between attempts, in seconds.
        """
        self._retries = retries
        self._sleep = sleep
        self._gate = BoundedSemaphore(concurrency)

    def send(
        self, send: Send, messages: list[BaseMessage], tally: Tally, *, unsure: bool = False
    ) -> AIMessage | RequestFailure:
        """Send a request, and count its attempts and tokens in `tally`.

        Args:
            send: What sends the messages once.
            messages: The request.
            tally: Where attempts and tokens are counted.
            unsure: Whether a bare server error may mean that the server cannot do what is asked: one more attempt.

        Returns:
            The reply, or the last trouble.
        """
        retrying = Retrying(
            sleep=self._sleep,
            stop=lambda state: _is_over(state, self._retries, unsure),
            wait=_pause,
            retry=retry_if_result(lambda result: isinstance(result, RequestFailure)),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        result: AIMessage | RequestFailure = retrying(self._attempt, send, messages, tally)
        return result

    def _attempt(self, send: Send, messages: list[BaseMessage], tally: Tally) -> AIMessage | RequestFailure:
        noticed = Noticed()
        reply: AIMessage | None = None
        with self._gate, noticed:
            tally.calls += 1
            reply = send(messages)
        reply = reply or noticed.cut_off
        if reply is None:
            assert noticed.trouble is not None, "a request ends with a reply or with trouble"
            return noticed.trouble
        tally.count(messages, reply)
        return reply


def cut_off_reply(error: BaseException) -> AIMessage | None:
    """Rescue the reply from OpenAI's error for an answer that reached the limit of tokens."""
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


def _is_over(state: RetryCallState, retries: int, unsure: bool) -> bool:
    trouble = _trouble(state)
    once = trouble.retry == "once" or (unsure and trouble.status in METHOD_STATUSES)
    allowed = 0 if trouble.retry == "never" else min(1, retries) if once else retries
    return state.attempt_number > allowed or trouble.pause > LONGEST_PAUSE


def _pause(state: RetryCallState) -> float:
    trouble = _trouble(state)
    return QUICK_PAUSE if trouble.retry == "once" else max(trouble.pause, GROWING_PAUSE(state))


def _trouble(state: RetryCallState) -> RequestFailure:
    result = state.outcome.result() if state.outcome else None
    assert isinstance(result, RequestFailure), "only trouble is waited for"
    return result
