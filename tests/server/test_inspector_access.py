"""Nobody sees or changes another's memory through the inspector, and no other site sends its forms."""

import json
import re

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from langgraph_engram.memory import Memory
from langgraph_engram.server.credentials import Credentials, read_credentials
from langgraph_engram.server.inspector.pages import OPEN_TO_ALL, PAGES, inspector_routes
from tests.server.conftest import FORM_TOKEN, serve

SECRET = "Quetzalcoatl"
CREDENTIALS = read_credentials({"ENGRAM_TOKENS": json.dumps({"of-ana": "ana", "of-eve": "eve"})})
GUARDED = [(method, path) for method, path, handler in PAGES if handler not in OPEN_TO_ALL]
WRITES = [path for method, path in GUARDED if method == "POST"]


@pytest.fixture(scope="module")
def memory():
    """Ana's secret, edited once, so that there is a run to undo."""
    with Memory("memory:", "rules", "engram", encoder="hashing") as opened:
        said = [
            {"speaker": "Ana", "text": f"My safe word is {SECRET}."},
            {"speaker": "Ana", "text": "I live in Lisbon."},
        ]
        opened.remember(said, user_id="ana", session_id="hers", close_session=True)
        yield opened


def browser(memory, credentials=CREDENTIALS, host="127.0.0.1", client="127.0.0.1", **headers):
    app = Starlette(routes=inspector_routes(lambda: memory, credentials))
    return TestClient(app, base_url=f"http://{host}", client=(client, 50000), headers=headers)


def secret_record(memory):
    return next(record for record in memory.show("records", "ana") if SECRET in record.content)


def everything(memory):
    return [memory.show(kind, "ana") for kind in ("turns", "records", "events", "decisions", "syntheses")]


def attempt(client, method, path, record_id, form_token="", user="ana"):
    """Ask for a page, or send its form, and name Ana's memory in every way there is."""
    named = {"user": user, "tenant": "default", "record": record_id, "session": "hers"}
    form = {**named, "content": "Eve was here.", "query": "What is Ana's safe word?", "form_token": form_token}
    form |= {"run": "any"} | ({"session": ""} if path == "/forget" else {})
    where = f"/memory{path.format(record_id=record_id)}"
    if method == "GET":
        return client.get(where, params=named)
    return client.post(where, params={"user": user}, data=form)


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize(
    ("credentials", "sender"),
    [
        (CREDENTIALS, {}),
        (CREDENTIALS, {"Authorization": "Bearer unknown"}),
        (CREDENTIALS, {"Cookie": "engram_token=unknown"}),
        (Credentials(), {"client": "192.0.2.7"}),
        (Credentials(), {"host": "rebound.example.com"}),
        (Credentials(), {"Origin": "https://example.com"}),
    ],
)
def test_a_stranger_sees_nothing(method, path, credentials, sender, memory):
    """No form does anything, and every page asks to sign in, or turns away whoever is not this machine."""
    before = everything(memory)
    client = browser(memory, credentials, **sender)
    form = FORM_TOKEN.search(client.get("/memory/sign-in").text)

    answer = attempt(client, method, path, secret_record(memory).record_id, form[1] if form else "")

    assert answer.status_code == 401
    assert "Sign in" in answer.text or not credentials.configured
    assert SECRET not in answer.text
    assert everything(memory) == before


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize("has_token", [False, True])
def test_another_sees_nothing_of_ana(method, path, has_token, memory):
    """Eve, by her token or as her address says, sees and changes nothing, whatever else address and form name."""
    before = everything(memory)
    client = browser(memory, Authorization="Bearer of-eve") if has_token else browser(memory, Credentials())
    token = FORM_TOKEN.search(client.get("/memory/ask", params={"user": "eve"}).text)[1]

    answer = attempt(client, method, path, secret_record(memory).record_id, token, user="ana" if has_token else "eve")

    assert SECRET not in answer.text
    assert "Memory of <b>ana</b>" not in answer.text
    assert everything(memory) == before


def test_without_a_token_nobody_learns_which_pages_there_are(memory):
    """An address of no page asks to sign in, as any does."""
    assert browser(memory).get("/memory/nosuch").status_code == 401


