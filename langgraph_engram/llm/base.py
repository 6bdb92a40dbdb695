"""Define the seam between the graphs and whatever answers them: `Question`, `LLMResult` and the `Model` port.

A question is a typed value: its inputs, the schema of its answer, and how it is worded for a chat model. Nodes know
this port alone; they do not know whether a language model, a rule, a recording or a test answers.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, get_args

from langchain_core.messages import BaseMessage

from langgraph_engram.results import UsageEntry

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)

FailureKind = Literal["invalid", "unreachable", "refused", "timeout", "rate_limited", "too_long"]


class Question(ABC, Generic[Answer_co]):
    """Something we ask a model. Subclasses are frozen dataclasses: `class Ask(Question[Verdict])`.

    A question whose answer is `str` is a text question: plain text that people read, and that may stream. Every
    other answer is a pydantic model, and its schema is the one statement of the answer's shape.
    """

    @abstractmethod
    def render(self) -> list[BaseMessage]:
        """Word the question for a chat model: the fixed part first, so that a provider's prompt cache hits."""

    @classmethod
    def answer_type(cls) -> type[Answer_co]:
        """Give the type of the answer: a pydantic model, or `str` for a text question."""
        for base in getattr(cls, "__orig_bases__", ()):
            if getattr(base, "__origin__", None) is Question:
                return cast(type[Answer_co], get_args(base)[0])
        raise TypeError(f"{cls.__name__} must be declared as Question[SomeAnswer]")

    @property
    def name(self) -> str:
        """Give the question's name, as it appears in recordings and ledgers."""
        return type(self).__name__


@dataclass(frozen=True)
class Failure:
    """Why a question has no answer."""

    kind: FailureKind
    reason: str


@dataclass(frozen=True)
class LLMResult(Generic[Answer_co]):
    """What came of one question: an answer or a failure, and what it cost."""

    answer: Answer_co | None
    usage: UsageEntry
    failure: Failure | None = None
    by_rule: bool = False
    """Whether a rule answered: it finds and quotes, and judges nothing to be sufficient."""


class Model(Protocol):
    """Answer questions. Adapters: `ChatModel`, `RuleModel`, `ReplayModel`, `FakeModel`."""

    @property
    def name(self) -> str:
        """Give the model's name for ledgers and receipts: "rules", "openai:gpt-4.1-mini"."""

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question. A bad answer is repaired once, then is a failure of this question; never raises it."""

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions side by side, in order. One failure never loses its siblings."""


def entry_of(node: str, asked: Sequence[LLMResult[Any]]) -> UsageEntry:
    """Add up what a node's questions cost, as one ledger entry of that node."""
    usages = [one.usage for one in asked]
    return UsageEntry(
        node=node,
        model=usages[0].model if usages else "",
        calls=sum(usage.calls for usage in usages),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        seconds=sum(usage.seconds for usage in usages),
        invalid=sum(usage.invalid for usage in usages),
        repaired=sum(usage.repaired for usage in usages),
        asked=sum(usage.asked for usage in usages),
    )
