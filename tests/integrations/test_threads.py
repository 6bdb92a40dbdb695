"""Memory follows a thread as LangGraph has it: edits, removals, branches, copies, and what is merely done again."""

import random

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_engram.errors import InvalidInput, InvalidMessages
from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.memory import Memory
from langgraph_engram.state import RememberRequest, Thread
from tests.integrations.conftest import ScriptedModel

SAID = ("The budget is 5000 dollars.", "We sail to Lisbon.", "Clara comes along.")


class Trim(AgentMiddleware):
    """Take the first message out of the thread in a run, as an agent does that has grown too long."""

    active = False

    def before_model(self, state, runtime):
        return {"messages": [RemoveMessage(state["messages"][0].id)]} if self.active else None


class Host:
    """A graph with a checkpointer and a memory that follows its threads."""

    def __init__(self, build):
        self.memory, self.trim = Memory(store="memory:", encoder="hashing", model="rules"), Trim()
        self.replies = 0
        self.app = build(self).compile(checkpointer=InMemorySaver())

    def reply(self, messages):
        self.replies += 1
        return AIMessage(f"Reply {self.replies}.", id=f"reply-{self.replies}")

    def say(self, text, config=None, **message):
        self.app.invoke({"messages": [HumanMessage(text, **message)]} if text else None, config or self.thread())

    def thread(self, name="t"):
        return {"configurable": {"thread_id": name}}

    def messages(self, config=None):
        return self.app.get_state(config or self.thread()).values["messages"]

    def after(self, text):
        """Return the checkpoint at the end of the run in which something was said last."""
        return next(
            found.config for found in self.app.get_state_history(self.thread())
            if not found.next and [m for m in found.values.get("messages", ()) if m.type == "human"][-1:] == [
                m for m in found.values.get("messages", ()) if m.text == text]
        )  # fmt: skip

    def held(self, branches="current"):
        """Return what people said and memory recalls, in order."""
        turns = self.memory.store.index(self.memory._scope("ana", "default", None)).as_of(None, branches).turns
        return [turns.items[position].text for position in turns.order() if turns.items[position].role == "user"]


def of_agent(host):
    """A graph whose node is an agent with the middleware: the agent's graph itself where it stands alone."""
    middleware = [EngramMiddleware(host.memory, user_id="ana", on_error="raise"), host.trim]
    return create_agent(ScriptedModel(replies=[host.reply]), middleware=middleware)


def answer(host):
    return lambda state: {"messages": [host.reply(state["messages"])]}


def compiled_agent(host):
    agent = of_agent(host)
    return type("Builder", (), {"compile": lambda _, checkpointer: agent.copy({"checkpointer": checkpointer})})()


def agent_as_node(host):
    return StateGraph(MessagesState).add_node("agent", of_agent(host)).add_edge(START, "agent")


def own_graph(host):
    def keep(state):
        host.memory.remember(state["messages"], thread=state["messages"], session_id="t", user_id="ana")

    graph = StateGraph(MessagesState).add_node("answer", answer(host)).add_node("keep", keep)
    return graph.add_edge(START, "answer").add_edge("answer", "keep")


def write_graph_as_node(host):
    def keep(state):
        said = [
            {"role": {"human": "user", "ai": "assistant"}[m.type], "text": m.text, "external_id": m.id}
            for m in state["messages"]
        ]
        request = {"user_id": "ana", "session_id": "t", "messages": said, "thread": {"messages": said}}
        host.memory.write_graph.invoke({"request": request})

    graph = StateGraph(MessagesState).add_node("answer", answer(host)).add_node("keep", keep)
    return graph.add_edge(START, "answer").add_edge("answer", "keep")


@pytest.fixture(params=[compiled_agent, agent_as_node, own_graph, write_graph_as_node])
def host(request):
    host = Host(request.param)
    for text in SAID:
        host.say(text)
    yield host
    host.memory.close()


