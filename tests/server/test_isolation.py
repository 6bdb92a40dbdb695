"""Nobody comes in without a token, and no attack on a server reaches another user's memory."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from langgraph_sdk.errors import APIError, NotFoundError

from tests.server.conftest import FORM_TOKEN, asked, chat, said

pytestmark = pytest.mark.timeout(600)  # servers start, and machines that run tests are busy

SECRET = "My safe word is Quetzalcoatl."
QUESTION = "What is Ana's safe word?"
CODE = "Quetzalcoatl"
ANA = {"user_id": "ana", "tenant": "default"}
"""Whose secret it is, as her enemy Eve would write it into everything."""


@pytest.fixture(scope="module")
def thread(guarded):
    """Ana's thread, in which she told her secret and heard it again."""
    client = guarded.client("ana")
    made = client.threads.create(metadata={"topic": "hers"})["thread_id"]
    client.runs.wait(made, "remember", input=said(SECRET))
    output = client.runs.wait(made, "recall", input=asked(QUESTION))
    assert CODE in output["recollection"]["answer"]
    client.store.put_item(("notes",), "hers", {"text": SECRET})
    return made


def outcome_of(action):
    """Return what an action gives, or how it fails, as one text."""
    try:
        return json.dumps(action(), default=str)
    except Exception as error:  # noqa: BLE001 - every way of failing is as good
        return f"{type(error).__name__}: {error}"


def recalled(client, **more):
    """Ask for the secret on an own thread, and give all that can be seen of it."""
    own = client.threads.create()["thread_id"]
    output = client.runs.wait(own, "recall", raise_error=False, **more)
    return [output, client.threads.get_state(own), client.threads.get_history(own)]


def started_after_the_entry(client, as_node):
    """Write Ana's name into the state behind the step that looks who asks, and run on from there."""
    own = client.threads.create()["thread_id"]
    client.runs.wait(own, "recall", input=asked("Anything?"))
    client.threads.update_state(own, asked(QUESTION, **ANA) | {"query": QUESTION}, as_node=as_node)
    return [client.runs.wait(own, "recall", raise_error=False), client.threads.get_state(own)]


def forked(client):
    """The same from an old checkpoint."""
    own = client.threads.create()["thread_id"]
    client.runs.wait(own, "recall", input=asked("Anything?"))
    (old,) = [saved for saved in client.threads.get_history(own, limit=50) if saved["next"] == ["light_retrieve"]]
    update = asked(QUESTION, **ANA) | {"query": QUESTION, "intent": {"query": QUESTION, "anchor": QUESTION}}
    fork = client.threads.update_state(own, update, checkpoint=old["checkpoint"], as_node="parse_intent")
    return client.runs.wait(own, "recall", checkpoint=fork["checkpoint"], raise_error=False)


def commanded(client):
    """Write into the state with a command, and jump behind the step that looks who asks."""
    own = client.threads.create()["thread_id"]
    client.runs.wait(own, "recall", input=asked("Anything?"))
    command = {"update": asked(QUESTION, **ANA) | {"query": QUESTION}, "goto": "parse_intent"}
    return [client.runs.wait(own, "recall", command=command, raise_error=False), client.threads.get_state(own)]


def with_a_forged_history(client):
    """Make a thread with a history that names Ana, and run on from there."""
    steps = [{"updates": [{"values": asked(QUESTION, **ANA), "as_node": "identify"}]}]
    own = client.threads.create(graph_id="recall", supersteps=steps)["thread_id"]
    return client.runs.wait(own, "recall", raise_error=False)


def over_a_checkpoint_of(client, thread):
    """Run on an own thread over a checkpoint that names another."""
    own = client.threads.create()["thread_id"]
    checkpoint = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": None}
    return [
        client.runs.wait(own, "recall", checkpoint={**checkpoint}, raise_error=False),
        client.threads.get_state(own, checkpoint=checkpoint),
    ]


