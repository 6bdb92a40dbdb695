"""The middleware does its work among LangChain's own, before, between and after them."""

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_engram.integrations.middleware import EngramMiddleware
from tests.integrations.conftest import weather

ADDRESS = "ana@example.org"
SAID = [f"I live in Lisbon, write to {ADDRESS}.", "I keep two cats.", "I play the oboe.", "What is the weather?"]


def others(scripted):
    """What agents are given beside memory."""
    summarizer = scripted("They talked about Ana.")
    return {
        "summarization": SummarizationMiddleware(summarizer, trigger=("messages", 5), keep=("messages", 2)),
        "human-in-the-loop": HumanInTheLoopMiddleware(interrupt_on={"weather": True}),
        "pii": PIIMiddleware("email"),
        "retry": ModelRetryMiddleware(max_retries=1, initial_delay=0.0, retry_on=(ConnectionError,)),
        "model calls": ModelCallLimitMiddleware(run_limit=4, exit_behavior="end"),
        "tool calls": ToolCallLimitMiddleware(run_limit=4),
    }


NAMES = ("summarization", "human-in-the-loop", "pii", "retry", "model calls", "tool calls")
ORDERS = [
    *[([name], position) for name in NAMES for position in (0, 1)],
    *[(list(names), position) for names in (NAMES, NAMES[::-1]) for position in (0, 3, 6)],
]


@pytest.mark.parametrize(("names", "position"), ORDERS, ids=[f"{'+'.join(names)}@{at}" for names, at in ORDERS])
def test_memory_works_at_any_place(memory, scripted, names, position, on):
    """What was said is kept once and in order, also over a summary, an interrupt and a retry; and it is recalled."""
    known = others(scripted)
    middleware = [known[name] for name in names]
    middleware.insert(position, EngramMiddleware(memory, user_id="ana"))
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "w"}])
    replies = ["Noted.", "Lovely.", "Splendid.", call, "It rains, so stay in.", "In Lisbon."]
    if "retry" in names:
        replies.insert(1, ConnectionError("it hung up"))
    model = scripted(*replies)
    agent = create_agent(model, [weather], middleware=middleware, checkpointer=InMemorySaver())

    for text in SAID:
        state = agent.invoke({"messages": [HumanMessage(text)]}, on("monday"))
        if "__interrupt__" in state:
            assert "human-in-the-loop" in names
            agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), on("monday"))
    agent.invoke({"messages": [HumanMessage("Where do I live?")]}, on("tuesday"))

    said = [text.replace(ADDRESS, "[REDACTED_EMAIL]") if "pii" in names else text for text in SAID]
    answers = ["Noted.", "Lovely.", "Splendid.", "It rains, so stay in."]
    kept = [turn.text for turn in memory.show("turns", "ana", filters={"session": "monday"})]
    assert kept == [text for pair in zip(said, answers, strict=True) for text in pair]
    assert "Lisbon" in model.shown()
    assert "Recalled from long-term memory" in model.shown()
    assert not any(
        "Recalled from" in str(message.text) for message in agent.get_state(on("tuesday")).values["messages"]
    )


@pytest.mark.parametrize("position", [0, 1])
def test_what_is_said_when_calls_run_out_is_kept(memory, scripted, on, position):
    """The run ends before the model is called; the user's words are not lost."""
    middleware = [ModelCallLimitMiddleware(thread_limit=1, exit_behavior="end")]
    middleware.insert(position, EngramMiddleware(memory, user_id="ana", keep="user"))
    agent = create_agent(scripted("Noted."), middleware=middleware, checkpointer=InMemorySaver())

    for text in SAID[1:3]:
        agent.invoke({"messages": [HumanMessage(text)]}, on("monday"))

    assert [turn.text for turn in memory.show("turns", "ana")] == SAID[1:3]


@pytest.mark.parametrize("position", [0, 1])
def test_a_model_that_fails_for_good_keeps_nothing_twice(memory, scripted, on, position):
    """What was said in a turn that failed is kept after the next one, once."""
    middleware = [ModelRetryMiddleware(max_retries=0, on_failure="error", initial_delay=0.0)]
    middleware.insert(position, EngramMiddleware(memory, user_id="ana"))
    model = scripted(ConnectionError("down"), "Lovely.")
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())

    with pytest.raises(ConnectionError):
        agent.invoke({"messages": [HumanMessage(SAID[1])]}, on("monday"))
    agent.invoke({"messages": [HumanMessage(SAID[2])]}, on("monday"))

    assert [turn.text for turn in memory.show("turns", "ana")] == [SAID[1], SAID[2], "Lovely."]


async def test_all_of_it_is_asynchronous_too(memory, scripted, on):
    """With every other middleware at once."""
    middleware = [*others(scripted).values(), EngramMiddleware(memory, user_id="ana")]
    model = scripted("Noted.", "In Lisbon.")
    agent = create_agent(model, [weather], middleware=middleware, checkpointer=InMemorySaver())

    await agent.ainvoke({"messages": [HumanMessage(SAID[0])]}, on("monday"))
    await agent.ainvoke({"messages": [HumanMessage("Where do I live?")]}, on("tuesday"))

    assert "Lisbon" in model.shown()
    assert len(await memory.ashow("turns", "ana")) == 4