def test_an_edited_message_takes_the_place_of_what_it_said(host):
    """The thread says 7000, so memory does; the old text stays in the store, and in what held at the time."""
    first = host.messages()[0]
    host.app.update_state(host.thread(), {"messages": [HumanMessage("The budget is 7000 dollars.", id=first.id)]})
    host.say("Thanks a lot.")

    assert sorted(host.held()) == sorted([*SAID[1:], "The budget is 7000 dollars.", "Thanks a lot."])
    assert not any("5000" in found.text for found in host.memory.search("budget", user_id="ana", stop=0.0).evidence)
    old = next(turn for turn in host.memory.show("turns", "ana") if "5000" in turn.text)
    before = host.memory.search("budget", user_id="ana", as_of=old.said_at)
    assert old.withdrawn == "edited"
    assert "5000" in before.evidence[0].text


def test_a_fork_leaves_what_was_said_after_it(host):
    """A thread that goes on from an earlier checkpoint abandons the rest; back on the old way, it is alive again."""
    left = host.after(SAID[2])
    host.say("We walk to Oslo.", host.after(SAID[0]))

    assert host.held() == [SAID[0], "We walk to Oslo."]
    assert host.held("all") == [*SAID, "We walk to Oslo."]
    assert not any("Lisbon" in found.text for found in host.memory.search("Lisbon", user_id="ana").evidence)
    assert any("Lisbon" in e.text for e in host.memory.search("Lisbon", user_id="ana", branches="all").evidence)

    host.say("And Tom comes.", left)

    assert host.held() == [*SAID, "And Tom comes."]


def test_a_replayed_run_keeps_its_last_reply_alone(host):
    """A run that is repeated from its checkpoint says the same to memory once; its reply is another one."""
    before = next(
        s.config for s in host.app.get_state_history(host.thread()) if s.next and len(s.values["messages"]) == 5
    )
    host.say(None, before)

    replies = [
        turn.text for turn in host.memory.show("turns", "ana") if turn.role == "assistant" and not turn.withdrawn
    ]
    assert host.held() == list(SAID)
    assert replies == ["Reply 1.", "Reply 2.", "Reply 4."]


def test_what_is_sent_again_is_kept_once(host):
    """The same message under its id adds no turn, edits none and withdraws none."""
    last = host.messages()[-2]
    host.say(last.text, id=last.id)

    assert host.held() == list(SAID)


@pytest.mark.parametrize("host", [compiled_agent, own_graph, write_graph_as_node], indirect=True)
def test_a_removed_message_is_recalled_no_more(host):
    """Whatever takes it out of the thread between two runs, first or last."""
    messages = host.messages()
    gone = [RemoveMessage(messages[2].id), RemoveMessage(messages[4].id), RemoveMessage(messages[5].id)]
    host.app.update_state(host.thread(), {"messages": gone})
    host.say("Go on.")

    assert host.held() == [SAID[0], "Go on."]
    assert {turn.text for turn in host.memory.show("turns", "ana") if turn.withdrawn} >= {*SAID[1:]}


@pytest.mark.parametrize("host", [compiled_agent], indirect=True)
def test_what_a_run_trims_is_remembered_still(host):
    """An agent that makes room in its thread forgets nothing; nor does one that goes on from there."""
    host.trim.active = True
    host.say("Go on.")
    host.trim.active = False
    host.say("And on.")

    assert host.messages()[0].text != SAID[0]
    assert host.held() == [*SAID, "Go on.", "And on."]


@pytest.mark.parametrize("host", [compiled_agent], indirect=True)
def test_a_copied_thread_is_one_past(host):
    """What both hold is kept once, and stays where the first one forks from before it."""
    saved = host.app.get_state(host.thread())
    host.app.update_state(host.thread("copy"), saved.values)
    host.say("Now in the copy.", host.thread("copy"))
    host.say("We walk to Oslo.", host.after(SAID[0]))

    assert sorted(host.held()) == sorted([*SAID, "Now in the copy.", "We walk to Oslo."])


@pytest.mark.parametrize("host", [compiled_agent], indirect=True)
def test_a_thread_whose_checkpoints_are_lost_begins_anew(host):
    """A process that starts with an empty saver and the same thread id has abandoned nothing."""
    agent = of_agent(host).copy({"checkpointer": InMemorySaver()})
    agent.invoke({"messages": [HumanMessage("Back again.")]}, host.thread())

    assert host.held() == [*SAID, "Back again."]


