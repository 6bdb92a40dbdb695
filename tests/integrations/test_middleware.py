"""The middleware recalls once a turn, shows it as data, and keeps each thing said once."""

import logging

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_engram.errors import MissingUser, StoreError
from langgraph_engram.integrations.middleware import EngramMiddleware, with_block
from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.memory import Memory
from tests.integrations.conftest import weather


class Chat:
    """An agent with memory, and its input."""

    def __init__(self, memory, model, context, *, saver=True, tools=(), extra=(), **options):
        self.memory, self.model, self.context, self.saver = memory, model, context, InMemorySaver() if saver else None
        middleware = [EngramMiddleware(memory, **options), *extra]
        self.agent = create_agent(
            model, tools, system_prompt="You are kind.", middleware=middleware,
            context_schema=context, checkpointer=self.saver,
        )  # fmt: skip

    def say(self, text, thread="t1", user="ana", **message):
        said = {"messages": [HumanMessage(text, **message)]} if isinstance(text, str) else text
        return self.agent.invoke(said, {"configurable": {"thread_id": thread}}, context=self.context(user_id=user))

    def kept(self, user="ana"):
        return [(turn.session_id, turn.role, turn.text) for turn in self.memory.show("turns", user)]

    def texts(self, user="ana"):
        return [text for _, _, text in self.kept(user)]


@pytest.fixture
def chat(memory, scripted, context):
    """Make an agent with memory and a script."""
    return lambda *replies, **options: Chat(memory, scripted(*replies), context, **options)


@pytest.mark.parametrize("mode", ["search", "recall"])
def test_what_is_said_on_one_thread_is_recalled_on_another(chat, mode):
    """The second thread's model sees it in its system message, as data; the messages of the thread do not hold it.

    In the mode "recall" it also sees what memory answers.
    """
    own = chat("Lovely!", "In Lisbon.", mode=mode)

    own.say("I live in Lisbon.", "monday")
    state = own.say("Where do I live?", "tuesday")

    shown = own.model.shown()
    assert shown.startswith("You are kind.\n\n")
    assert shown.count("<memories>") == 1
    assert "data, not instructions" in shown
    assert '"' in shown
    assert "I live in Lisbon." in shown
    assert ("I live in Lisbon." in shown.partition("Answer: ")[2]) is (mode == "recall")
    assert [message.text for message in state["messages"]] == ["Where do I live?", "In Lisbon."]
    assert set(state) == {"messages"}


def test_each_thing_said_is_kept_once_over_turns_and_threads(chat):
    """Two threads take turns; each keeps its own, in its own session, and says again is another turn."""
    own = chat("One.", "Two.", "Three.", "Four.", "Five.")

    for text, thread in (("Hi, I am Ana.", "a"), ("I row.", "b"), ("ok", "a"), ("I sail.", "b"), ("ok", "a")):
        own.say(text, thread)

    assert [(role, text) for session, role, text in own.kept() if session == "a"] == [
        ("user", "Hi, I am Ana."), ("assistant", "One."), ("user", "ok"), ("assistant", "Three."),
        ("user", "ok"), ("assistant", "Five."),
    ]  # fmt: skip
    assert [text for session, _, text in own.kept() if session == "b"] == ["I row.", "Two.", "I sail.", "Four."]


def test_one_search_a_turn_however_often_the_model_is_called(chat, calling):
    """A turn with a tool call shows the model the same memories twice, from one search."""
    own = chat("Lovely!", calling("weather"), "Sunny in Lisbon.", tools=[weather])
    own.say("I live in Lisbon.", "monday")
    events = own.agent.stream(
        {"messages": [("user", "Where do I live, and is it warm?")]},
        {"configurable": {"thread_id": "tuesday"}},
        context=own.context(user_id="ana"), stream_mode="custom",
    )  # fmt: skip

    steps = [event["engram"]["step"] for event in events]

    assert steps == ["recall", "keep"]
    assert own.model.shown(-1) == own.model.shown(-2)
    assert "Lisbon" in own.model.shown()


def test_tools_and_recalled_text_are_nobodys_words(memory, chat, calling):
    """What tools gave back, a search of memory among them, and what was recalled is not kept; what was said is."""
    search = create_memory_tools(memory, tools=["search_memory"])[0]
    beside = AIMessage("Let me look.", tool_calls=calling("weather").tool_calls)
    own = chat("Lovely!", beside, calling("search_memory", query="home"), "Yes.", tools=[weather, search])

    own.say("I live in Lisbon.", "monday")
    own.say("Is it warm where I live?", "tuesday")

    said = ["I live in Lisbon.", "Lovely!", "Is it warm where I live?", "Let me look.", "Yes."]
    assert own.texts() == said


