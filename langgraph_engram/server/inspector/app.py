"""Route requests to the pages, each only to who may see them.

With tokens, the token says whose memory it is, in a header or in a cookie after signing in. Without, requests come from
this machine alone, and the address names the user.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from langgraph_engram.errors import EngramError, InvalidInput
from langgraph_engram.server.credentials import Credentials, is_local_request
from langgraph_engram.server.inspector.pages import ELSEWHERE, OPEN_TO_ALL, PAGES, Handler, own_page
from langgraph_engram.server.inspector.visit import (
    BASE,
    FORM_COOKIE,
    Visit,
    is_own_form,
    principal_of_request,
    read_form,
    scope_of_request,
)

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""No page is kept, framed or run: not even a text that slipped through as markup could load or send anything."""


def inspector_routes(memory: "Callable[[], Memory]", credentials: Credentials) -> list[Route]:
    """Return the routes of the inspector, below `BASE`; without credentials, for requests from this machine only."""
    return [
        Route(BASE + path, _Endpoint(handler, memory, credentials).respond, methods=[method], name=handler.__name__)
        for method, path, handler in (*PAGES, ELSEWHERE)
    ]


@dataclass(frozen=True)
class _Endpoint:
    """One handler, behind the checks that all have in common."""

    handler: Handler
    memory: "Callable[[], Memory]"
    credentials: Credentials

    async def respond(self, request: Request) -> Response:
        """Answer a request, in a thread."""
        form = await read_form(request) if request.method == "POST" else {}
        return await asyncio.to_thread(self._respond, request, form)

    def _respond(self, request: Request, form: dict[str, str]) -> Response:
        principal = principal_of_request(request, self.credentials) if self.credentials.configured else None
        visit = Visit(
            request=request,
            form=form,
            form_token=request.cookies.get(FORM_COOKIE) or secrets.token_urlsafe(32),
            credentials=self.credentials,
            principal=principal,
            scope=scope_of_request(request, principal) if principal or not self.credentials.configured else None,
            open_memory=self.memory,
        )
        response = self._checked(visit)
        if request.cookies.get(FORM_COOKIE) != visit.form_token:
            visit.set_cookie(response, FORM_COOKIE, visit.form_token)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _checked(self, visit: Visit) -> Response:
        """Return the page, or why there is none."""
        if not self.credentials.configured and not is_local_request(visit.request.scope):
            return visit.page("problem.html", 401, problem="This server knows no tokens, and serves this machine only.")
        public = self.handler in OPEN_TO_ALL
        if not public and self.credentials.configured and visit.principal is None:
            return visit.page("sign_in.html", 401, problem="", back=_address(visit))
        if visit.request.method == "POST" and not is_own_form(visit.request, visit.form):
            return visit.page(
                "problem.html", 403, problem="This form is not from this page, or too old: go back and reload it."
            )
        if not public and visit.scope is None:
            return visit.page("whose.html", 200 if visit.request.method == "GET" else 400)
        try:
            return self.handler(visit)
        except InvalidInput as error:
            return visit.page("problem.html", 400 if visit.request.method == "POST" else 404, problem=error.problem)
        except EngramError as error:
            return visit.page("problem.html", 503, problem=error.problem)


def _address(visit: Visit) -> str:
    """Return the address to return to after signing in."""
    url = visit.request.url
    return (
        own_page(url.path + (f"?{url.query}" if url.query else ""), visit.base)
        if visit.request.method == "GET"
        else visit.base
    )
