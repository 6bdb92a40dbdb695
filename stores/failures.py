"""Turn what Chroma and its connection raise into our errors, each one line that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from pydantic import ValidationError

from langgraph_engram.errors import InvalidMessages, StoreError, StoreFailed, StoreUnreachable


def unreachable(url: str, reason: object) -> StoreUnreachable:
    """Say that no server answers at `url`, and how to start one."""
    return StoreUnreachable(
        f"no Chroma server answers at {url!r} ({reason}): start one with `chroma run --path DIR`, or name a folder "
        f"instead of a URL"
    )


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raise our errors for Chroma's while a store at `location` is used.

    Raises:
        StoreUnreachable: The connection to a server broke.
        StoreFailed: Chroma could not do it this time: its database is busy, or it has too much to do.
        StoreError: Chroma could not do it, or holds what this version cannot read.
        InvalidMessages: A text cannot be written in UTF-8.
    """
    from chromadb.errors import ChromaError, InternalError, RateLimitError

    try:
        yield
    except httpx.TransportError as error:
        raise unreachable(location, error) from error
    except ChromaError as error:
        reason = " ".join(str(error).split())
        kind = StoreFailed if isinstance(error, InternalError | RateLimitError) else StoreError
        raise kind(f"the store {location!r} failed: {reason}; try again, or look at its disk") from error
    except UnicodeEncodeError as error:
        raise InvalidMessages(
            f"half a character in {error.object[max(0, error.start - 20) : error.end]!r}: send text "
            f"that is valid Unicode"
        ) from error
    except ValidationError as error:
        raise StoreError(
            f"the store {location!r} holds a {error.title!r} that this version cannot read: install the one it is of"
        ) from error
