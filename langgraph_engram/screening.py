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
    metadata, count = _masked(request.metadata)
    request = request.model_copy(update={"metadata": metadata, "masked": request.masked + count})
    if request.thread:
        said = [message.model_copy(update=_screened(message)[0]) for message in request.thread.messages]
        request = request.model_copy(update={"thread": request.thread.model_copy(update={"messages": said})})
    screened = [_screened(message) for message in request.messages]
    if settings.secrets == "refuse":
        kept = [message for message, (_, count) in zip(request.messages, screened, strict=True) if not count]
        refused = request.refused + len(screened) - len(kept)
        return request.model_copy(update={"messages": kept, "refused": refused})
    messages = [message.model_copy(update=said) for message, (said, _) in zip(request.messages, screened, strict=True)]
    masked = request.masked + sum(count for _, count in screened)
    return request.model_copy(update={"messages": messages, "masked": masked})


def screen_value(value: Any, settings: ReceiveSettings) -> tuple[Any, int]:
    """Return a text or JSON without secrets, as far as the settings ask, and how many were masked; names stay."""
    if settings.secrets == "keep":
        return value, 0
    masked, count = _masked(value)
    if count and settings.secrets == "refuse":
        raise InvalidInput("the text holds a key, a token or the number of a card (receive.secrets): leave it out")
    return masked, count


def _screened(message: Message) -> tuple[dict[str, Any], int]:
    return _masked({"text": message.text, "captions": message.captions})


def _masked(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, Mapping):
        fields = {name: _masked(inner) for name, inner in value.items()}
        return {name: inner for name, (inner, _) in fields.items()}, sum(count for _, count in fields.values())
    if isinstance(value, list | tuple):
        items = [_masked(inner) for inner in value]
        return [inner for inner, _ in items], sum(count for _, count in items)
    return value, 0


def mask_secrets(text: str) -> tuple[str, int]:
    """Return a text with its secrets masked, and how many there were."""
    masked, keys = KEY.subn(MASK, text)
    cards = sum(map(is_card_number, CARD.findall(masked)))
    masked = CARD.sub(lambda match: MASK if is_card_number(match[0]) else match[0], masked)
    return masked, keys + cards


def is_card_number(text: str) -> bool:
    """Return whether the digits of a text end with their check digit (Luhn's algorithm, ISO/IEC 7812-1 annex B)."""
    digits = [int(mark) for mark in reversed(text) if mark.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
