"""The inspector shows the answer of a model, what fails, and the decisions that wait for a person."""

import re

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.settings import DeepSettings, Settings, UpdateSettings
from tests.fake_server import FakeServer, Reply
from tests.server.test_inspector import Site, browser, say

pytestmark = pytest.mark.usefixtures("syntheses_at_once")


def test_an_answer_of_a_model_comes_with_its_cost(tmp_path):
    """And with its evidence, to which its citations lead."""
    chat = GenericFakeChatModel(messages=iter([AIMessage("She lives in Oslo [1].")]))
    direct = preset("engram").model_copy(update={"deep": DeepSettings(sufficiency="always", reflect=False)})
    with Memory(tmp_path / "store", "rules", encoder="hashing") as opened:
        say(opened, "ana", "I live in Oslo.")

    with Memory(tmp_path / "store", chat, encoder="hashing", settings=direct) as opened:
        shown = Site(browser(opened), {"user": "ana"}).send("/ask", query="Where does Ana live?").text

    assert 'She lives in Oslo <a href="#evidence-1">[1]</a>.' in shown
    assert "1 request to a language model" in shown


def test_a_failing_model_is_told_on_the_page(tmp_path):
    """In place of an answer."""
    from langchain_openai import ChatOpenAI

    with FakeServer(otherwise=Reply(status=401, error="this key is not known")) as server:
        chat = ChatOpenAI(base_url=server.url, api_key="any", model="fake", max_retries=0)
        with Memory(tmp_path, encoder="hashing", model=chat) as opened:
            say(opened, "ana", "My cat is called Miso.")
            shown = Site(browser(opened), {"user": "ana"}).send("/ask", status=503, query="What is Ana's cat?").text

    assert 'role="alert"' in shown
    assert "this key is not known" in shown
    assert "<h2>Answer</h2>" not in shown


def asking(folder, *actions):
    """A memory that asks a person about decisions of some kinds."""
    settings = Settings(update=UpdateSettings(approve=list(actions)))
    return Memory(folder, encoder="hashing", model="rules", settings=settings)


def test_approvals_are_answered_from_the_page(tmp_path):
    """One decision is approved, others are rejected, by themselves or all of a run; each does what was said.

    An answer that leaves decisions open is refused, so that the run waits on.
    """
    with asking(tmp_path, "SUPERSEDE", "MERGE") as opened:
        site = Site(browser(opened), {"user": "ana"})
        outcomes = []
        for day, answer in ((1, "approve"), (11, "reject"), (21, None)):
            say(opened, "ana", "I live in Lisbon.", day=day)
            say(opened, "ana", "I live in Porto.", day=day + 1)
            shown = site.get("/approvals")
            run = re.search(r'name="run" value="([^"]+)"', shown)[1]
            decisions = re.findall(r'name="(decision:[^"]+)" value="approve"', shown)
            assert "Lisbon" in shown
            assert "problem" in site.send("/approvals", status=400, run=run).text
            assert len(opened.approvals("ana")) == 1
            answers = dict.fromkeys(decisions, answer) if answer else {"all": "reject"}
            done = site.send("/approvals", run=run, **answers)
            outcomes.append(("No decision waits" in done.text, [d.action for d in opened.show("decisions", "ana")]))
            opened.forget(user_id="ana")

    assert outcomes == [(True, ["SUPERSEDE"]), (True, ["KEEP_BOTH"]), (True, ["KEEP_BOTH"])]


def test_only_what_is_replaced_is_struck_out(tmp_path):
    """Approving that both are kept takes neither away."""
    with asking(tmp_path, "KEEP_BOTH") as opened:
        say(opened, "ana", "I live in Lisbon.")
        say(opened, "ana", "I moved to Porto in May.", "I live in Porto.", day=2)
        (waiting,) = opened.approvals("ana")
        shown = Site(browser(opened), {"user": "ana"}).get("/approvals")

    assert [decision.action for decision in waiting.decisions] == ["KEEP_BOTH"]
    assert "<del>" not in shown
    assert all(f"<dt>Stays</dt><dd>{text}" in shown for text in ("Ana: I moved to Porto", "Ana: I live in Porto."))
