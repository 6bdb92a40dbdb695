"""Choose one sample of a file that holds several. This module does not know what a sample is made of."""

from collections.abc import Mapping, Sequence

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.fields import shown

NAMED_IN_ERRORS = 60


def listed(data: object) -> list[Mapping[str, object]]:
    """Take one sample or a list of samples as a list.

    Raises:
        UnreadableFile: There is something else, or nothing.
    """
    samples = data if isinstance(data, list) else [data]
    if not samples:
        raise UnreadableFile("expected at least one sample, not an empty list")
    return [_mapping(sample, number) for number, sample in enumerate(samples)]


def choose(samples: Sequence[Mapping[str, object]], id_key: str, chosen: str | None) -> Mapping[str, object]:
    """Give the sample whose `id_key` is `chosen`, or the only one.

    Raises:
        InvalidInput: There are several and none was chosen, or none has that id; the text names the ids.
    """
    ids = [str(sample.get(id_key)) for sample in samples]
    if chosen is None and len(samples) == 1:
        return samples[0]
    if chosen in ids:
        return samples[ids.index(chosen)]
    named = ", ".join(ids[:NAMED_IN_ERRORS]) + (", ..." if len(ids) > NAMED_IN_ERRORS else "")
    if chosen is None:
        raise InvalidInput(f"the file holds {len(ids)} samples: choose one (--sample ID) of {named}")
    raise InvalidInput(f"unknown sample {chosen!r}: choose one of {named}")


def _mapping(sample: object, number: int) -> Mapping[str, object]:
    if not isinstance(sample, Mapping):
        raise UnreadableFile(f"expected an object as sample {number}, not {shown(sample)}")
    return sample
