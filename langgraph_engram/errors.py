"""Define every error that this package raises. A message says what was wrong and what to do."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class EngramError(Exception):
    """The root of every error of this package."""

    def __init__(self, problem: str = "", *, command: str = "") -> None:
        """Say what was wrong and, in `command`, what to do about it on the command line."""
        super().__init__(f"{problem}: {command}" if command else problem)
        self.problem = problem


class InvalidInput(EngramError, ValueError):
    """An argument, message or setting is invalid: exit code 2."""


class MissingUser(InvalidInput):
    """No user was named. Memory never falls back to a default user."""


class InvalidMessages(InvalidInput):
    """A message, role, date or size that cannot be stored."""


class UnreadableFile(InvalidInput, OSError):
    """A file that is missing or malformed."""


class UnknownPreset(InvalidInput, LookupError):
    """No preset of that name."""


class UnknownModel(InvalidInput, LookupError):
    """No model of that name."""


class InvalidSetting(InvalidInput):
    """A number or a name out of its bounds."""


class StoreError(EngramError, RuntimeError):
    """The store failed: exit code 1."""


class StoreLocked(StoreError, TimeoutError):
    """Another process holds the embedded store."""


class StoreUnwritable(StoreError, OSError):
    """The folder of the embedded store cannot be written."""


class StoreUnreachable(StoreError, ConnectionError):
    """The Chroma server does not answer."""


class StoreFailed(StoreError):
    """A Chroma operation failed for a reason that may be transient."""


class EncoderMismatch(StoreError, ValueError):
    """The store's vectors were made by another encoder."""


class NotAllowed(EngramError, PermissionError):
    """The memory belongs to another user."""


class MissingExtra(EngramError, ImportError):
    """An optional package is not installed."""


class EncoderUnavailable(EngramError, RuntimeError):
    """Weights or a package of the encoder are missing or wrong."""


class ModelUnavailable(EngramError, ConnectionError):
    """The language model cannot be built or reached."""


def problems_in(error: "ValidationError", *path: str) -> str:
    """Return what does not fit, in one line: each value by its path, and what is wrong with it."""
    return "; ".join(
        f"{'.'.join(map(str, (*path, *detail['loc'])))}: "
        f"{'there is no such name' if detail['type'] == 'extra_forbidden' else detail['msg']}".removeprefix(": ")
        for detail in error.errors()
    )
