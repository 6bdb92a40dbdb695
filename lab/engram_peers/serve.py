"""Serve a memory over standard input and output, a line of JSON for each call: what every driver here runs.

A driver stands beside this file in a folder of its own with the versions that it was written for
(`NAME/driver.py`, `NAME/requirements.txt`), and runs in an environment that has nothing but these. Only the standard
library is used here.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from time import perf_counter, process_time
from typing import Any, Protocol

Message = dict[str, Any]
"""`id`, `session`, `speaker`, `role`, `text`, `captions` and `said_at` of one message."""
Passage = dict[str, Any]
"""`text` as a reader sees it, and the `ids` of the messages that it rests on; without ids its words tell."""
SHOWN_BY_DEFAULT = 10
LEAST_TOKENS = 10
"""Tokens that a passage has at least: so many fewer of them can fit."""
MOST_CHARACTERS = 400
"""Characters of an error."""


class System(Protocol):
    """A memory that is compared."""

    def remember(self, user: str, messages: Sequence[Message]) -> int | dict[str, int] | None:
        """Store a whole conversation, oldest first; return how many things are stored, where that is known."""

    def search(self, user: str, asked: dict[str, Any], tokens: int | None) -> list[Passage]:
        """Return what fits about so many tokens, best first; without a number, what a search returns by default.

        `asked` has the `text`, the `thread` of texts before it, and the time `now`.
        """

    def close(self) -> object:
        """Release what is held."""


def text_of(message: Message) -> str:
    """Return a message under its speaker's name."""
    return f"{message['speaker']}: {' '.join([message['text'], *message['captions']])}"


def query_of(asked: dict[str, Any]) -> str:
    """Return what is asked with what was said before it."""
    return "\n".join([*asked["thread"], asked["text"]])


def most(tokens: int | None) -> int:
    """Return how many passages can fit."""
    return tokens // LEAST_TOKENS if tokens else SHOWN_BY_DEFAULT


def serve(open_system: Callable[[dict[str, Any]], System], package: str) -> None:
    """Answer requests until there are no more. What the memory prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    system: System | None = None
    reply: dict[str, Any]
    for line in sys.stdin:
        request = json.loads(line)
        wall, cpu = perf_counter(), process_time()
        try:
            match request.pop("call"):
                case "open":
                    system, reply = open_system(request), {"version": version(package)}
                case "remember" if system:
                    stored = system.remember(request["user"], request["messages"])
                    reply = stored if isinstance(stored, dict) else {"stored": stored}
                case "search" if system:
                    reply = {"passages": system.search(request["user"], request["asked"], request["tokens"])}
                case _:
                    reply = {"closed": system.close() if system else None}
        except Exception as error:  # noqa: BLE001 - whatever fails in a memory is its result
            reply = {"error": f"{type(error).__name__}: {error}"[:MOST_CHARACTERS]}
        reply |= {"seconds": perf_counter() - wall, "cpu": process_time() - cpu}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    os._exit(0)  # threads of the memory may not want to end
