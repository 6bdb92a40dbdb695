"""Turn tokens into owners: by a table of tokens, or by JSON Web Tokens, as the environment says.

- `ENGRAM_TOKENS`: JSON, such as `{"s3cret": "ana", "t0ken": {"user_id": "ben", "tenant": "acme"}}`.
- `ENGRAM_TOKENS_FILE`: a file that holds the same.
- `ENGRAM_JWT_SECRET`, or `ENGRAM_JWT_PUBLIC_KEY` (PEM, or the path of a file that holds it): what JSON Web Tokens are
  signed with. `sub` names the user and `tenant` the tenant; `exp` is required. `ENGRAM_JWT_ALGORITHMS`,
  `ENGRAM_JWT_AUDIENCE` and `ENGRAM_JWT_ISSUER` narrow what is accepted.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from langgraph_engram.errors import InvalidSetting, MissingExtra
from langgraph_engram.server.identity import Principal

SHARED = ("HS256", "HS384", "HS512")
"""Algorithms that sign and check with one secret."""
PUBLIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Algorithms that check with a public key. The two are never mixed: a public key is no secret."""


@dataclass(frozen=True)
class JsonWebTokens:
    """How tokens are checked."""

    key: str
    algorithms: Sequence[str]
    audience: str | None = None
    issuer: str | None = None

    def owner(self, token: str) -> Principal | None:
        """Give whom a valid token names, or None."""
        import jwt

        try:
            claims = jwt.decode(
                token,
                self.key,
                algorithms=list(self.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                options={"require": ["exp", "sub"]},
            )
            return Principal.model_validate({"user_id": claims["sub"], "tenant": claims.get("tenant", "default")})
        except (jwt.PyJWTError, ValidationError, UnicodeError):
            return None


def open_json_web_tokens(environment: Mapping[str, str]) -> JsonWebTokens | None:
    """Read from the environment how tokens are checked; None where nothing is said.

    Raises:
        InvalidSetting: Both a secret and a public key are given, or algorithms that do not go with what is given.
        MissingExtra: PyJWT is not installed.
    """
    secret, public = environment.get("ENGRAM_JWT_SECRET", ""), environment.get("ENGRAM_JWT_PUBLIC_KEY", "")
    if not secret and not public:
        return None
    if secret and public:
        raise InvalidSetting("both ENGRAM_JWT_SECRET and ENGRAM_JWT_PUBLIC_KEY are set: leave one out")
    fitting = SHARED if secret else PUBLIC
    named = [one.strip() for one in environment.get("ENGRAM_JWT_ALGORITHMS", fitting[0]).split(",") if one.strip()]
    if not named or not set(named) <= set(fitting):
        raise InvalidSetting(
            f"ENGRAM_JWT_ALGORITHMS is {', '.join(named)!r}: with this key choose from {', '.join(fitting)}"
        )
    _require_reader()
    return JsonWebTokens(
        key=secret or _pem(public),
        algorithms=named,
        audience=environment.get("ENGRAM_JWT_AUDIENCE") or None,
        issuer=environment.get("ENGRAM_JWT_ISSUER") or None,
    )


def _require_reader() -> None:
    try:
        import jwt  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "JSON Web Tokens are configured, and PyJWT is not installed: pip install 'langgraph-engram[server]'"
        ) from error


def _pem(given: str) -> str:
    if given.lstrip().startswith("-----BEGIN"):
        return given
    try:
        return Path(given).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"ENGRAM_JWT_PUBLIC_KEY is neither PEM nor a file that can be read ({error}): give one of them"
        ) from error


EXAMPLE = '{"a long random token": "ana"}'


@dataclass(frozen=True)
class Credentials:
    """Who may come in."""

    owners: Mapping[bytes, Principal] = field(default_factory=dict)
    """Owners by the SHA-256 of their tokens."""
    json_web_tokens: JsonWebTokens | None = None

    @property
    def configured(self) -> bool:
        """Say whether anybody has to show a token."""
        return bool(self.owners) or self.json_web_tokens is not None

    def owner(self, token: str) -> Principal | None:
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


def _table(name: str, text: str) -> dict[bytes, Principal]:
    if not text.strip():
        return {}
    try:
        table = json.loads(text)
    except ValueError as error:
        raise InvalidSetting(f"{name} holds no JSON: give an object such as {EXAMPLE}") from error
    if not isinstance(table, dict) or not table or "" in table:
        raise InvalidSetting(f"{name} names no tokens, or an empty one: give an object such as {EXAMPLE}")
    return {sha256(token.encode()).digest(): _owner(name, told) for token, told in table.items()}


def _owner(name: str, told: object) -> Principal:
    try:
        return Principal.model_validate({"user_id": told} if isinstance(told, str) else told)
    except ValidationError as error:
        raise InvalidSetting(
            f'{name} names no user for a token: give a user id, or {{"user_id": ..., "tenant": ...}}'
        ) from error


def _content(name: str, path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip() or "{}"
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{name} cannot be read ({error}): name a file that holds tokens") from error


STUDIO = frozenset({"smith.langchain.com", "eu.smith.langchain.com"})
"""Where LangGraph Studio's page comes from."""


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine's own: `localhost`, `127.0.0.0/8` or `::1`."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def comes_from_here(scope: Mapping[str, Any]) -> bool:
    """Say whether a request comes from this machine, was sent to it by name, and by no page of elsewhere.

    Args:
        scope: The ASGI scope of the request.
    """
    headers = headers_of(scope)
    client = scope.get("client")
    called = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    return client is not None and is_loopback(client[0]) and is_loopback(called) and _is_own_page(headers)


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Give the headers of a request by their names in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", [])}


def _is_own_page(headers: Mapping[str, str]) -> bool:
    if "origin" not in headers:
        return True
    page = urlsplit(headers["origin"])
    host = page.hostname or ""
    return is_loopback(host) or (page.scheme == "https" and host in STUDIO)