THREATS = {
    "a name in the request": lambda eve, ana: recalled(eve, input=asked(QUESTION, **ANA_SAYS)),
    "a name in the context": lambda eve, ana: recalled(eve, input=asked(QUESTION), context=ANA),
    "a run without a thread": lambda eve, ana: eve.runs.wait(None, "recall", input=asked(QUESTION, **ANA)),
    "a search": lambda eve, ana: eve.runs.wait(None, "recall", input=asked(QUESTION, mode="search", **ANA)),
    "an agent": lambda eve, ana: eve.runs.wait(None, "agent", input=chat(QUESTION), context=ANA),
    "an assistant": lambda eve, ana: recalled_by_assistant(eve),
    "the state behind the first step": lambda eve, ana: started_after_the_entry(eve, "identify"),
    "a fork": lambda eve, ana: forked(eve),
    "a command": lambda eve, ana: commanded(eve),
    "a history that is brought along": lambda eve, ana: with_a_forged_history(eve),
    "another's thread": lambda eve, ana: eve.threads.get(ana),
    "another's state": lambda eve, ana: eve.threads.get_state(ana),
    "another's history": lambda eve, ana: eve.threads.get_history(ana),
    "another's items": lambda eve, ana: eve.store.search_items(("notes",)),
}
"""Attacks that reach the secret if Ana herself makes them."""
ATTACKS = THREATS | {
    "a name in the configuration": lambda eve, ana: recalled(
        eve, input=asked(QUESTION), config={"configurable": {**ANA, "langgraph_auth_user_id": "ana"}}
    ),
    "a forged identity": lambda eve, ana: recalled(
        eve, input=asked(QUESTION), config={"configurable": {"langgraph_auth_user": {"identity": "ana", **ANA}}}
    ),
    "another thread in the configuration": lambda eve, ana: recalled(
        eve, input=asked(QUESTION), config={"configurable": {"thread_id": ana}}
    ),
    "the state behind the second step": lambda eve, ana: started_after_the_entry(eve, "parse_intent"),
    "the state at the end": lambda eve, ana: started_after_the_entry(eve, "conclude"),
    "a checkpoint of another": lambda eve, ana: over_a_checkpoint_of(eve, ana),
    "a request to remember": lambda eve, ana: eve.runs.wait(None, "remember", input=said("Hello.", **ANA)),
    "another's runs": lambda eve, ana: eve.runs.list(ana),
    "a run on another's thread": lambda eve, ana: eve.runs.wait(ana, "recall", input=asked(QUESTION)),
    "a copy of another's thread": lambda eve, ana: eve.threads.copy(ana),
    "a change of another's thread": lambda eve, ana: eve.threads.update(ana, metadata={"owner": "eve"}),
    "a thread of the same id": lambda eve, ana: eve.threads.create(thread_id=ana, if_exists="do_nothing"),
    "threads that are searched": lambda eve, ana: eve.threads.search(metadata={"topic": "hers"}, limit=100),
    "all items": lambda eve, ana: eve.store.search_items(()),
    "items under another's name": lambda eve, ana: eve.store.search_items((label("ana"),)),
    "items under any name": lambda eve, ana: eve.store.search_items(("*", "notes")),
    "an item": lambda eve, ana: eve.store.get_item((label("ana"), "notes"), "hers"),
    "an item that is deleted": lambda eve, ana: eve.store.delete_item((label("ana"), "notes"), "hers"),
    "an item that is overwritten": lambda eve, ana: eve.store.put_item((label("ana"), "notes"), "hers", {"text": ""}),
    "namespaces": lambda eve, ana: eve.store.list_namespaces(()),
    "namespaces by their end": lambda eve, ana: eve.store.list_namespaces((), suffix=["notes"]),
    "the server's own back door": lambda eve, ana: eve.http.get(f"/internal/debug/thread/{ana}"),
    "the other event stream": lambda eve, ana: eve.http.get(f"/threads/{ana}/stream"),
}
ANA_SAYS = {**ANA, "run_id": "x"}


def label(user):
    from langgraph_engram.integrations.identity import Principal
    from langgraph_engram.server.auth import store_label

    return store_label(Principal(user_id=user))


def recalled_by_assistant(client):
    saved = client.assistants.create("recall", context=ANA, metadata={"created_by": "system"})["assistant_id"]
    return recalled_with(client, saved)


def recalled_with(client, assistant):
    return client.runs.wait(None, assistant, input=asked(QUESTION), raise_error=False)


@pytest.fixture(scope="module")
def seen(guarded, thread):
    """What Eve sees of each attack: she tries them all at once."""
    eve = guarded.client("eve")
    with ThreadPoolExecutor(8) as pool:
        return dict(
            zip(
                ATTACKS, pool.map(lambda attack: outcome_of(lambda: attack(eve, thread)), ATTACKS.values()), strict=True
            )
        )


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_reaches_anothers_secret(seen, attack):
    """Eve knows Ana's name and the id of her thread, and learns nothing."""
    assert CODE not in seen[attack]
    assert '"hers"' not in seen[attack]


def test_the_same_calls_reach_ones_own_memory(guarded, thread):
    """What Eve tries is no empty threat: done by Ana, it finds the secret."""
    ana = guarded.client("ana")

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda attack: outcome_of(lambda: ATTACKS[attack](ana, thread)), THREATS))

    assert [attack for attack, text in zip(THREATS, found, strict=True) if CODE not in text] == []


def test_her_own_memory_answers_her(guarded, thread):
    """Access is restricted, not broken: Ana reaches all of it, whatever she says her name is."""
    ana = guarded.client("ana")

    own = ana.threads.create()["thread_id"]
    output = ana.runs.wait(own, "recall", input=asked(QUESTION, user_id="eve"))

    assert CODE in output["recollection"]["answer"]
    assert ana.threads.get_state(own)["values"]["request"]["user_id"] == "ana"
    assert CODE in outcome_of(lambda: ana.threads.get_state(thread))
    assert [item["value"]["text"] for item in ana.store.search_items(("notes",))["items"]] == [SECRET]
    assert ana.store.list_namespaces(())["namespaces"] == [[label("ana"), "notes"]]
    assert ana.store.get_item((label("ana"), "notes"), "hers")["value"] == {"text": SECRET}


