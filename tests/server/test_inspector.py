"""The inspector shows what is stored as it is, changes it where it is told to, and takes every text as data."""

import re
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from langgraph_engram.nodes.verify import Verify
from langgraph_engram.pending import RECEIVE, pending_task
from langgraph_engram.schema import Decision, Scope, Turn
from langgraph_engram.server.credentials import Credentials
from langgraph_engram.server.inspector.pages import PAGES, inspector_routes
from langgraph_engram.server.inspector.views import PAGE_ITEMS
from langgraph_engram.stores.base import Changes
from tests.server.conftest import FORM_TOKEN

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

ATTACK = "<script>alert(1)</script>"


def browser(memory):
    """A browser on this machine, at the inspector of a memory, without tokens."""
    app = Starlette(routes=inspector_routes(lambda: memory, Credentials()))
    return TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000))


@pytest.fixture
def site(memory, user):
    """Pages about the memory of this test's user, and forms that are sent as a browser sends them."""
    return Site(browser(memory), {"user": user})


class Site:
    def __init__(self, client, named):
        self.client, self.named = client, named

    def get(self, path="", status=200, **query):
        answer = self.client.get(f"/memory{path}", params={**self.named, **query})
        assert answer.status_code == status, answer.text
        return answer.text

    def send(self, path, status=200, **form):
        """Fill in the form of a page that was seen before."""
        seen = self.client.get("/memory/ask", params=self.named).text
        token = FORM_TOKEN.search(seen)[1]
        answer = self.client.post(f"/memory{path}", params=self.named, data={"form_token": token, **form})
        assert answer.status_code == status, answer.text
        return answer


def say(memory, user, *texts, day=1, **more):
    """Remember what Ana says in one session of a day."""
    said = [
        {"speaker": "Ana", "text": text, "said_at": f"2024-03-{day:02}T09:{minute:02}:00Z"}
        for minute, text in enumerate(texts)
    ]
    return memory.remember(said, user_id=user, session_id=f"day-{day}", close_session=True, **more)


def record_with(memory, user, words):
    """Return the one record that holds some words."""
    (found,) = [record for record in memory.show("records", user) if words in record.content]
    return found


def test_the_timeline_shows_sessions_events_records_and_syntheses(memory, site, user):
    """Each under its own, with its type as a word."""
    say(memory, user, "I camped at Lake Bled on 3 March 2024.", "I have a brother called Ben.")

    shown = site.get()

    (event,) = memory.show("events", user)
    (boundary,) = memory.show("boundaries", user)
    (synthesis,) = memory.show("syntheses", user)
    record = record_with(memory, user, "Bled")
    order = [
        "Fri 1 March 2024",
        "day-1",
        boundary.text,
        event.summary,
        f"/memory/records/{record.record_id}?",
        "covers 2",
    ]
    assert [shown.index(text) for text in order] == sorted(shown.index(text) for text in order)
    assert f'<span class="tag kind {record.memory_type}">{record.memory_type}</span>' in shown
    assert synthesis.text in shown


def test_states_are_shown_by_word(memory, site, user, record):
    """Superseded, conflicting and quarantined records say so, and why; each can be listed alone."""
    say(memory, user, "I live in Lisbon.", day=1)
    say(memory, user, "I live in Porto.", day=2)
    known = memory.show("events", user)[0]
    own = {"session_id": known.session_id, "event_id": known.event_id, "source_turn_ids": known.turn_ids}
    records = [
        record(1, "Four tiers.", conflicts_with=["r2"], **own),
        record(2, "Six tiers.", conflicts_with=["r1"], **own),
        record(3, "Seven seas.", status="quarantined", reject_reason="nobody said seven", **own),
    ]
    memory.store.commit(Scope(user_id=user), Changes(records=records))

    states = ("superseded", "conflicting", "quarantined", "active")
    lists = {state: site.client.get("/memory", params={"user": user, "status": state}).text for state in states}

    assert "Lisbon" in lists["superseded"]
    assert 'superseded">superseded</span>' in lists["superseded"]
    assert all(
        text in lists["conflicting"] for text in ("Four tiers.", "Six tiers.", 'conflicting">conflicting</span>')
    )
    assert all(text in lists["quarantined"] for text in ("Seven seas.", "nobody said seven"))
    assert [
        text in lists["active"] for text in ("Porto", "Four tiers.", "I live in Lisbon.</span>", "Seven seas.")
    ] == [True] * 2 + [False] * 2
    assert "Six tiers." in site.get("/records/r1")


