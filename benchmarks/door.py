"""Name what a benchmark asks of a memory: the part of the `Memory` facade that it uses, and how one is opened.

This module does not know how anything is measured.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from langgraph_engram.formats.conversation import Session
from langgraph_engram.results import Receipt, Recollection, Status

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


class MemoryDoor(Protocol):
    """The part of `Memory` that is measured."""

    def remember_sessions(
        self, sessions: Sequence[Session], *, user_id: str, progress: Progress | None = None
    ) -> Receipt:
        """Write sessions into a user's memory."""

    def search(
        self, query: str, *, user_id: str, budget: int | None = None, now: datetime | None = None
    ) -> Recollection:
        """Find evidence, best first, within a budget of tokens."""

    def recall(self, query: str, *, user_id: str, now: datetime | None = None) -> Recollection:
        """Answer a question, citing evidence as [n]."""

    def status(self, user_id: str) -> Status:
        """Tell under which preset and with which model the memory works."""


OpenMemory = Callable[[str], AbstractContextManager[MemoryDoor]]
"""Opens a memory in the folder it is given; leaving the context closes it."""