def test_nobody_writes_into_another_s_memory(guarded, thread):
    """What Eve tells under Ana's name is Eve's."""
    eve, ana = guarded.client("eve"), guarded.client("ana")
    own = eve.threads.create()["thread_id"]
    text = "My safe word is Popocatepetl."

    eve.runs.wait(own, "remember", input=said(text, session="forged", **ANA))
    written = eve.threads.get_state(own)["values"]
    eve.threads.update_state(own, said(text, session="again", **ANA), as_node="identify")
    failed = eve.runs.wait(own, "remember", raise_error=False)

    assert written["request"]["user_id"] == "eve"
    assert failed["__error__"]["error"] == "NotAllowed"
    assert "Popocatepetl" not in outcome_of(lambda: recalled(ana, input=asked(QUESTION)))
    assert "Popocatepetl" in outcome_of(lambda: recalled(eve, input=asked(QUESTION)))


def test_tenants_are_isolated(guarded, thread):
    """Ana of another organisation is another Ana, whatever she says hers is."""
    other = guarded.client("ana-of-acme")

    seen = outcome_of(lambda: recalled(other, input=asked(QUESTION, tenant="default")))

    assert CODE not in seen
    assert '"tenant": "acme"' in seen


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/assistants/search"),
        ("POST", "/threads"),
        ("POST", "/threads/search"),
        ("POST", "/runs/wait"),
        ("POST", "/store/items/search"),
        ("POST", "/runs/crons/search"),
        ("POST", "/mcp"),
    ],
)
@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"X-Auth-Scheme": "langsmith"}])
def test_nobody_gets_in_without_a_token(guarded, method, path, header):
    """401, with no token, a wrong one, or the word of LangGraph Studio."""
    answer = guarded.http().request(method, path, json={}, headers=header)

    assert answer.status_code == 401
    assert ("is needed" in answer.text) is ("Authorization" not in header)


def test_assistants_and_schedules_are_their_owners(guarded, thread):
    """A saved assistant is seen by its owner alone, and nobody changes those of the graphs."""
    ana, eve = guarded.client("ana"), guarded.client("eve")
    saved = ana.assistants.create("recall", context={"agent_id": "mine"})["assistant_id"]
    (system,) = eve.assistants.search(graph_id="remember")

    with pytest.raises(NotFoundError):
        eve.assistants.get(saved)
    with pytest.raises(NotFoundError):
        eve.assistants.update(system["assistant_id"], context=ANA)
    with pytest.raises(NotFoundError):
        eve.assistants.delete(system["assistant_id"])
    with pytest.raises(APIError):
        eve.crons.create_for_thread(thread, "recall", schedule="0 0 * * *", input=asked(QUESTION))
    assert saved in [assistant["assistant_id"] for assistant in ana.assistants.search(limit=100)]
    assert ana.assistants.update(saved, name="mine")["name"] == "mine"
    made = ana.crons.create_for_thread(thread, "recall", schedule="0 0 1 1 *", input=asked(QUESTION))["cron_id"]
    assert [cron["cron_id"] for cron in ana.crons.search()] == [made]
    assert eve.crons.search() == []
    ana.crons.delete(made)


@pytest.mark.parametrize("path", ["/a2a/recall", "/internal/truncate", "/deploy", "/internal/debug/thread/x"])
def test_unauthenticated_internal_routes_are_blocked(guarded, opened, path):
    """They are not there, token or not."""
    for server in (guarded.http("eve"), opened.http()):
        assert server.post(path, json={}).status_code in (404, 405)
        assert server.get(path).status_code in (404, 405)


def test_the_inspector_shows_a_memory_to_its_owner_alone(guarded, thread):
    """A page asks to sign in; the cookie that it then gives opens pages of the inspector, and nothing else here."""
    page, named = f"{guarded.url}/memory", {"user": "ana"}
    with httpx.Client(base_url=guarded.url) as eve:
        asked = eve.get("/memory", params=named)
        form_token = FORM_TOKEN.search(asked.text)[1]
        eve.post("/memory/sign-in", data={"form_token": form_token, "token": "token-of-eve"})
        hers, cookie = eve.get("/memory", params=named), {"Cookie": f"engram_token={eve.cookies['engram_token']}"}
    others = [
        httpx.post(f"{guarded.url}/threads/search", json={}, headers=cookie).status_code,
        *(httpx.get(f"{guarded.url}{path}", headers=cookie).status_code for path in ("/mcp", "/memoryless")),
    ]

    owner = httpx.get(page, headers={"Authorization": "Bearer token-of-ana"})

    assert (asked.status_code, hers.status_code, owner.status_code) == (401, 200, 200)
    assert others == [401] * 3
    assert "Memory of <b>eve</b>" in hers.text
    assert CODE in owner.text
    assert CODE not in asked.text + hers.text
