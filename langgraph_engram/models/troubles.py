"""Read why a request to a chat model has no reply, whichever provider's library raised it.

Those libraries share no base class. What they share is an HTTP status, the names of their errors, and words; it is by
these that an error is read here. An error that says none of them is a mistake in code, and passes through untouched.
This module does not send, count or retry anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from langgraph_engram.model import Failure, FailureKind

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
class Trouble(Failure):
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


def read_trouble(error: BaseException) -> Trouble | None:
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
        return Trouble("too_long", _short(reason))
    if "NotImplementedError" in names:
        return Trouble("refused", _short(reason), of_method=True)
    if "ContentFilterFinishReasonError" in names:
        return Trouble("refused", _short(reason))
    return _on_the_way(error, reason, names)


def _by_status(status: int, reason: str, names: set[str], error: BaseException) -> Trouble:
    short = _short(reason)
    if status == 413 or "ContextOverflowError" in names or (status in METHOD_STATUSES and TOO_LONG.search(reason)):
        return Trouble("too_long", short, status)
    if status == 429 and not NO_QUOTA.search(reason):
        return Trouble("rate_limited", short, status, pause=_asked_pause(error), retry="often")
    if status in METHOD_STATUSES and METHOD.search(reason):
        return Trouble("refused", short, status, of_method=True)
    if status >= 500 or status in TIMEOUT_STATUSES:
        kind: FailureKind = "timeout" if status in TIMEOUT_STATUSES else "unreachable"
        everyone = kind == "unreachable"
        return Trouble(kind, short, status, pause=_asked_pause(error), retry="often", everyone=everyone)
    return Trouble("refused", short, status, everyone=status in EVERYONE_STATUSES or status == 429)


def _on_the_way(error: BaseException, reason: str, names: set[str]) -> Trouble | None:
    causes = set[str]().union(*map(_names, _chain(error)))
    short = _short(_with_cause(error, reason))
    if names & CONNECTIONS and causes & ABSENT:
        return Trouble("unreachable", short, retry="once", everyone=True)
    if any("Timeout" in name for name in names):
        return Trouble("timeout", short, retry="once")
    if names & CONNECTIONS:
        return Trouble("unreachable", short, retry="often", everyone=True)
    if names & UNREADABLE:
        return Trouble("refused", _short(f"the reply is not a chat completion: {reason}"))
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
