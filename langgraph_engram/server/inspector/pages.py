"""The pages: what each shows, what each form does, and who may see them. They run in threads, within one scope.

With tokens, the token says whose memory it is, in a header or in a cookie after signing in. Without, requests come from
this machine alone, and the address names the user.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from langgraph_engram.erasure.selection import StoredScope, Target, make_target, select_erased
from langgraph_engram.errors import EngramError, InvalidInput
from langgraph_engram.pending import cited_turns, tasks_of_runs
from langgraph_engram.profile import HEADINGS
from langgraph_engram.schema import Scope
from langgraph_engram.server.credentials import Credentials, is_local_request
from langgraph_engram.server.inspector.views import CONFLICTING, Filter, first_turn, page_of, part_of, states_of
from langgraph_engram.server.inspector.visit import (
    BASE,
    FORM_COOKIE,
    TEMPLATES,
    TOKEN_COOKIE,
    Visit,
    is_own_form,
    principal_of_request,
    read_form,
    scope_of_request,
    templates,
)

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory

MODES = {"recall": "Answer", "search": "Evidence only"}
PAGE_TURNS = 100
SELECTING = {**MODES, "select": "What bears on a message"}
"""What a question may return where a language model can select."""


def show_timeline(visit: Visit) -> Response:
    """Show a page of the timeline, filtered."""
    index = visit.index
    wanted = Filter(kind=visit.sent("kind"), status=visit.sent("status"), text=visit.sent("text"))
    page = page_of(index, wanted, visit.number("page"))
    return visit.page(
        "timeline.html",
        page=page,
        wanted=wanted,
        states=lambda item: states_of(item, index),
        boundaries={boundary.to_event_id: boundary for boundary in index.boundaries.items},
        first_turn=lambda event: first_turn(event, index),
    )


def show_conversation(visit: Visit) -> Response:
    """Show the turns of one session, with where its events begin."""
    index, session_id, position = visit.index, visit.sent("session"), visit.number("at", -1)
    turns = index.session_turns(session_id, withdrawn=True)
    if not turns:
        raise InvalidInput(f"unknown session {session_id!r}")
    number = visit.number("page") if position < 0 else 1 + sum(turn.seq < position for turn in turns) // PAGE_TURNS
    shown, number, last = part_of(turns, number, PAGE_TURNS)
    opening = {event.turn_ids[0]: event for event in index.session_events(session_id) if event.turn_ids}
    return visit.page(
        "conversation.html",
        session_id=session_id,
        turns=shown,
        length=len(turns),
        opening=opening,
        number=number,
        last=last,
    )


def show_record(visit: Visit) -> Response:
    """Show a record: what it says, where it comes from, and what became of it."""
    record_id = visit.request.path_params["record_id"]
    record, index = visit.memory.get(record_id, **visit.whose), visit.index
    history = visit.memory.history(record_id, **visit.whose)
    named = {key for decision in history.decisions for key in (*decision.pair, decision.result_id) if key}
    return visit.page(
        "record.html",
        record=record,
        states=states_of(record, index),
        conflicts=index.records.in_conflict(record),
        successor=index.records.get(record.superseded_by or ""),
        sources=cited_turns(index, [record]),
        history=history,
        contents={key: member for key in named if (member := index.records.get(key))},
    )


def edit_record(visit: Visit) -> Response:
    """Give a record another text."""
    receipt = visit.memory.update(visit.request.path_params["record_id"], visit.sent("content"), **visit.whose)
    return visit.redirect(f"/records/{receipt.record.record_id}", done="edited" if receipt.run_id else "unchanged")


def undo_run(visit: Visit) -> Response:
    """Take back what a run decided, and return to the record from which that was asked."""
    receipt = visit.memory.undo(visit.sent("run"), **visit.whose)
    back = visit.sent("record")
    done = "undone before" if receipt.already_undone else "undone"
    return visit.redirect(f"/records/{back}" if back.replace("-", "").isalnum() else "", done=done)


def confirm_forget(visit: Visit) -> Response:
    """Show what would be forgotten, and ask whether to."""
    target, store, scope = _target(visit).of_whole_id(visit.index), visit.memory.store, Scope(**visit.whose)
    stored = StoredScope(visit.index, store.decisions(scope), tasks_of_runs(store.pending_tasks(scope)))
    return visit.page("forget.html", target=target, erased=select_erased(stored, target))


def forget(visit: Visit) -> Response:
    """Forget one record or one session, and show what went."""
    target = _target(visit)
    receipt = visit.memory.forget(record_id=target.record_id, session_id=target.session_id, **visit.whose)
    return visit.page("forgotten.html", receipt=receipt)


def _target(visit: Visit) -> Target:
    """Return what a request names to be forgotten; it never is everything."""
    target = make_target(visit.sent("session") or None, None, visit.sent("record") or None)
    if target.is_everything:
        raise InvalidInput("name a record or a session to forget: nothing was forgotten")
    return target


def show_question(visit: Visit, **asked: Any) -> Response:
    """Show the form of a question, and what was asked and found."""
    modes = SELECTING if visit.memory.selects else MODES
    return visit.page("ask.html", modes=modes, **{"query": "", "mode": "recall", "found": None, **asked})


def ask(visit: Visit) -> Response:
    """Answer a question, or show what is found."""
    query, mode = visit.sent("query"), visit.sent("mode")
    if mode in ("search", "select"):
        found = visit.memory.search(query, select=mode == "select", **visit.whose)
    else:
        found = visit.memory.recall(query, **visit.whose)
    offered = [visit.index.records.get(key) for key in found.selection.offered] if found.selection else []
    return show_question(visit, query=query, mode=mode, found=found, offered=offered)


def show_profile(visit: Visit) -> Response:
    """Show what lasts of what the user said."""
    return visit.page("profile.html", profile=visit.memory.profile(**visit.whose), headings=HEADINGS)


def show_approvals(visit: Visit) -> Response:
    """Show the decisions that wait for a person."""
    return visit.page("approvals.html", approvals=visit.memory.approvals(**visit.whose))


def approve(visit: Visit) -> Response:
    """Pass a person's answer on to the run that waits for it."""
    whole = visit.sent("all")
    answers = {
        name.removeprefix("decision:"): answer == "approve"
        for name, answer in visit.form.items()
        if name.startswith("decision:")
    }
    visit.memory.approve(visit.sent("run"), whole == "approve" if whole else answers, **visit.whose)
    return visit.redirect("/approvals", done="answered")


