"""Open the memory that a command works on. The facade is imported when it is needed: `engram --help` takes no time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.encoder import Encoder
    from langgraph_engram.memory import Memory
    from langgraph_engram.model import Model


def open_memory(
    store: str | None,
    model: "str | Model | None",
    preset: str | None,
    leave_out: Sequence[str] = (),
    encoder: "Encoder | None" = None,
) -> "Memory":
    """Open a memory as `Memory` does: what is absent comes from `ENGRAM_*`, else from defaults.

    Args:
        store: A folder, a URL or "memory:".
        model: Who answers questions.
        preset: A preset's name.
        leave_out: Parts of the preset to take out, by the names of `ablations`.
        encoder: What makes vectors.

    Raises:
        InvalidInput: A name that means nothing.
    """
    from langgraph_engram.configuration import choose
    from langgraph_engram.memory import Memory
    from langgraph_engram.settings.ablations import without

    settings = without(choose(store, model, preset, None).settings, leave_out) if leave_out else None
    return Memory(store, model, preset, settings=settings, encoder=encoder)


def keep_vectors(folder: Path | None) -> "Encoder":
    """Open the encoder that `ENGRAM_ENCODER` names, its vectors kept on disk: for what is measured again and again.

    Args:
        folder: Where they are kept; None for the user's cache folder.
    """
    from langgraph_engram.configuration import choose
    from langgraph_engram.encoders.kept import KeptEncoder
    from langgraph_engram.encoders.opening import open_encoder

    return KeptEncoder(open_encoder(choose(None, None, None, None).encoder).inner, folder)


def open_existing(store: str | None, model: str | None, preset: str | None) -> "Memory":
    """Open a memory that was written before: a mistyped folder must not look like an empty memory.

    Raises:
        InvalidInput: There is no such folder.
    """
    from langgraph_engram.configuration import choose

    location = choose(store, model, preset, None).store
    if "://" not in location and not Path(location).exists():
        raise InvalidInput(f"no memory at {location!r}: remember something first, or name the folder with --store")
    return open_memory(store, model, preset)
