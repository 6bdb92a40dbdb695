"""Send one request to a chat model until it is answered or has failed for good, and count every attempt.

What may pass (rate limits, time-outs, broken connections, server errors) is sent again after a growing pause with
jitter, or after the pause that the server asks for. This module does not know what is asked, nor by which method.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from time import perf_counter
from types import TracebackType

from langchain_core.messages import AIMessage, BaseMessage
from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential, wait_random

from langgraph_engram.models.troubles import METHOD_STATUSES, Trouble, read_trouble
from langgraph_engram.results import UsageEntry
from langgraph_engram.usage import count_tokens

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

    trouble: Trouble | None = None
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
        self.trouble = read_trouble(error) if self.cut_off is None else None
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
    ) -> AIMessage | Trouble:
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
            retry=retry_if_result(lambda result: isinstance(result, Trouble)),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        result: AIMessage | Trouble = retrying(self._attempt, send, messages, tally)
        return result

    def _attempt(self, send: Send, messages: list[BaseMessage], tally: Tally) -> AIMessage | Trouble:
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


def _trouble(state: RetryCallState) -> Trouble:
    result = state.outcome.result() if state.outcome else None
    assert isinstance(result, Trouble), "only trouble is waited for"
    return result
