"""Define the `Model` port and the `Question` and `LLMResult` that pass through it.

A question is a typed value: its inputs, the schema of its answer, and how it is rendered for a chat model. Nodes use
this port alone, whether a language model, rules, a recording or a test answers.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, get_args

from langchain_core.messages import BaseMessage

from langgraph_engram.results import UsageEntry, sum_of

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)

MOST_POOR = 2
"""Poor answers, without a good one, after which a model is asked to label only; one that never came counts as many."""
FailureKind = Literal["invalid", "unreachable", "refused", "timeout", "rate_limited", "too_long"]


class Question(ABC, Generic[Answer_co]):
    """Something we ask a model. Subclasses are frozen dataclasses: `class Ask(Question[Verdict])`.

    An answer is a pydantic model, or `str` for plain text that people read, and that may stream.
    """

    @abstractmethod
    def render(self) -> list[BaseMessage]:
        """Render the question for a chat model: the fixed part first, so that a provider's prompt cache hits."""

    @classmethod
    def answer_type(cls) -> type[Answer_co]:
        """Return the type of the answer."""
        for base in getattr(cls, "__orig_bases__", ()):
            if getattr(base, "__origin__", None) is Question:
                return cast(type[Answer_co], get_args(base)[0])
        raise TypeError(f"{cls.__name__} must be declared as Question[SomeAnswer]")

    @property
    def name(self) -> str:
        """Return the question's name, as it appears in recordings and usage entries."""
        return type(self).__name__


@dataclass(frozen=True)
class Failure:
    """Why a question has no answer."""

    kind: FailureKind
    reason: str


@dataclass(frozen=True)
class LLMResult(Generic[Answer_co]):
    """The answer to one question, or the failure, and what it cost."""

    answer: Answer_co | None
    usage: UsageEntry
    failure: Failure | None = None
    by_rule: bool = False
    """Whether a rule answered: it finds and quotes, and judges nothing to be sufficient."""


class Capability:
    """What a model has shown so far of its writing, by its good and poor answers. Safe to share between threads."""

    def __init__(self) -> None:
        self._good = self._poor = 0
        self._lock = Lock()

    @property
    def is_lacking(self) -> bool:
        """Return whether the model has only shown that it cannot write."""
        return self._poor >= MOST_POOR and not self._good

    def note(self, *, good: int = 0, poor: int = 0) -> None:
        """Count answers."""
        with self._lock:
            self._good += good
            self._poor += poor


class Model(Protocol):
    """Answer questions. Adapters: `ChatModel`, `RuleModel`, `FakeModel`."""

    @property
    def name(self) -> str:
        """Return the model's name for usage entries and receipts: "rules", "openai:gpt-4.1-mini"."""

    @property
    def by_rules(self) -> bool:
        """Return whether rules answer, and no language model."""

    @property
    def capability(self) -> Capability:
        """Return what the model has shown of its writing; those who judge its answers note it here."""

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question. An invalid answer is repaired once; a failure is part of the result, never raised."""

    def ask_all(self, questions: Sequence[Question[Answer]]) -> list[LLMResult[Answer]]:
        """Answer questions concurrently, in order. A failure of one does not affect the others."""


def entry_of(node: str, results: Sequence[LLMResult[Any]]) -> UsageEntry:
    """Return the sum of what a node's questions cost, as one usage entry of that node."""
    usages = [result.usage for result in results]
    return sum_of(usages, node, usages[0].model if usages else "")
