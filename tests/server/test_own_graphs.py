"""A graph of a user's own is served beside ours, with the same store, tokens and memory."""

import pytest

from tests.server.conftest import serve

pytestmark = pytest.mark.timeout(600)  # a server starts, and machines that run tests are busy

GRAPH = """
from typing_extensions import TypedDict

from langgraph.graph import START, StateGraph

from langgraph_engram.integrations.identity import resolve_scope
from langgraph_engram.server import factory


class State(TypedDict, total=False):
    question: str
    user: str
    found: str


def ask(state: State) -> State:
    scope = resolve_scope()
    found = factory.memory().search(state["question"], **dict(scope)).evidence
    return {"user": scope.user_id, "found": found[0].text if found else ""}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(GRAPH)
    command = ["langgraph_engram.cli.main", "serve", "--graph", "mine=./mine.py:graph"]
    yield from serve(folder, command, ENGRAM_TOKENS='{"a": "ana", "b": "ben"}')


def test_it_is_served_beside_ours(own):
    """Its user is the one whose token was sent, whatever the request says."""
    said = [{"role": "user", "speaker": "Ana", "text": "My cat is called Miso."}]
    own.client(token="a").runs.wait(None, "remember", input={"request": {"messages": said}})
    asked = {"question": "What is the cat called?"}
    sent = {"configurable": {"user_id": "ana", "langgraph_user_id": "ana", "langgraph_auth_user_id": "ana"}}

    mine, other = (own.client(token=token).runs.wait(None, "mine", input=asked, config=sent) for token in "ab")

    assert (mine["user"], "Miso" in mine["found"]) == ("ana", True)
    assert (other["user"], other["found"]) == ("ben", "")


def test_the_log_is_quiet_and_has_no_colours(own):
    """The addresses, and no banner; no escape codes, since it is no terminal."""
    log = own.log.read_text()

    assert own.url in log
    assert "graphs: mine, remember, recall, agent" in log
    assert "\033" not in log
    assert "Welcome" not in log
