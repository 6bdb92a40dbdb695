"""Verify tokens by a table of tokens or as JSON Web Tokens, configured in the environment.

- `ENGRAM_TOKENS`: JSON, such as `{"s3cret": "ana", "t0ken": {"user_id": "ben", "tenant": "acme"}}`.
- `ENGRAM_JWT_SECRET`, or `ENGRAM_JWT_PUBLIC_KEY` (PEM): what JSON Web Tokens are signed with. `sub` names the user and
  `tenant` the tenant; `exp` is required. `ENGRAM_JWT_AUDIENCE` and `ENGRAM_JWT_ISSUER` narrow what is accepted.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, TypeAdapter, ValidationError

from langgraph_engram.errors import InvalidSetting, MissingExtra
from langgraph_engram.integrations.identity import Principal

SECRET_ALGORITHMS = ("HS256", "HS384", "HS512")
PUBLIC_KEY_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Algorithms that verify with a public key. The two are never mixed: a public key is no secret."""
EXAMPLE = '{"a long random token": "ana", "another one": {"user_id": "ben", "tenant": "acme"}}'
NonEmpty = Annotated[str, Field(min_length=1)]
TABLE = TypeAdapter(Annotated[dict[NonEmpty, NonEmpty | Principal], Field(min_length=1)])
MAX_TOKEN_CHARACTERS = 8192
STUDIO_HOSTS = frozenset({"smith.langchain.com", "eu.smith.langchain.com"})


@dataclass(frozen=True)
class JsonWebTokens:
    """How JSON Web Tokens are verified."""

    key: str
    algorithms: Sequence[str]
    audience: str | None = None
    issuer: str | None = None

    def principal(self, token: str) -> Principal | None:
        """Return the principal of a valid token, or None."""
        import jwt

        required: jwt.types.Options = {"require": ["exp", "sub"]}
        try:
            claims = jwt.decode(
                token, self.key, list(self.algorithms), required, audience=self.audience, issuer=self.issuer
            )
            return Principal.model_validate({"user_id": claims["sub"], "tenant": claims.get("tenant", "default")})
        except (jwt.PyJWTError, ValidationError, UnicodeError):
            return None


@dataclass(frozen=True)
class Credentials:
    """The configured tokens."""

    principals: Mapping[bytes, Principal] = field(default_factory=dict)
    """Principals by the SHA-256 of their tokens."""
    json_web_tokens: JsonWebTokens | None = None

    @property
    def configured(self) -> bool:
        """Whether requests need a token."""
        return bool(self.principals) or self.json_web_tokens is not None

    def principal(self, token: str) -> Principal | None:
        """Return the principal of a token, or None. Each token of the table is compared in constant time."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            return None
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        found = [principal for known, principal in self.principals.items() if hmac.compare_digest(known, digest)]
        if found:
            return found[0]
        return self.json_web_tokens.principal(token) if self.json_web_tokens else None


def read_credentials(environment: Mapping[str, str]) -> Credentials:
    """Read the credentials from the environment; what is malformed there is an error."""
    table = _read_table(environment.get("ENGRAM_TOKENS", ""))
    return Credentials(table, _read_json_web_tokens(environment))


def is_local_request(scope: Mapping[str, Any]) -> bool:
    """Return whether a request comes from this machine, was sent to its own name, and not by a page of another site."""
    headers = headers_of(scope)
    client = scope.get("client")
    requested = split_url(f"//{headers.get('host', '')}").hostname or ""
    return client is not None and is_loopback(client[0]) and is_loopback(requested) and _has_trusted_origin(headers)


def split_url(url: str) -> SplitResult:
    """Return the parts of a URL; of a malformed one, parts that name nothing."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("malformed", "", "", "", "")


def is_loopback(host: str) -> bool:
    """Return whether a host name or an address is this machine's own: `localhost`, `127.0.0.0/8` or `::1`."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a request by their names in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", [])}


def token_of(scope: Mapping[str, Any]) -> str:
    """Return the token in the headers of a request; empty if there is none."""
    headers = headers_of(scope)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "").strip()


def _has_trusted_origin(headers: Mapping[str, str]) -> bool:
    if "origin" not in headers:
        return True
    origin = split_url(headers["origin"])
    host = origin.hostname or ""
    return is_loopback(host) or (origin.scheme == "https" and host in STUDIO_HOSTS)


def _read_table(text: str) -> dict[bytes, Principal]:
    """Read the principals by the hashes of their tokens; the error tells nothing of what was given."""
    if not text.strip():
        return {}
    try:
        table = TABLE.validate_json(text)
    except ValidationError:
        raise InvalidSetting(f"ENGRAM_TOKENS is no table of users by tokens: give JSON such as {EXAMPLE}") from None
    return {
        sha256(token.encode()).digest(): Principal(user_id=user) if isinstance(user, str) else user
        for token, user in table.items()
    }


def _read_json_web_tokens(environment: Mapping[str, str]) -> JsonWebTokens | None:
    """Read from the environment how JSON Web Tokens are verified; None if nothing is set."""
    secret, public = environment.get("ENGRAM_JWT_SECRET", ""), environment.get("ENGRAM_JWT_PUBLIC_KEY", "")
    if not secret and not public:
        return None
    if secret and public:
        raise InvalidSetting("both ENGRAM_JWT_SECRET and ENGRAM_JWT_PUBLIC_KEY are set: leave one out")
    if public and not public.lstrip().startswith("-----BEGIN"):
        raise InvalidSetting("ENGRAM_JWT_PUBLIC_KEY is no PEM: give the text of the key, from -----BEGIN on")
    if find_spec("jwt") is None:
        raise MissingExtra("JSON Web Tokens need PyJWT: pip install 'langgraph-engram[server]'")
    return JsonWebTokens(
        key=secret or public,
        algorithms=SECRET_ALGORITHMS if secret else PUBLIC_KEY_ALGORITHMS,
        audience=environment.get("ENGRAM_JWT_AUDIENCE") or None,
        issuer=environment.get("ENGRAM_JWT_ISSUER") or None,
    )
