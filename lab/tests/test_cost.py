"""The cost of writing is counted as a chat model's would be, with answers that are always the same."""

from functools import partial

import pytest

from engram_lab.ablations import without
from engram_lab.cost import CountingModel, run_cost
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS, preset
from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentences
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Turn


@pytest.fixture
def open_memory():
    def opened(preset, folder, model):
        return Memory(folder, model, preset, encoder=HashingEncoder())

    return lambda preset: partial(opened, preset)


def test_a_question_costs_what_is_rendered_and_an_answer_what_is_written():
    """One call; four characters a token; the answer comes back through its schema."""
    turn = Turn(turn_id="t", session_id="s", seq=0, role="user", speaker="Ana", text="I sold the orchard.")
    question = ExtractFacts((turn,))
    model = CountingModel()

    result = model.ask(question)

    assert result.answer == SourcedSentences.model_validate({"sentences": [{"sources": [1]}]})
    assert result.usage.calls == 1
    assert result.usage.prompt_tokens == sum(count_tokens(message.text) for message in question.render())
    assert result.usage.completion_tokens == count_tokens('{"sentences":[{"sources":[1]}]}')
    assert model.schema_tokens > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_the_costs_of_nodes_add_up_to_the_whole(locomo_file, open_memory, preset):
    """Calls and tokens by node are all there is, turns and sessions those of the file; `engram` reads more at once."""
    report = run_cost(locomo_file, open_memory(preset))

    written = report["usage"]["write"]
    for name in ("calls", "prompt_tokens", "completion_tokens"):
        assert written[name] == sum(node[name] for node in written["by_node"].values())
    assert (report["preset"], report["pending"]) == (preset, 0)
    assert (written["calls"] > 0) is (preset != "engram")
    assert (report["turns"], report["sessions"]) == (8, 4)


def test_the_filter_by_meaning_compares_more(locomo_file):
    """The baseline of DimMem Table 5 compares every earlier record."""

    def report(settings):
        return run_cost(
            locomo_file, lambda folder, model: Memory(folder, model, encoder=HashingEncoder(), settings=settings)
        )

    by_dimension, by_meaning = report(preset("dimmem")), report(without(preset("dimmem"), ["filter"]))

    assert by_meaning["comparisons"]["made"] > by_dimension["comparisons"]["made"]
