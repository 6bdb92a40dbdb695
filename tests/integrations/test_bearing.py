"""The middleware puts before the model what bears on the user's message, selected by a model or searched for."""

import pytest
from langchain.agents import create_agent

from langgraph_engram.errors import InvalidInput
from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.select_lines import LineSelection
from langgraph_engram.testing import FakeModel

SAID = ["I'm allergic to peanuts, it's never easy with us.", "We run Postgres 16.", "Answer me in German from now on."]


@pytest.fixture
def told():
    """Make a memory of what was said, with a selector that answers so; closed at the end."""
    opened = []

    def make(*answers):
        memory = Memory("memory:", "rules", selector=FakeModel(answers) if answers else None)
        opened.append(memory)
        for number, text in enumerate(SAID):
            memory.remember({"role": "user", "content": text}, user_id="ana", session_id=f"s{number}")
        return memory

    yield make
    for memory in opened:
        memory.close()


def ask(scripted, context, memory, *texts, **options):
    """Say texts to an agent with memory; return what its model was shown at the last one."""
    model = scripted("Fine.")
    middleware = [EngramMiddleware(memory, keep="none", **options)]
    agent = create_agent(model, middleware=middleware, context_schema=context)
    messages = []
    for text in texts:
        state = agent.invoke({"messages": [*messages, ("user", text)]}, context=context(user_id="ana"))
        messages = state["messages"]
    return model.shown()


def name_peanuts(question):
    """Name the line of the allergy."""
    line = next(line for line in (*question.fixed, *question.near) if "peanuts" in line)
    return LineSelection(numbers=[int(line.split(":")[0])])


@pytest.mark.parametrize("mode", ["auto", "select", "search"])
def test_a_model_selects_where_there_is_one(told, scripted, context, mode):
    """Only what it names stands before the agent's model, a line each; in the mode "search" it is not asked."""
    memory = told(name_peanuts)

    shown = ask(scripted, context, memory, "Plan the team lunch", mode=mode)

    assert "allergic to peanuts" in shown
    assert len(memory.selector.asked) == (mode != "search")
    if mode != "search":
        assert "Postgres" not in shown
        assert "without listing it" in shown


def test_instructions_stand_first_without_a_model(told, scripted, context):
    """What was asked for once and for all bears on any message."""
    shown = ask(scripted, context, told(), "Plan the team lunch for Friday, please")

    first = shown.partition("<memories>\n")[2].splitlines()[0]
    assert first.endswith("user: Answer me in German from now on.")


@pytest.mark.parametrize("text", ["thanks, that's all!", "regex for ISO dates like 2024-03-17, date only"])
def test_nothing_stands_before_the_model_where_nothing_bears(told, scripted, context, text):
    """Neither a block nor a call."""
    memory = told(lambda _: LineSelection())

    assert ask(scripted, context, memory, text) == ""


def test_a_selection_reads_the_thread(told, scripted, context):
    """What stood before the message goes with it."""
    memory = told(lambda _: LineSelection(), lambda _: LineSelection())

    ask(scripted, context, memory, "Plan the team lunch for Thursday", "and for Friday?")

    assert memory.selector.asked[-1].thread == ("Plan the team lunch for Thursday", "Fine.")


def test_a_tool_selects_where_it_is_told_to(told):
    """Without a language model it is refused as the tools are made, or the middleware."""
    memory = told(name_peanuts)
    [search] = create_memory_tools(memory, tools=["search_memory"], select=True, user_id="ana")

    assert "peanuts" in search.invoke({"query": "Plan the team lunch"})
    with pytest.raises(InvalidInput, match="selector="):
        create_memory_tools(told(), select=True)
    with pytest.raises(InvalidInput, match="open the memory with model= or selector="):
        EngramMiddleware(told(), mode="select")
