"""Tell why a command did not do its work: one line on stderr, and with --json one document on stdout.

Exit codes: 0 done, 1 the operation failed, 2 bad usage or bad input, 130 interrupted. This module does not know any
command.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import typer

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
DEBUG_VARIABLE = "ENGRAM_DEBUG"


def fail(message: str, code: int, as_json: bool) -> int:
    """Tell what went wrong, on one line, and give the exit code back."""
    line = " ".join(message.split())
    if as_json:
        typer.echo(json.dumps({"error": line}))
    typer.echo(f"engram: {line}", err=True)
    return code


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether --json is among the options: what follows a bare "--" is no option."""
    given = list(arguments)
    return "--json" in (given[: given.index("--")] if "--" in given else given)


@dataclass(frozen=True)
class BugReport:
    """What stands in for `sys.excepthook`: an error that we did not foresee is a bug, and is said to be one."""

    as_json: bool

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Say on one line what happened and how to see where; Python then exits with code 1."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        told = f"{kind.__name__}: {error}"
        fail(f"this is a bug: {told}; set {DEBUG_VARIABLE}=1 to see where it happened", FAILED, self.as_json)