@pytest.mark.parametrize(("option", "left"), [("keep_removed", SAID[0]), ("forget_removed", None)])
def test_what_is_removed_is_kept_or_erased_where_one_asks_for_it(option, left):
    """Kept it is recalled still; forgotten nothing of it is stored."""

    def build(host):
        middleware = EngramMiddleware(host.memory, user_id="ana", on_error="raise", **{option: True})
        agent = create_agent(ScriptedModel(replies=[host.reply]), middleware=[middleware])
        return type("Builder", (), {"compile": lambda _, checkpointer: agent.copy({"checkpointer": checkpointer})})()

    host = Host(build)
    host.say(SAID[0])
    host.app.update_state(host.thread(), {"messages": [RemoveMessage(host.messages()[0].id)]})
    host.say("Go on.")

    assert [text for text in host.held() if text != "Go on."] == ([left] if left else [])
    assert any(turn.text == SAID[0] for turn in host.memory.show("turns", "ana")) is bool(left)


@pytest.mark.parametrize("seed", range(6))
def test_any_history_of_a_thread_is_recalled_as_it_stands(seed):
    """Runs, forks, replays, edits, removals and trims by lot: after each, memory holds what that way of the thread had.

    What is expected is known for each checkpoint: that of the one it goes on from, and what the step itself changed.
    """
    draw, host = random.Random(seed), Host(compiled_agent)
    expected = {}
    for step in range(9):
        start = draw.choice([*expected]) if expected and draw.random() < 0.5 else None
        config = {"configurable": {**host.thread()["configurable"], "checkpoint_ns": "", "checkpoint_id": start}}
        config = config if start else host.thread()
        state = host.app.get_state(config)
        held = dict(expected.get(state.config["configurable"].get("checkpoint_id"), {}))
        people = [message for message in state.values.get("messages", ()) if message.type == "human"]
        deed = draw.choice(["say", "edit", "remove", "trim"] if people else ["say"])
        if deed in ("edit", "remove"):
            message = draw.choice(people)
            edited = HumanMessage(f"Edit {step}.", id=message.id)
            changed = [edited if deed == "edit" else RemoveMessage(message.id)]
            config = host.app.update_state(config, {"messages": changed}, as_node="model")
            held |= {message.id: edited.text}
            if deed == "remove":
                del held[message.id]
        host.trim.active = deed == "trim"
        host.say(f"Said {step}.", config, id=f"said-{step}")
        held |= {f"said-{step}": f"Said {step}."}
        expected[host.app.get_state(host.thread()).config["configurable"]["checkpoint_id"]] = held

        assert sorted(host.held()) == sorted(held.values()), f"step {step}: {deed}"
    host.memory.close()


@pytest.mark.parametrize(
    ("messages", "thread", "words"),
    [
        ([HumanMessage("a", id="1"), HumanMessage("b", id="1")], None, "two messages have the id '1'"),
        ([AIMessage("a", id="0")], None, "said by 'Ana', and is edited by 'assistant'"),
        ([HumanMessage("a", id="0", name="Ben")], None, "said by 'Ana', and is edited by 'Ben'"),
        ([], [HumanMessage("a")], r"thread\[0\] has no id"),
    ],
)
def test_a_thread_that_makes_no_sense_is_one_clear_line(memory, messages, thread, words):
    """Nothing of it is stored."""
    held = [HumanMessage("I row.", id="0", name="Ana")]
    memory.remember(held, thread=held, session_id="t", user_id="ana")

    with pytest.raises(InvalidMessages, match=words):
        memory.remember(messages, thread=thread or held, session_id="t", user_id="ana")

    assert [turn.text for turn in memory.show("turns", "ana")] == ["I row."]


def test_what_no_thread_can_be_is_refused(memory):
    """A thread needs a session, and there are two ways to read branches."""
    with pytest.raises(InvalidInput, match="pass session_id"):
        memory.remember([], thread=[], user_id="ana")
    with pytest.raises(InvalidInput, match="'current' or 'all'"):
        memory.search("x", user_id="ana", branches="main")
    assert RememberRequest(user_id="ana", thread=Thread(messages=[])).thread is not None
