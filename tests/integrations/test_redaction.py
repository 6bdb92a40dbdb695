"""What is recalled is redacted before a model sees it."""

import pytest
from langchain.agents import create_agent

from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.integrations.tools import create_memory_tools

ADDRESS = "ana@example.org"


@pytest.fixture
def known(memory):
    """A memory that holds an address."""
    memory.remember([{"role": "user", "content": f"My address is {ADDRESS}, write to it."}], user_id="ana")
    return memory


def agent(memory, model, redact, **options):
    return create_agent(model, middleware=[EngramMiddleware(memory, user_id="ana", redact=redact, **options)])


def without_address(text):
    return text.replace(ADDRESS, "<address>")


def blocking(text):
    if ADDRESS in text:
        raise ValueError("an email is blocked")
    return text


@pytest.mark.parametrize(("redact", "shown"), [(None, ADDRESS), (without_address, "<address>")])
def test_what_is_recalled_is_redacted(known, scripted, redact, shown):
    """By a function; without one it is shown as it was said."""
    model = scripted("Noted.")
    agent(known, model, redact).invoke({"messages": [("user", "What is my address?")]})

    assert "Recalled from long-term memory" in model.shown()
    assert shown in model.shown()
    assert (ADDRESS in model.shown()) is (redact is None)


def test_what_is_blocked_is_not_recalled(known, scripted):
    """The agent goes on without, and its state says why; configured to, it stops."""
    model = scripted("I cannot say.")
    state = agent(known, model, blocking).invoke({"messages": [("user", "What is my address?")]})

    assert state["messages"][-1].text == "I cannot say."
    assert "email" in state["engram_trouble"]
    assert ADDRESS not in model.shown() + state["engram_trouble"]
    with pytest.raises(ValueError, match="email"):
        agent(known, model, blocking, on_error="raise").invoke({"messages": [("user", "What is my address?")]})


def test_a_model_of_memory_is_asked_redacted(known, scripted, monkeypatch):
    """What is asked of memory in the mode that calls a model holds no address either."""
    asked = []
    monkeypatch.setattr(
        known, "recall", lambda question, **options: asked.append(question) or known.search("x", user_id="a")
    )
    agent(known, scripted("Noted."), without_address, mode="recall").invoke(
        {"messages": [("user", f"Who is {ADDRESS}?")]}
    )

    assert asked == ["Who is <address>?"]


def test_the_search_tool_shows_the_model_redacted_text(known):
    """Its artifact, which no model sees, is what memory holds."""
    (search,) = create_memory_tools(known, tools=["search_memory"], user_id="ana", redact=without_address)
    call = {"type": "tool_call", "name": "search_memory", "args": {"query": "address"}, "id": "1"}

    message = search.invoke(call)

    assert "<address>" in message.content
    assert ADDRESS not in message.content
    assert ADDRESS in message.artifact["evidence"][0]["text"]


def test_the_model_may_narrow_a_search_and_not_widen_it(memory):
    """Its filters come on top of the developer's; what does not fit is told to it."""
    for session, text in (("work", "I ski with Tom."), ("home", "I ski with Eva."), ("home", "I ski with Ida.")):
        memory.remember(
            [{"role": "user", "content": text}], user_id="ana", session_id=session, metadata={"place": session}
        )
    fixed = {"metadata.place": "home"}
    save, search = create_memory_tools(
        memory, tools=["save_memory", "search_memory"], user_id="ana", filters=fixed, metadata={"place": "home"}
    )

    def found(**arguments):
        call = {"type": "tool_call", "name": "search_memory", "args": {"query": "ski", **arguments}, "id": "1"}
        message = search.invoke(call)
        return {name for name in ("Tom", "Eva", "Ida") if name in message.content}, message

    save.invoke({"text": "Ana skis well."})

    assert found()[0] <= {"Eva", "Ida"}
    assert len(found(limit=1)[1].artifact["evidence"]) == 1
    assert found(filters={"metadata.place": "work"})[1].content.startswith("Memory could not do this: the filter")
    assert found(filters={"plaace": "work"})[1].content.startswith("Memory could not do this: unknown filter key")
    assert [turn.metadata for turn in memory.show("turns", "ana")][-1] == {"place": "home"}
    assert found(filters={"session": "nowhere"})[0] == set()