def test_what_the_model_sees_anyway_is_not_recalled(chat):
    """Memories of messages that stand in the thread would only be said twice."""
    own = chat("Lovely!", "In Lisbon.")

    own.say("I live in Lisbon.", "monday")
    own.say("Where do I live?", "monday")

    assert "memories" not in own.model.shown()


def test_a_run_that_is_made_again_keeps_only_what_is_new(chat, on):
    """Going back to before the answer says the question no second time; the new answer is said."""
    own = chat("One.", "Two.", "Three.")
    own.say("I live in Lisbon.", "a")
    own.say("Where do I live?", "a")
    before = next(saved.config for saved in own.agent.get_state_history(on("a")) if saved.next == ("model",))

    own.agent.invoke(None, before, context=own.context(user_id="ana"))
    own.agent.invoke(None, on("a"), context=own.context(user_id="ana"))

    texts = own.texts()
    assert texts == ["I live in Lisbon.", "One.", "Where do I live?", "Two.", "Three."]


@pytest.mark.parametrize(
    ("saver", "thread", "sent", "answers"), [(True, "a", {"id": "m1"}, ["One.", "Two."]), (False, None, {}, ["One."])]
)
def test_a_message_that_is_sent_again_is_known(chat, saver, thread, sent, answers):
    """By its id; without a checkpointer, the same call with the same answer is the same conversation, whatever ids."""
    own = chat(*answers, saver=saver)

    for _ in range(2):
        own.say("I live in Lisbon.", thread, **sent)

    assert own.texts() == ["I live in Lisbon.", *answers]


@pytest.mark.parametrize("thread", ["a", None])
def test_without_a_checkpointer_a_whole_history_may_be_sent(chat, thread):
    """Each call brings the conversation so far; only its newest turn is newly said."""
    own = chat("One.", "Two.", saver=False)
    config = {"configurable": {"thread_id": thread}} if thread else {}
    history = [("user", "I live in Lisbon.")]

    for text in ("I have a cat.", None):
        state = own.agent.invoke({"messages": history}, config, context=own.context(user_id="ana"))
        history = [(message.type, message.text) for message in state["messages"]] + [("user", text)]

    assert own.texts() == ["I live in Lisbon.", "One.", "I have a cat.", "Two."]
    assert thread is None or {session for session, _, _ in own.kept()} == {thread}


def test_the_budget_bounds_what_is_shown(chat):
    """A small budget shows a few memories of many."""
    own = chat("ok", budget=60)
    for number in range(12):
        own.say(f"I own a boat called Sprat {number}.", f"thread {number}")

    own.say("What are my boats called?", "last")

    assert 0 < own.model.shown().count("Sprat") <= 6


def test_what_was_forgotten_is_not_kept_by_the_request_to_forget_it(memory, chat, calling):
    """The exchange in which something is forgotten names it once more; it is not kept."""
    memory.remember([{"role": "user", "content": "My passport number is Q77-4411."}], user_id="ana", session_id="s1")
    short_id = memory.show("records", "ana")[0].record_id[:8]
    forget = calling("forget_memory", memory_id=short_id)
    own = chat(forget, "I forgot Q77-4411.", "Hello.", tools=create_memory_tools(memory))

    for sent in ("Forget my passport number Q77-4411.", Command(resume="approve"), "Hi, I am Ana."):
        own.say(sent, "a")

    assert own.texts() == ["Hi, I am Ana.", "Hello."]


def test_what_is_forgotten_does_not_come_back_with_the_thread(chat):
    """The thread still holds the message; the next turn keeps only what is new."""
    own = chat("One.", "Two.")
    own.say("My passport number is Q77-4411.", "a")

    own.memory.forget(user_id="ana", turn_id=own.memory.show("turns", "ana")[0].turn_id)
    own.say("Hi, I am Ana.", "a")

    assert own.texts() == ["One.", "Hi, I am Ana.", "Two."]


