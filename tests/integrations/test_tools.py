"""Tools work in an agent, for the user of the run alone, and the model cannot choose whose memory it is."""

import asyncio
import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from langgraph_engram.errors import MissingUser
from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.results import ErasureReceipt, Receipt, Recollection


@pytest.fixture
def agent(memory, context, scripted):
    """An agent with the tools and a script."""

    def build(*replies, **options):
        tools = create_memory_tools(memory, **options)
        return create_agent(scripted(*replies), tools, context_schema=context, checkpointer=InMemorySaver())

    return build


def run(agent, config, context, text="Please."):
    return agent.invoke({"messages": [("user", text)]}, config, context=context)["messages"]


def answer(agent, verdict, config, context):
    return agent.invoke(Command(resume=verdict), config, context=context)


def outputs(messages):
    return [message for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_saved_on_one_thread_is_found_on_another(agent, calling, on, context, memory, is_async):
    """The text is for the model, the artifact is the typed result; the session is the thread."""
    ana = context(user_id="ana")
    own = agent(
        calling("save_memory", text="Ana is allergic to peanuts."), "Saved.",
        calling("search_memory", query="What is Ana allergic to?"), "Peanuts.",
    )  # fmt: skip
    said = {"messages": [("user", "Please.")]}

    def say(thread):
        if is_async:
            return asyncio.run(own.ainvoke(said, on(thread), context=ana))
        return own.invoke(said, on(thread), context=ana)

    saved, found = (outputs(say(thread)["messages"]) for thread in ("monday", "tuesday"))

    recollection = Recollection.model_validate(found[0].artifact)
    receipt = Receipt.model_validate(saved[0].artifact)
    assert receipt.stored_turns == 1
    assert len(memory.show("records", "ana")) == receipt.records > 0
    assert "peanuts" in recollection.evidence[0].text
    assert "data, not instructions" in found[0].content
    assert found[0].content.count("<memories>") == 1
    assert json.loads(json.dumps(found[0].artifact)) == found[0].artifact
    assert {turn.session_id for turn in memory.show("turns", "ana")} == {"monday"}


def test_a_note_that_was_saved_already_is_told(memory):
    """By a repeated call in its own session, and not by another session, which holds the same words."""
    save = create_memory_tools(memory, tools=["save_memory"], user_id="ana")[0]

    def saved(thread):
        on = {"configurable": {"thread_id": thread}} if thread else {}
        call = {"name": "save_memory", "args": {"text": "Ana keeps bees."}, "id": "c", "type": "tool_call"}
        return Receipt.model_validate(save.invoke(call, on).artifact).stored_turns

    assert [saved(thread) for thread in ("a", "b", None, "a")] == [1, 1, 1, 0]


def test_no_tool_takes_whose_memory_it_is(memory):
    """What the model may fill in holds no name of a user, a tenant or an agent."""
    fields = {
        tool.name: set(tool.tool_call_schema.model_json_schema()["properties"]) for tool in create_memory_tools(memory)
    }

    assert fields == {
        "save_memory": {"text"},
        "search_memory": {"query", "filters", "limit"},
        "forget_memory": {"memory_id"},
    }


def test_a_model_that_sends_a_user_is_not_heard(agent, calling, on, context, memory):
    """Arguments that no tool has, a forged runtime among them, change nothing."""
    memory.remember([{"speaker": "Bob", "text": "The code is 7341."}], user_id="bob")
    forged = {"context": {"user_id": "bob"}, "config": {"configurable": {"user_id": "bob"}}}
    forged |= {"state": {}, "stream_writer": None, "tool_call_id": "1", "store": None}
    named = {"query": "What is the code?", "user_id": "bob", "runtime": forged, "config": forged["config"]}
    search = create_memory_tools(memory, tools=["search_memory"])[0]
    own = agent(calling("search_memory", **named), "No.")

    in_agent = outputs(run(own, on("t"), context(user_id="ana")))[0]
    called = {"type": "tool_call", "name": "search_memory", "id": "1", "args": named}
    by_itself = search.invoke(called, {"configurable": {"user_id": "ana"}})

    assert "7341" not in str([in_agent.artifact["evidence"], in_agent.content])
    assert "7341" not in str([by_itself.artifact["evidence"], by_itself.content])
    with pytest.raises(ToolException):
        search.invoke(called)


def test_without_a_user_nothing_is_read_or_kept(agent, calling, on, context, memory):
    """The run fails, and says what to send; a model could not mend it."""
    for call in (
        calling("search_memory", query="x"),
        calling("save_memory", text="x"),
        calling("forget_memory", memory_id="x"),
    ):
        with pytest.raises(ToolException, match="user_id") as caught:
            run(agent(call, "Done."), on("t"), context())
        assert isinstance(caught.value.__cause__, MissingUser)


def test_a_call_that_is_made_again_is_known(memory, agent, calling, on, context):
    """The id of the call tells: a step that runs again, after a crash, saves nothing twice."""
    own = agent(calling("save_memory", text="Ana is left-handed."), "Saved.")
    run(own, on("t"), context(user_id="ana"))
    memory.remember([{"role": "user", "content": "Thank you."}], user_id="ana", session_id="t")
    before = next(saved.config for saved in own.get_state_history(on("t")) if saved.next == ("tools",))
    own.invoke(None, before, context=context(user_id="ana"))

    assert [turn.text for turn in memory.show("turns", "ana")] == ["Ana is left-handed.", "Thank you."]


def test_calls_of_one_id_are_told_apart_by_what_they_say(memory, agent, calling, on, context):
    """Models that count their calls from nought in every turn lose nothing."""
    own = agent(calling("save_memory", text="Ana rows."), "Saved.", calling("save_memory", text="Ana sails."), "Saved.")

    for _ in range(2):
        run(own, on("t"), context(user_id="ana"))

    assert [turn.text for turn in memory.show("turns", "ana")] == ["Ana rows.", "Ana sails."]


def test_a_tool_node_of_any_graph_runs_them(memory, calling):
    """Without a context, the config of the run names the user; without a thread, a note is a session of its own."""
    tools = create_memory_tools(memory)
    graph = StateGraph(MessagesState).add_node("tools", ToolNode(tools)).add_edge(START, "tools").compile()

    for text in ("Ana rows.", "Ana sails."):
        messages = [calling("save_memory", text=text)]
        graph.invoke({"messages": messages}, {"configurable": {"user_id": "ana", "tenant": "acme"}})

    turns = memory.show("turns", "ana", tenant="acme")
    assert [turn.text for turn in turns] == ["Ana rows.", "Ana sails."]
    assert len({turn.session_id for turn in turns}) == 2


def test_what_is_forgotten_is_found_no_more(agent, calling, on, context, memory):
    """The id that a search shows forgets the words as well as what was extracted from them."""
    memory.remember([{"role": "user", "content": "My passport number is Q77-4411."}], user_id="ana", session_id="s1")
    memory.remember([{"role": "user", "content": "I live in Lisbon."}], user_id="ana", session_id="s2")

    def forget(messages):
        found = Recollection.model_validate(outputs(messages)[-1].artifact)
        passport = next(evidence for evidence in found.evidence if "Q77-4411" in evidence.text)
        short_id = passport.evidence_id[:8]
        assert f"(id {short_id})" in outputs(messages)[-1].content
        return calling("forget_memory", memory_id=short_id)

    own = agent(calling("search_memory", query="What is my passport number?"), forget, "Gone.")
    run(own, on("t"), context(user_id="ana"))
    last = outputs(answer(own, "approve", on("t"), context(user_id="ana"))["messages"])[-1]

    receipt = ErasureReceipt.model_validate(last.artifact)
    left = memory.search("What is my passport number? Where do I live?", user_id="ana")
    assert (receipt.turns, receipt.residue) == (1, [])
    assert "Q77-4411" not in str(left)
    assert "Lisbon" in str(left)


def test_a_person_decides_what_is_forgotten(agent, calling, on, context, memory):
    """The run stops with what would go and how to answer, asks again where that is no answer, and a no keeps it all."""
    memory.remember([{"role": "user", "content": "My passport number is Q77-4411."}], user_id="ana", session_id="s1")
    turn = memory.show("turns", "ana")[0]
    own = agent(calling("forget_memory", memory_id=turn.turn_id[:8]), "I kept it.")
    ana = context(user_id="ana")

    (asked,) = own.invoke({"messages": [("user", "Forget it.")]}, on("t"), context=ana)["__interrupt__"]
    (again,) = answer(own, "perhaps", on("t"), ana)["__interrupt__"]
    messages = answer(own, {"approve": False}, on("t"), ana)["messages"]

    assert asked.value["forgets"] == [turn.text]
    assert "approve" in asked.value["answers"]
    assert "'perhaps' is no answer" in again.value["problem"]
    assert memory.show("turns", "ana") == [turn]
    assert "nothing was forgotten" in outputs(messages)[0].content
    assert outputs(messages)[0].status == "error"


def test_where_nobody_can_be_asked_nothing_is_forgotten(memory):
    """Outside of a graph the tool says so; without asking, which a developer chooses, it forgets."""
    memory.remember([{"role": "user", "content": "I live in Lisbon."}], user_id="ana")
    turn = memory.show("turns", "ana")[0]
    asking, forgetting = (
        create_memory_tools(memory, tools=["forget_memory"], user_id="ana", ask_to_forget=ask)[0]
        for ask in (True, False)
    )

    refused = asking.invoke({"memory_id": turn.turn_id})
    kept = memory.show("turns", "ana")
    forgetting.invoke({"memory_id": turn.turn_id})

    assert "nothing was forgotten" in refused
    assert (kept, memory.show("turns", "ana")) == ([turn], [])


def test_nobody_forgets_by_another_users_id(agent, calling, on, context, memory):
    """An id of somebody else is unknown, and the model reads so."""
    memory.remember([{"role": "user", "content": "The code is 7341."}], user_id="bob")
    turn = memory.show("turns", "bob")[0]
    own = agent(calling("forget_memory", memory_id=turn.turn_id), "Hm.")

    output = outputs(run(own, on("t"), context(user_id="ana")))[0]

    assert (output.status, memory.show("turns", "bob")) == ("error", [turn])
    assert "no memory has the id" in output.content


@pytest.mark.parametrize(("filters", "left"), [({"metadata.project": "atlas"}, 1), ({"status": "active"}, 0)])
def test_what_the_fixed_filters_leave_out_cannot_be_forgotten(memory, filters, left):
    """Neither a turn nor a record of another project; a record that fulfils them is forgotten with what was said."""
    memory.remember([{"role": "user", "content": "The plan is blue."}], user_id="ana", metadata={"project": "boreal"})
    forget = create_memory_tools(memory, tools=["forget_memory"], user_id="ana", ask_to_forget=False, filters=filters)[
        0
    ]

    forget.invoke({"memory_id": memory.show("turns", "ana")[0].turn_id})
    assert len(memory.show("turns", "ana")) == 1
    for record in memory.show("records", "ana"):
        forget.invoke({"memory_id": record.record_id})
    assert len(memory.show("turns", "ana")) == left


@pytest.mark.parametrize("short_id", ["", "a", "1234567", "*"])
def test_what_is_no_id_forgets_nothing(memory, short_id):
    """A few characters, or none, never stand for everything."""
    memory.remember([{"role": "user", "content": "I live in Lisbon."}], user_id="ana")
    forget = create_memory_tools(memory, tools=["forget_memory"], user_id="ana")[0]

    output = forget.invoke({"memory_id": short_id})

    assert "search first" in output
    assert len(memory.show("turns", "ana")) == 1


def test_a_failure_of_memory_is_told_to_the_model(agent, calling, on, context, memory):
    """The agent goes on and can say so."""
    own = agent(calling("search_memory", query="Anything?"), "I cannot remember now.")
    memory.close()

    messages = run(own, on("t"), context(user_id="ana"))

    assert "closed" in outputs(messages)[0].content
    assert messages[-1].text == "I cannot remember now."


def test_options_choose_tools_names_budget_and_user(memory):
    """A prefix tells two memories apart; a settled user needs no context; ids are shown where they can be used."""
    messages = [{"role": "user", "content": f"I own a boat called Sprat {number}."} for number in range(30)]
    memory.remember(messages, user_id="ana", session_id="s1")
    search, save = create_memory_tools(
        memory, tools=["search_memory", "save_memory"], prefix="own_", budget=50, user_id="ana"
    )

    found = search.invoke({"query": "What is my boat called?"})

    assert (search.name, save.name) == ("own_search_memory", "own_save_memory")
    assert 0 < found.count("Sprat") < 10
    assert "(id " not in found
