"""One request for a page: whose memory it may see, what was sent, and how the answer is rendered.

Forms carry a token that a cookie of the page holds too (double submit), and browsers say whether a form is our own.
Templates escape every text, whatever was said, and show times as their speaker's clock did.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from langgraph_engram.integrations.identity import Principal
from langgraph_engram.schema import Record, Scope
from langgraph_engram.server.credentials import Credentials, token_of
from langgraph_engram.server.inspector.views import kind_of
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import format_day, format_moment

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory

BASE = "/memory"
TEMPLATES = PackageLoader("langgraph_engram.server.inspector")
CITATION = re.compile(r"(\[\d{1,3}\])")
TOKEN_COOKIE = "engram_token"
"""Holds the token of who signed in; sent to these pages alone, and hidden from scripts."""
FORM_COOKIE = "engram_form"
MAX_FORM = 1_000_000
OWN_SITE = ("same-origin", "none")
"""What browsers send as `Sec-Fetch-Site` for a form of this very page, or one sent by hand."""
NOTICES = {
    "edited": "The record was edited. Its history keeps the old text.",
    "unchanged": "Nothing was changed: the text is the same.",
    "undone": "The run was undone: what it merged or superseded is active again.",
    "undone before": "There was nothing left to undo.",
    "answered": "The answer was passed on, and the run is done.",
    "retried": "The pending steps were tried again.",
}
"""What a page may say at its top, by the name in its address."""


@dataclass(frozen=True)
class Visit:
    """A request by somebody who may see the memory of a scope."""

    request: Request
    form: Mapping[str, str]
    form_token: str
    credentials: Credentials
    principal: Principal | None
    scope: Scope | None
    open_memory: "Callable[[], Memory]"

    @property
    def memory(self) -> "Memory":
        """Return the memory, opened at the first call."""
        return self.open_memory()

    @property
    def whose(self) -> dict[str, Any]:
        """Return the scope as the methods of a memory take it."""
        assert self.scope, "pages of a memory are only reached with a scope"
        return dict(self.scope)

    @property
    def index(self) -> ScopeIndex:
        """Return everything that is stored in the scope."""
        return self.memory.store.index(Scope(**self.whose))

    def sent(self, name: str) -> str:
        """Return a field of the form, or of the address; empty where it is not there."""
        return self.form.get(name) or self.request.query_params.get(name, "")

    def number(self, name: str, default: int = 1) -> int:
        """Return a number of the address."""
        text = self.request.query_params.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 10 else default

    def url(self, path: str = "", /, **query: object) -> str:
        """Return the address of a page about the same memory; empty values are left out."""
        named = {**self._named(), **query}
        known = {name: str(value) for name, value in named.items() if value not in (None, "")}
        return self.base + path + (f"?{urlencode(known)}" if known else "")

    @property
    def base(self) -> str:
        """Return the path that all pages begin with."""
        return str(self.request.scope.get("root_path", "")) + BASE

    def page(self, template: str, /, status: int = 200, **context: Any) -> Response:
        """Return a page."""
        known = {
            "visit": self,
            "url": self.url,
            "notice": NOTICES.get(self.request.query_params.get("done", ""), ""),
            "section": self.request.url.path.removeprefix(self.base).strip("/").partition("/")[0],
        }
        return HTMLResponse(templates().get_template(template).render({**known, **context}), status)

    def redirect(self, path: str = "", /, **query: object) -> Response:
        """Return the way to another page, after a form."""
        return RedirectResponse(self.url(path, **query), 303)

    @property
    def signed_in(self) -> bool:
        """Whether a cookie holds the token."""
        return TOKEN_COOKIE in self.request.cookies

    def set_cookie(self, response: Response, name: str, value: str) -> None:
        """Let the browser keep a value, for these pages alone and hidden from scripts."""
        secure = self.request.url.scheme == "https"
        response.set_cookie(name, value, path=self.base, secure=secure, httponly=True, samesite="lax")

    def _named(self) -> dict[str, str]:
        """Return what an address has to say of whose memory it is: with tokens, the agent alone."""
        if self.scope is None:
            return {}
        agent = {"agent": self.scope.agent_id or ""}
        tenant = "" if self.scope.tenant == "default" else self.scope.tenant
        return agent if self.principal else {"user": self.scope.user_id, "tenant": tenant, **agent}


def is_inspector_path(scope: Mapping[str, Any]) -> bool:
    """Return whether a request, by its ASGI scope, is for one of these pages."""
    path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
    return path == BASE or path.startswith(f"{BASE}/")


def principal_of_request(request: Request, credentials: Credentials) -> Principal | None:
    """Return who sends a request, by its token in a header or in the cookie; None for anybody else."""
    token = token_of(request.scope) or unquote(request.cookies.get(TOKEN_COOKIE, ""))
    return credentials.principal(token) if token else None


def scope_of_request(request: Request, principal: Principal | None) -> Scope | None:
    """Return whose memory a request is about: its sender's; without tokens, that of the user it names, if any."""
    sent = request.query_params
    agent = sent.get("agent") or None
    if principal:
        return Scope(tenant=principal.tenant, user_id=principal.user_id, agent_id=agent)
    if not sent.get("user", "").strip():
        return None
    return Scope(tenant=sent.get("tenant") or "default", user_id=sent["user"], agent_id=agent)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; 413 for one that is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            raise HTTPException(413, f"the form is larger than {MAX_FORM:,} bytes: send less")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def is_own_form(request: Request, form: Mapping[str, str]) -> bool:
    """Return whether a form was sent by one of our pages, not by another site's."""
    kept, sent = request.cookies.get(FORM_COOKIE, ""), form.get("form_token", "")
    headers = request.headers
    hosts = (headers.get("host"), headers.get("x-forwarded-host"))  # no page of another site can send the second
    own = "origin" not in headers or headers["origin"].partition("://")[2] in hosts
    own &= headers.get("sec-fetch-site", OWN_SITE[0]) in OWN_SITE
    return own and bool(kept) and hmac.compare_digest(kept.encode(), sent.encode())


@cache
def templates() -> Environment:
    """Return the templates of this package, read once."""
    environment = Environment(
        loader=TEMPLATES,
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "day": format_day,
        "moment": format_moment,
        "when": format_interval,
        "kind": kind_of,
        "words": words_of,
        "citations": split_citations,
        "spaced": lambda name: name.replace("_", " "),
        "plural": count_of,
    }
    return environment


def words_of(record: Record) -> str:
    """Return what a record says, without the name of its speaker before it."""
    return record.content.removeprefix(f"{record.speaker}: ") if record.speaker else record.content


def format_interval(record: Record) -> str:
    """Format when something happened: a day, a span of days, or nothing where that is unknown."""
    days = [moment for moment in (record.event_start, record.event_end) if moment]
    if days and days[0].date() == days[-1].date():
        days = days[:1]
    return " – ".join(map(format_day, days))


def split_citations(answer: str, passages: int) -> list[tuple[str, int]]:
    """Return the parts of an answer, each with the number of the passage that it cites; 0 for text."""
    parts = [(part, int(part[1:-1]) if CITATION.fullmatch(part) else 0) for part in CITATION.split(answer) if part]
    return [(part, number if number <= passages else 0) for part, number in parts]


def count_of(number: int, thing: str, things: str = "") -> str:
    """Format a number of things: "1 turn", "1,024 turns"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
