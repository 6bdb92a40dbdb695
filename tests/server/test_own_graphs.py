"""A graph of a user's own is served beside ours, with the same store, tokens and memory."""

import pytest

pytestmark = pytest.mark.timeout(600)  # a server starts, and machines that run tests are busy


def test_it_is_served_beside_ours(guarded):
    """Its user is the one whose token was sent, whatever the request says."""
    said = [{"role": "user", "speaker": "Ana", "text": "My cat is called Miso."}]
    guarded.client("owner").runs.wait(None, "remember", input={"request": {"messages": said}})
    asked = {"question": "What is the cat called?"}
    sent = {"configurable": {"user_id": "owner", "langgraph_user_id": "owner", "langgraph_auth_user_id": "owner"}}

    mine, other = (
        guarded.client(name).runs.wait(None, "mine", input=asked, config=sent) for name in ("owner", "other")
    )

    assert (mine["user"], "Miso" in mine["found"]) == ("owner", True)
    assert (other["user"], other["found"]) == ("other", "")


def test_the_log_is_quiet_and_has_no_colours(guarded):
    """The addresses, and no banner; no escape codes, since it is no terminal."""
    log = guarded.log.read_text()

    assert guarded.url in log
    assert "graphs: mine, remember, recall, agent" in log
    assert "\033" not in log
    assert "Welcome" not in log