def test_a_run_that_begins_again_for_the_same_turn_recalls_once(chat, on, context):
    """After the model failed, the same turn is shown what was recalled for it."""
    own = chat("One.", RuntimeError("overloaded"), "Three.")
    own.say("I live in Lisbon.", "a")
    with pytest.raises(RuntimeError):
        own.say("Where do I live?", "b")

    parts = own.agent.stream({"messages": []}, on("b"), context=context(user_id="ana"), stream_mode="custom")

    assert [part["engram"]["step"] for part in parts] == ["keep"]
    assert "Lisbon" in own.model.shown()


def test_whoever_resumes_anothers_run_gets_nothing_of_its_owner(chat, calling):
    """The model is not shown the owner's memories any more, and the owner's words are not made the other's."""
    own = chat("Hello.", calling("weather"), "Warm.", tools=[weather],
               extra=[HumanInTheLoopMiddleware(interrupt_on={"weather": True})])  # fmt: skip
    own.say("The code is 7341.", "a", "ana")
    own.say("Is it warm? What is the code?", "b", "ana")

    own.say(Command(resume={"decisions": [{"type": "approve"}]}), "b", "bob")

    assert ("7341" in own.model.shown(-2), "7341" in own.model.shown(-1)) == (True, False)
    assert own.kept("bob") == []


def test_a_failure_leaves_the_agent_running_and_is_seen(chat, caplog):
    """The agent answers without memory; log, custom event and state say why; the next turn keeps what was not."""
    own = chat("One.", "Two.")
    scope, shut = own.memory._scope, []

    def broken(*names):
        if shut:
            raise StoreError("the disk is full")
        return scope(*names)

    own.memory._scope = broken
    shut.append(True)
    with caplog.at_level(logging.WARNING):
        state = own.say("I live in Lisbon.", "a")
    shut.clear()
    later = own.say("I have a cat.", "a")

    assert state["messages"][-1].text == "One."
    assert "the disk is full" in state["engram_trouble"]
    assert sum("the disk is full" in message for message in caplog.messages) == 2
    assert later["engram_trouble"] == ""
    assert own.texts() == ["I live in Lisbon.", "One.", "I have a cat.", "Two."]


def test_a_model_of_memorys_own_that_fails_in_its_own_way_leaves_the_agent_running(scripted, context, on):
    """Errors that nobody could name beforehand count as failures of memory."""
    broken = scripted(ArithmeticError("a bug of the provider"))
    with Memory(store="memory:", encoder="hashing", model=broken) as memory:
        own = Chat(memory, scripted("One.", "Two."), context, mode="recall")
        own.say("I live in Lisbon.", "a")
        state = own.say("Where do I live?", "b")

    assert state["messages"][-1].text == "Two."
    assert "a bug of the provider" in state["engram_trouble"]


def test_without_a_user_the_run_fails(chat):
    """Whose memory it is, is never guessed, whatever `on_error` says."""
    own = chat("One.")

    with pytest.raises(MissingUser, match="user_id"):
        own.say("I live in Lisbon.", user=None)

    assert own.model.seen == []


def test_a_message_that_cannot_be_kept_holds_up_nothing(chat, caplog):
    """What is too long to have been said is left out with a warning, and the next turn is kept."""
    own = chat("One.", "Two.")

    with caplog.at_level(logging.WARNING):
        own.say("x" * 1_000_001, "a")
    own.say("I have a cat.", "a")

    assert own.texts() == ["One.", "I have a cat.", "Two."]
    assert any("not kept" in message for message in caplog.messages)


def test_two_users_of_one_thread_stay_apart(chat):
    """Whoever writes on another's thread is shown none of that user's memories, and keeps none of that user's words."""
    own = chat("One.", RuntimeError("overloaded"), "Three.")
    own.say("The code is 7341.", "elsewhere", user="ana")

    with pytest.raises(RuntimeError):
        own.say("What is the code? My pin is 1234.", "shared", user="ana")
    own.say("What is the code?", "shared", user="bob")

    assert "7341" in own.model.shown(-2)
    assert "7341" not in own.model.shown(-1)
    assert own.texts("bob") == ["What is the code?", "Three."]
    assert "1234" not in str(own.kept("bob"))


@pytest.mark.parametrize(
    ("system", "content"),
    [
        (None, "new"),
        (SystemMessage("old"), "old\n\nnew"),
        (
            SystemMessage([{"type": "text", "text": "old", "cache_control": {"type": "ephemeral"}}]),
            [{"type": "text", "text": "old", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "new"}],
        ),
    ],
)
def test_a_block_is_added_to_any_system_message(system, content):
    """None, a text, and parts with marks of their own, which stay."""
    made = with_block(system, "new")

    assert made.content == content
