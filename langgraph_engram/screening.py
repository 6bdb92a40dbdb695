"""Screen what is to be stored for secrets, before anything of it is: keys, tokens and numbers of cards.

They are known by their own shape alone, never by the words around them.
"""

import re
from collections.abc import Mapping
from typing import Any

from langgraph_engram.errors import InvalidInput
from langgraph_engram.settings import ReceiveSettings
from langgraph_engram.state import Message, RememberRequest

MASK = "*****"
"""What stands in place of a secret."""
KEY = re.compile(
    r"""
    -----BEGIN\ (?P<kind>[A-Z0-9 ]*PRIVATE\ KEY(?:\ BLOCK)?)-----(?:.*?-----END\ (?P=kind)-----|.*)     # PEM, RFC 7468
    | (?<![\w-])(?:
        eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*                                              # JSON Web Token, RFC 7519
        | sk-(?=[\w-]*\d)[\w-]{20,}                                                     # OpenAI, Anthropic and others
        | (?:AKIA|ASIA)[A-Z0-9]{16}                                                     # AWS
        | gh[oprsu]_[A-Za-z0-9]{36,} | github_pat_\w{22,}                               # GitHub
        | glpat-[\w-]{20,}                                                              # GitLab
        | xox[abeoprs]-[\w-]{10,}                                                       # Slack
        | AIza[\w-]{35} | ya29\.[\w-]{20,}                                              # Google
        | [prs]k_(?:live|test)_[A-Za-z0-9]{16,} | whsec_[A-Za-z0-9+/=]{24,}             # Stripe
        | SG\.[\w-]{16,}\.[\w-]{16,}                                                    # SendGrid
        | hf_[A-Za-z0-9]{30,}                                                           # Hugging Face
        | npm_[A-Za-z0-9]{36} | pypi-[\w-]{50,}                                         # registries of packages
        | lsv2_(?:pt|sk)_\w{32,}                                                        # LangSmith
    )
    """,
    re.VERBOSE | re.DOTALL,
)
CARD = re.compile(r"(?<![\w.+-])[2-6](?:[ -]?\d){12,18}(?![\w-]|\.\d)")
"""Digits that may be the number of a payment card (ISO/IEC 7812): 13 to 19 of them, in groups or not."""


def screen(request: RememberRequest, settings: ReceiveSettings) -> RememberRequest:
    """Return a request with its secrets masked and counted, or without the messages that hold any."""
    if settings.secrets == "keep":
        return request
    request = _with_masked_metadata(request)
    screened = [_masked(message) for message in request.messages]
    if settings.secrets == "refuse":
        kept = [message for message, count in screened if not count]
        refused = request.refused + len(screened) - len(kept)
        return request.model_copy(update={"messages": kept, "refused": refused})
    masked = request.masked + sum(count for _, count in screened)
    return request.model_copy(update={"messages": [message for message, _ in screened], "masked": masked})


def screen_text(text: str, settings: ReceiveSettings) -> tuple[str, int]:
    """Return a text without secrets, as far as the settings ask for it, and how many were masked."""
    if settings.secrets == "keep":
        return text, 0
    masked, count = mask_secrets(text)
    if count and settings.secrets == "refuse":
        raise InvalidInput("the text holds a key, a token or the number of a card (receive.secrets): leave it out")
    return masked, count


def screen_value(value: Any, settings: ReceiveSettings) -> tuple[Any, int]:
    """Return a value of JSON without secrets in its texts, as `screen_text` does, and how many; field names stay."""
    if isinstance(value, str):
        return screen_text(value, settings)
    if isinstance(value, Mapping):
        fields = {name: screen_value(inner, settings) for name, inner in value.items()}
        return {name: inner for name, (inner, _) in fields.items()}, sum(count for _, count in fields.values())
    if isinstance(value, list | tuple):
        items = [screen_value(inner, settings) for inner in value]
        return [inner for inner, _ in items], sum(count for _, count in items)
    return value, 0


def mask_secrets(text: str) -> tuple[str, int]:
    """Return a text with its secrets masked, and how many there were."""
    without_keys, keys = KEY.subn(MASK, text)
    cards = [match for match in CARD.finditer(without_keys) if is_card_number(match.group())]
    for match in reversed(cards):
        without_keys = without_keys[: match.start()] + MASK + without_keys[match.end() :]
    return without_keys, keys + len(cards)


def is_card_number(text: str) -> bool:
    """Return whether the digits of a text end with their check digit (Luhn's algorithm, ISO/IEC 7812-1 annex B)."""
    digits = [int(mark) for mark in reversed(text) if mark.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _with_masked_metadata(request: RememberRequest) -> RememberRequest:
    masked = {key: mask_secrets(value) for key, value in request.metadata.items() if isinstance(value, str)}
    count = sum(found for _, found in masked.values())
    metadata = request.metadata | {key: text for key, (text, _) in masked.items()}
    return request.model_copy(update={"metadata": metadata, "masked": request.masked + count}) if count else request


def _masked(message: Message) -> tuple[Message, int]:
    text, count = mask_secrets(message.text)
    captions = [mask_secrets(caption) for caption in message.captions]
    count += sum(found for _, found in captions)
    if not count:
        return message, 0
    return message.model_copy(update={"text": text, "captions": [caption for caption, _ in captions]}), count