def test_a_filter_narrows_by_kind_and_text(memory, site, user):
    """All of its words, whatever their case; what fits nothing says so."""
    say(memory, user, "I camped at Lake Bled on 3 March 2024.", "My brother Ben plays the cello.")
    kind = record_with(memory, user, "cello").memory_type

    by_text, by_kind = site.get(text="CELLO ben"), site.get(kind=kind)
    syntheses, nothing = site.get(kind="synthesis"), site.get(text="cello Bled tuba")

    assert ("cello" in by_text, "<span>I camped" in by_text) == (True, False)
    assert "cello" in by_kind
    assert "covers" in syntheses
    assert "Nothing here fits the filter" in nothing


def test_a_page_is_limited_and_all_pages_together_are_everything(memory, site, user, record):
    """Each record is on exactly one page, whatever there are of them."""
    count = 2 * PAGE_ITEMS + 7
    say(memory, user, "I camped at Lake Bled.", day=1)
    known = memory.show("events", user)[0]
    own = {"session_id": known.session_id, "event_id": known.event_id, "source_turn_ids": known.turn_ids}
    records = [record(number, f"Tree {number} stands.", **own) for number in range(count)]
    memory.store.commit(Scope(user_id=user), Changes(records=records))

    pages = [site.get(text="tree", page=number) for number in (1, 2, 3, 4)]

    found = [re.findall(r"Tree \d+ stands", page) for page in pages]
    assert [len(page) for page in found] == [PAGE_ITEMS, PAGE_ITEMS, 7, 7]
    assert sorted(found[0] + found[1] + found[2]) == sorted(f"Tree {number} stands" for number in range(count))
    assert "continued" in pages[1]
    assert 'rel="next"' in pages[0]
    assert 'rel="next"' not in pages[2]


def test_a_record_is_shown_with_the_turns_it_comes_from(memory, site, user):
    """As they were said, and no others."""
    say(memory, user, "Good morning.", "It rains. I camped at Lake Bled with Joao.", "We should go there again.")
    found = record_with(memory, user, "Bled")

    shown = site.get(f"/records/{found.record_id}")

    assert "It rains. I camped at Lake Bled with Joao." in shown
    assert found.record_id in shown
    assert "Good morning." not in shown


def test_a_conversation_shows_every_turn_page_by_page(memory, site, user, turn):
    """A link to a turn leads to the page that holds it."""
    turns = [turn(seq, f"Line {seq} of it.") for seq in range(230)]
    memory.store.commit(Scope(user_id=user), Changes(turns=turns))

    pages = [site.get("/conversation", session="s1", page=number) for number in (1, 2, 3)]
    at = site.get("/conversation", session="s1", at=150)

    assert [page.count('class="turn"') for page in pages] == [100, 100, 30]
    assert 'id="turn-150"' in at
    assert site.get("/conversation", status=404, session="s2")


def test_an_edit_is_kept_in_the_history_and_can_be_undone(memory, site, user):
    """The new text takes the place of the old one; undoing its run brings the old one back."""
    say(memory, user, "I live in Lisbon.")
    old = record_with(memory, user, "Lisbon")

    edited = site.send(f"/records/{old.record_id}", content="Ana: I live in Porto.")
    new = record_with(memory, user, "Porto")
    (decision,) = memory.show("decisions", user)
    undone = site.send("/undo", run=decision.run_id, record=old.record_id)

    assert urlsplit(str(edited.url)).path == f"/memory/records/{new.record_id}"
    assert all(
        text in edited.text for text in ("The record was edited", "Edited by a person", old.content, decision.run_id)
    )
    assert "is active again" in undone.text
    assert memory.get(old.record_id, user_id=user).status == "active"
    assert memory.get(new.record_id, user_id=user).status == "archived"


def test_a_decision_is_shown_with_all_that_it_was_about(memory, site, user):
    """What was kept beside a record is no part of its lineage, and is linked all the same."""
    first = say(memory, user, "I keep four bees' hives in the garden.")
    scope, records = Scope(user_id=user), [record_with(memory, user, "bees")]
    say(memory, user, "I keep four goats in the garden.", day=2)
    records.append(record_with(memory, user, "goats"))
    pair = [record.record_id for record in records]
    kept = Decision(decision_id=user, run_id=first.run_id, pair=pair, jaccard=0, cosine=0, action="KEEP_BOTH")
    memory.store.commit(scope, Changes(decisions=[kept]))

    shown = site.get(f"/records/{pair[0]}")

    assert f'/memory/records/{pair[1]}?user={user}">{records[1].content}</a>' in shown.replace("&amp;", "&")


