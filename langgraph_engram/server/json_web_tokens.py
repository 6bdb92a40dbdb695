"""Read JSON Web Tokens (RFC 7519): the signature, the time, the audience and the issuer are checked, then who it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from langgraph_engram.errors import InvalidSetting, MissingExtra
from langgraph_engram.server.owner import Owner

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

    def owner(self, token: str) -> Owner | None:
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
            return Owner.model_validate({"user_id": claims["sub"], "tenant": claims.get("tenant", "default")})
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
