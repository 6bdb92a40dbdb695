"""Fetch files from the Hugging Face hub, or from what an earlier visit to it left on this machine.

`cached` never touches the network. `download` may take half a minute to give up where there is none, so callers come
here only when nothing on the machine will do. This module does not know what is in the files.
"""

import logging
from pathlib import Path

from langgraph_engram.errors import EncoderUnavailable

log = logging.getLogger(__name__)

CURRENT = "main"
"""The revision under which other programs have usually left a file."""


def cached(repository: str, name: str, revision: str) -> Path | None:
    """Find a file that was fetched before, at `revision` or as another program left it. None if it was not."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    for one in (revision, CURRENT):
        found = try_to_load_from_cache(repository, name, revision=one)
        if isinstance(found, str):
            return Path(found)
    return None


def download(repository: str, name: str, revision: str, hint: str) -> Path:
    """Fetch a file, from the hub's cache where it is there.

    Args:
        repository: Owner and name on the hub.
        name: The file's path in the repository.
        revision: The commit.
        hint: What to do where the hub cannot be reached; ends the error's message.

    Raises:
        EncoderUnavailable: The hub cannot be reached or has no such file.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        log.info("fetching %s of %s", name, repository)
        try:
            return Path(hf_hub_download(repository, name, revision=revision))
        except (OSError, EntryNotFoundError) as error:
            reason = _first_line(error)
            raise EncoderUnavailable(f"cannot fetch {name!r} of {repository!r}: {reason}; {hint}") from error
    except ImportError as error:
        raise EncoderUnavailable(f"the package 'huggingface_hub' is missing; {hint}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