def show_health(visit: Visit) -> Response:
    """Show how much is stored, and what is left to do."""
    index = visit.index
    quarantined = [record for record in index.records.items if record.status == "quarantined"]
    return visit.page(
        "health.html",
        counts=visit.memory.status(**visit.whose),
        waiting=len(visit.memory.approvals(**visit.whose)),
        conflicts=sum(CONFLICTING in states_of(record, index) for record in index.records.items),
        reasons=Counter(record.reject_reason or "no reason given" for record in quarantined).most_common(10),
    )


def retry(visit: Visit) -> Response:
    """Try the pending steps again, those that were set aside too; what meets a fault is set aside for the others."""
    visit.memory.retry(skip=True, **visit.whose)
    return visit.redirect("/health", done="retried")


def show_sign_in(visit: Visit) -> Response:
    """Ask for a token."""
    return visit.page("sign_in.html", problem="")


def sign_in(visit: Visit) -> Response:
    """Let the browser keep a token that is known, and show the timeline."""
    token = visit.sent("token").strip()
    if visit.credentials.principal(token) is None:
        return visit.page("sign_in.html", 401, problem="This token is not known, or no longer valid.")
    response = Response(status_code=303, headers={"location": visit.base})
    visit.set_cookie(response, TOKEN_COOKIE, quote(token, safe=""))
    return response


def sign_out(visit: Visit) -> Response:
    """Let the browser forget the token."""
    response = Response(status_code=303, headers={"location": visit.base})
    response.delete_cookie(TOKEN_COOKIE, path=visit.base)
    return response


def send_style(visit: Visit) -> Response:  # noqa: ARG001 - as any page
    """Return the style sheet."""
    source, *_ = TEMPLATES.get_source(templates(), "style.css")
    return Response(source, media_type="text/css", headers={"cache-control": "public, max-age=3600"})


def find_no_page(visit: Visit) -> Response:
    """Lead from a slash at the end to the timeline, and say of any other address that there is no such page."""
    if path := visit.request.path_params["path"]:
        raise InvalidInput(f"there is no page {path!r} here")
    return visit.redirect()


Handler = Callable[[Visit], Response]
OPEN_TO_ALL: tuple[Handler, ...] = (show_sign_in, sign_in, sign_out, send_style)
"""What shows nothing of any memory."""
PAGES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "", show_timeline),
    ("GET", "/conversation", show_conversation),
    ("GET", "/records/{record_id}", show_record),
    ("POST", "/records/{record_id}", edit_record),
    ("POST", "/undo", undo_run),
    ("GET", "/forget", confirm_forget),
    ("POST", "/forget", forget),
    ("GET", "/ask", show_question),
    ("POST", "/ask", ask),
    ("GET", "/profile", show_profile),
    ("GET", "/approvals", show_approvals),
    ("POST", "/approvals", approve),
    ("GET", "/health", show_health),
    ("POST", "/health", retry),
    ("GET", "/sign-in", show_sign_in),
    ("POST", "/sign-in", sign_in),
    ("POST", "/sign-out", sign_out),
    ("GET", "/style.css", send_style),
)
"""Method, path below `BASE`, and what answers; `find_no_page` answers whatever none of these does."""
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
        for method, path, handler in (*PAGES, ("GET", "/{path:path}", find_no_page))
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
            return visit.page("sign_in.html", 401, problem="")
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