def test_what_cannot_be_edited_says_why(memory, site, user):
    """Nothing is lost: an empty text, and a record that is not active."""
    say(memory, user, "I live in Lisbon.", day=1)
    say(memory, user, "I live in Porto.", day=2)
    old, new = record_with(memory, user, "Lisbon"), record_with(memory, user, "Porto")

    empty = site.send(f"/records/{new.record_id}", status=400, content=" ")
    closed = site.send(f"/records/{old.record_id}", status=400, content="Ana: I live in Faro.")

    assert "needs a text" in empty.text
    assert "only active ones are edited" in closed.text
    assert not [record for record in memory.show("records", user) if "Faro" in record.content]


def test_what_would_go_is_what_goes(memory, site, user):
    """Looking at the question changes nothing; its button erases what it counts and names, and the turns stay."""
    say(memory, user, "I live in Lisbon.", day=1)
    say(memory, user, "I live in Porto.", day=2)
    old = record_with(memory, user, "Lisbon")
    kinds = ("records", "decisions", "syntheses")
    before = [len(memory.show(kind, user)) for kind in kinds]

    question = site.get("/forget", record=old.record_id)
    asked = [len(memory.show(kind, user)) for kind in kinds]
    done = site.send("/forget", record=old.record_id)

    gone = [count - len(memory.show(kind, user)) for kind, count in zip(kinds, before, strict=True)]
    said = [int(found[1]) if (found := re.search(rf"<li>(\d+) {kind}", question)) else 0
            for kind in ("record", "decision", "synthes")]  # fmt: skip
    assert (said, asked) == (gone, before)
    assert ("Lisbon" in question, "Porto" in question) == (True, False)
    assert "Forget for good" in question
    assert "Nothing of it was found afterwards" in done.text
    assert len(memory.show("turns", user)) == 2


def test_a_conversation_can_be_forgotten(memory, site, user):
    """Its turns go too; others stay; and nothing goes where neither or both are named."""
    say(memory, user, "I live in Lisbon.", day=1)
    say(memory, user, "I play the cello.", day=2)
    other = record_with(memory, user, "cello")

    refused = [
        site.send("/forget", status=400),
        site.send("/forget", status=400, session="day-1", record=other.record_id),
    ]
    before = len(memory.show("turns", user))
    asked = site.get("/forget", session="day-1")
    site.send("/forget", session="day-1")

    assert "nothing was forgotten" in refused[0].text
    assert "forget one of them" in refused[1].text
    assert before == 2
    assert "1 turn<" in asked
    assert [turn.text for turn in memory.show("turns", user)] == ["I play the cello."]


def test_an_answer_comes_with_its_evidence_and_its_cost(memory, site, user):
    """For each passage its routes and scores, its record and its turn; citations lead to it. A search has no answer."""
    say(memory, user, "I camped at Lake Bled.", "My cat is called Miso.")

    shown, found = (
        site.send("/ask", query="What is Ana's cat called?", mode=mode).text for mode in ("recall", "search")
    )
    nothing = Site(site.client, {"user": f"not {user}"}).send("/ask", query="cat", mode="search").text

    record = record_with(memory, user, "Miso")
    assert '<a href="#evidence-1">[1]</a>' in shown
    evidence = shown[shown.index('id="evidence-1"') :]
    assert all(
        text in evidence for text in ("Miso", "lexical", "relevance", "score", f"/memory/records/{record.record_id}")
    )
    assert "No language model was asked." in shown
    assert "Miso" in found
    assert "<h2>Answer</h2>" not in found
    assert "nothing is remembered yet" in nothing


def test_the_profile_shows_what_lasts(memory, site, user, record):
    """By their kind, and as an agent is shown them."""
    wish = record(1, "Ana: Always answer me in French.", lasting="instruction")
    memory.store.commit(Scope(user_id=user), Changes(records=[wish, record(2, "Ana: The bus was late.")]))

    shown = site.get("/profile")

    assert "Instructions" in shown
    assert "/memory/records/r1?" in shown
    assert "(id r1) &#34;Always answer me in French.&#34;" in shown
    assert "The bus was late" not in shown


