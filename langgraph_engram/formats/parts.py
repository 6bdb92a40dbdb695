"""Read the content of one message: plain text, or the content parts of LangChain and OpenAI.

Text parts are joined, images give what is said of them in words; reasoning, calls, sound and files give nothing. This
module does not know who speaks.
"""

from collections.abc import Mapping, Sequence

from langgraph_engram.errors import InvalidMessages
from langgraph_engram.formats.fields import read_text, shown

TEXT_TYPES = frozenset({"text", "text-plain", "input_text", "output_text"})
IMAGE_TYPES = frozenset({"image", "image_url", "input_image"})
CAPTION_KEYS = ("caption", "alt_text", "alt", "description")


def read_content(content: object) -> tuple[str, list[str]]:
    """Read a message's content.

    Args:
        content: A string, a list of parts (strings or dicts with a `type`), or None.

    Returns:
        The text, parts joined by line breaks, and the captions of its images, in order.

    Raises:
        InvalidMessages: The content or a part of it is of another kind.
    """
    if content is None:
        return "", []
    if isinstance(content, str):
        return read_text(content, "the text"), []
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise InvalidMessages(f"the text must be a string or a list of parts, not {shown(content)}")
    texts, captions = [], []
    for part in content:
        text, caption = _read_part(part)
        texts.append(text)
        captions.append(caption)
    return "\n".join(filter(None, texts)), [caption for caption in captions if caption]


def _read_part(part: object) -> tuple[str, str]:
    if isinstance(part, str):
        return read_text(part, "a part"), ""
    if not isinstance(part, Mapping):
        raise InvalidMessages(f"a part of the content must be a string or a dict, not {shown(part)}")
    kind = part.get("type", "text")
    if kind in TEXT_TYPES and part.get("text") is not None:
        return read_text(part["text"], "the text of a part"), ""
    return "", _read_caption(part) if kind in IMAGE_TYPES else ""


def _read_caption(part: Mapping[str, object]) -> str:
    inner = part.get("image_url")
    places = [part, inner] if isinstance(inner, Mapping) else [part]
    found = next((place[key] for place in places for key in CAPTION_KEYS if place.get(key)), None)
    return "" if found is None else read_text(found, "a caption").strip()
