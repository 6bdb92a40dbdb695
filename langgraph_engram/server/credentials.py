"""Turn tokens into owners: by a table of tokens, or by JSON Web Tokens, as the environment says.

- `ENGRAM_TOKENS`: JSON, such as `{"s3cret": "ana", "t0ken": {"user_id": "ben", "tenant": "acme"}}`.
- `ENGRAM_TOKENS_FILE`: a file that holds the same.
- `ENGRAM_JWT_SECRET`, or `ENGRAM_JWT_PUBLIC_KEY` (PEM, or the path of a file that holds it): what JSON Web Tokens are
  signed with. `sub` names the user and `tenant` the tenant; `exp` is required. `ENGRAM_JWT_ALGORITHMS`,
  `ENGRAM_JWT_AUDIENCE` and `ENGRAM_JWT_ISSUER` narrow what is accepted.
"""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from langgraph_engram.errors import InvalidSetting
from langgraph_engram.server.json_web_tokens import JsonWebTokens, open_json_web_tokens
from langgraph_engram.server.owner import Owner

EXAMPLE = '{"a long random token": "ana"}'


@dataclass(frozen=True)
class Credentials:
    """Who may come in."""

    owners: Mapping[bytes, Owner] = field(default_factory=dict)
    """Owners by the SHA-256 of their tokens."""
    json_web_tokens: JsonWebTokens | None = None

    @property
    def configured(self) -> bool:
        """Say whether anybody has to show a token."""
        return bool(self.owners) or self.json_web_tokens is not None

    def owner(self, token: str) -> Owner | None:
        """Give whose token it is, or None if it is nobody's. Each token of the table is compared in constant time."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        found = [owner for known, owner in self.owners.items() if hmac.compare_digest(known, digest)]
        if found:
            return found[0]
        return self.json_web_tokens.owner(token) if self.json_web_tokens else None


def read_credentials(environment: Mapping[str, str]) -> Credentials:
    """Read from the environment who may come in.

    Raises:
        InvalidSetting: A variable, or the file that it names, is not what it should be.
        MissingExtra: JSON Web Tokens are configured, and the package that reads them is not installed.
    """
    owners = _table("ENGRAM_TOKENS", environment.get("ENGRAM_TOKENS", ""))
    if path := environment.get("ENGRAM_TOKENS_FILE"):
        owners |= _table("ENGRAM_TOKENS_FILE", _content("ENGRAM_TOKENS_FILE", path))
    return Credentials(owners, open_json_web_tokens(environment))


def _table(name: str, text: str) -> dict[bytes, Owner]:
    if not text.strip():
        return {}
    try:
        table = json.loads(text)
    except ValueError as error:
        raise InvalidSetting(f"{name} holds no JSON: give an object such as {EXAMPLE}") from error
    if not isinstance(table, dict) or not table or "" in table:
        raise InvalidSetting(f"{name} names no tokens, or an empty one: give an object such as {EXAMPLE}")
    return {sha256(token.encode()).digest(): _owner(name, told) for token, told in table.items()}


def _owner(name: str, told: object) -> Owner:
    try:
        return Owner.model_validate({"user_id": told} if isinstance(told, str) else told)
    except ValidationError as error:
        raise InvalidSetting(
            f'{name} names no user for a token: give a user id, or {{"user_id": ..., "tenant": ...}}'
        ) from error


def _content(name: str, path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip() or "{}"
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{name} cannot be read ({error}): name a file that holds tokens") from error