def test_ana_sees_her_own(memory):
    """The test above can fail: with her token the same page shows the secret."""
    answer = attempt(browser(memory, Authorization="Bearer of-ana"), "GET", "", secret_record(memory).record_id)

    assert SECRET in answer.text


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://example.com"},
        {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null"},
    ],
)
def test_a_form_of_another_site_does_nothing(path, headers, memory):
    """Without the token of our own page, or sent by another site, a form is refused."""
    before = everything(memory)
    client = browser(memory, Authorization="Bearer of-ana", **headers)
    token = FORM_TOKEN.search(client.get("/memory/ask").text)[1] if headers else "guessed"

    answer = attempt(client, "POST", path, secret_record(memory).record_id, token)

    assert answer.status_code == 403
    assert SECRET not in answer.text
    assert everything(memory) == before


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://127.0.0.1"}, {"Origin": "https://our.example.com", "X-Forwarded-Host": "our.example.com"}],
)
def test_a_form_of_our_own_is_taken(headers, memory):
    """Also behind a proxy that has the name under which the browser knows us."""
    client = browser(memory, Authorization="Bearer of-ana", **headers)
    token = FORM_TOKEN.search(client.get("/memory/ask").text)[1]

    assert client.post("/memory/health", data={"form_token": token}, follow_redirects=False).status_code == 303


def test_forms_of_a_browser_that_never_looked_are_refused(memory):
    """An empty token is not equal to a missing cookie."""
    answer = browser(memory, Authorization="Bearer of-ana").post("/memory/health", data={"form_token": ""})

    assert answer.status_code == 403


def test_signing_in_and_out(memory):
    """A token is asked for, kept in a cookie that no script and no other path sees, and forgotten again."""
    client = browser(memory)
    asked = client.get("/memory/profile")
    form = {"form_token": FORM_TOKEN.search(asked.text)[1]}
    wrong = client.post("/memory/sign-in", data={**form, "token": "guessed"})
    signed = client.post("/memory/sign-in", data={**form, "token": "of-ana"}, follow_redirects=False)
    inside = client.get(signed.headers["location"])
    client.post("/memory/sign-out", data=form)
    outside = client.get("/memory/profile")

    assert (asked.status_code, wrong.status_code, signed.status_code) == (401, 401, 303)
    assert "not known" in wrong.text
    assert signed.headers["location"] == "/memory"
    kept = signed.headers["set-cookie"]
    assert all(part in kept for part in ("engram_token=of-ana", "HttpOnly", "Path=/memory", "SameSite=lax"))
    assert "Memory of <b>ana</b>" in inside.text
    assert outside.status_code == 401


def test_without_tokens_a_user_is_picked(memory):
    """Nobody is guessed; a form asks who."""
    client = browser(memory, Credentials())

    asked, picked = client.get("/memory"), client.get("/memory", params={"user": "ana"})

    assert "Whose memory?" in asked.text
    assert SECRET not in asked.text
    assert SECRET in picked.text


def test_an_agents_memory_of_a_user_is_the_users(memory):
    """An address may name the agent, with a token too."""
    memory.remember(
        [{"speaker": "Ana", "text": "My tutor is strict."}], user_id="ana", agent_id="tutor", close_session=True
    )

    shown = browser(memory, Authorization="Bearer of-ana").get("/memory", params={"agent": "tutor"}).text

    assert "strict" in shown
    assert SECRET not in shown


def test_below_a_prefix_every_address_has_it(memory):
    """As behind a proxy that serves the whole under a path of its own."""
    routes = inspector_routes(lambda: memory, CREDENTIALS)
    app = Starlette(routes=[Mount("/at/home", routes=routes)])
    client = TestClient(app, base_url="http://127.0.0.1", headers={"Authorization": "Bearer of-ana"})

    answers = [client.get(f"/at/home/memory{path}") for path in ("", "/ask", "/health")]

    addresses = {found for answer in answers for found in re.findall(r'(?:href|action)="(/[^"]*)"', answer.text)}
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert len(addresses) > 5
    assert all(address.startswith("/at/home/memory") for address in addresses)
    assert "Path=/at/home/memory;" in answers[0].headers["set-cookie"]


def test_a_form_that_is_too_large_is_refused(memory):
    """Before it fills the memory of the process."""
    client = browser(memory, Authorization="Bearer of-ana")

    assert client.post("/memory/ask", content=b"query=" + b"a" * 1_000_001).status_code == 413


@pytest.fixture
def alone(tmp_path):
    """`engram inspect` in a process of its own."""
    with Memory(tmp_path / "data", "rules", encoder="hashing") as opened:
        opened.remember([{"speaker": "Ana", "text": "I play the cello."}], user_id="ana", close_session=True)
    yield from serve(tmp_path, ["langgraph_engram.cli.main", "inspect", "--user", "ana"], page="/memory")


@pytest.mark.timeout(300)
def test_the_command_serves_the_pages_alone(alone):
    """It prints an address, which shows the memory; nothing else is served."""
    address = alone.log.read_text().splitlines()[0].strip()

    shown, other = httpx.get(address), httpx.get(f"{alone.url}/threads")

    assert address == f"{alone.url}/memory?user=ana"
    assert "cello" in shown.text
    assert other.status_code == 404