def test_health_counts_and_retries(memory, site, user):
    """An edit leaves its synthesis pending; the button writes it anew."""
    say(memory, user, "I live in Lisbon.", "I have a brother called Ben.")
    memory.update(record_with(memory, user, "Lisbon").record_id, "Ana: I live in Faro.", user_id=user)

    before = site.get("/health")
    after = site.send("/health").text

    assert "<b>2</b> turns" in re.sub(r"\s+", " ", before)
    assert "a record that it covers was edited" in before
    assert "Nothing is left to do" in after
    assert memory.status(user).pending == []


def test_health_shows_what_is_set_aside_and_tries_it_again(memory, site, user, monkeypatch):
    """A fault of ours is no error of the page, and stands in the way of no other task."""
    monkeypatch.setattr(Verify, "__call__", Mock(side_effect=ValueError("no digit of this fits")))
    with pytest.raises(ValueError, match="no digit"):
        say(memory, user, "I live in Lisbon.")

    aside = site.send("/health").text
    monkeypatch.undo()
    done = site.send("/health").text

    assert "set aside: ValueError: no digit of this fits" in aside
    assert "is tried again with the others" in aside
    assert "Nothing is left to do" in done


def test_health_tells_no_client_where_checkpoints_are(memory, site, user):
    """That words wait is told; the file, the process and the machine that have them are not for a browser."""
    said = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="I keep bees.")
    task = pending_task("run", [said], RECEIVE, "no weights; what was said is in thread run of /srv/checkpoints.sqlite")
    memory.store.commit(Scope(user_id=user), Changes(pending_tasks=[task]))

    shown = site.get("/health")

    assert "what was said waits in a checkpoint" in shown
    assert "/srv" not in shown


@pytest.mark.parametrize("path", [path for method, path, _ in PAGES if method == "GET"])
def test_every_text_is_data(path, memory, site, user):
    """Markup in a turn, a name, a session, metadata, a question and an address is shown, never run."""
    said = [
        {"speaker": f"Ana {ATTACK}", "text": f"I live in Lisbon {ATTACK}, always.", "said_at": "2024-03-01T09:00:00Z"}
    ]
    whose, metadata = f"{user}{ATTACK}", {"file": ATTACK}
    memory.remember(said, user_id=whose, session_id=f'"{ATTACK}', close_session=True, metadata=metadata)
    hostile = Site(site.client, {"user": whose})
    found = memory.show("records", whose)
    assert found
    more = {"session": f'"{ATTACK}'} if path in ("/conversation", "/forget") else {}

    shown = hostile.get(path.format(record_id=found[0].record_id), **more, text=ATTACK, kind=ATTACK)

    assert "<script" not in shown.lower()
    assert path.endswith(".css") or path == "/sign-in" or "&lt;script&gt;" in shown


def test_an_answer_is_data(memory, site, user):
    """Its question, its quotes and its evidence."""
    say(memory, user, f"My cat is called Miso {ATTACK} today.")

    shown = site.send("/ask", query=f"What is Ana's cat called? {ATTACK}").text

    assert "<script" not in shown.lower()
    assert shown.count("&lt;script&gt;") >= 3


def test_no_page_may_load_run_or_be_framed(site):
    """Were a text to slip through, the browser would still not run it; and nothing is kept in caches."""
    headers = site.client.get("/memory", params=site.named).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/records/nothing", "/forget?record=nothing", "/forget?session=nothing"])
def test_what_is_not_there_is_not_found(path, site):
    """With what to do."""
    answer = site.client.get(f"/memory{path}", params={**parse_qs(urlsplit(path).query), **site.named})

    assert answer.status_code == 404
    assert "unknown" in answer.text
    assert "engram show" not in answer.text
    assert "timeline</a> lists what is stored" in answer.text


@pytest.mark.parametrize("path", ["/nosuch", "/records", "/undo", "/a/b/"])
def test_an_address_of_no_page_is_an_ordinary_page(path, site):
    """It says so, and leads back; a slash at the end of the first page leads to that."""
    shown = site.get(path, status=404)

    assert f"there is no page {path[1:]!r} here".replace("'", "&#39;") in shown
    assert "timeline</a> lists what is stored" in shown
    assert "Timeline" in site.get("/")
