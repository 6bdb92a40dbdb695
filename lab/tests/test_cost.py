"""The cost of writing is counted as a chat model's would be, with answers that are always the same."""

from functools import partial

import numpy as np
import pytest

from engram_lab.ablations import without
from engram_lab.cost import (
    CountingModel,
    coherences,
    overlap_figures,
    run_cost,
    update_counts,
    update_figures,
    window_figures,
)
from engram_lab.datasets import read_longmemeval
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS, changed, preset
from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentences
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Turn
from langgraph_engram.testing import FakeModel
from tests.conftest import by_rule


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

    said = {"sources": [1], "content": "Ana: I sold the orchard."}
    assert result.answer == SourcedSentences.model_validate({"sentences": [said]})
    assert result.usage.calls == 1
    assert result.usage.prompt_tokens == sum(count_tokens(message.text) for message in question.render())
    assert result.usage.completion_tokens == count_tokens(result.answer.model_dump_json())


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


def test_a_model_may_answer_and_haystacks_be_written(haystacks_file, open_memory):
    """What is counted is what the model was asked; of LongMemEval each haystack is a user's."""
    model = FakeModel([by_rule] * 100)

    report = run_cost(haystacks_file, open_memory("dimmem"), data="longmemeval", model=model, limit=1)

    assert (report["model"], report["usage"]["write"]["calls"]) == (model.name, len(model.asked))


def test_the_first_conversation_has_a_curve(locomo_file, open_memory):
    """Turns, calls and tokens after each of its sessions (StructMem Figure 3a)."""
    curve = run_cost(locomo_file, open_memory("structmem"))["curve"]

    assert [point["turns"] for point in curve] == [2, 4]
    assert 0 < curve[0]["calls"] < curve[1]["calls"]
    assert curve[0]["prompt_tokens"] < curve[1]["prompt_tokens"]


def test_an_update_is_told_by_what_it_embeds_decides_and_leaves():
    """DimMem Table 5: two of three records share type and keywords, and one takes the place of the other."""
    said = ["I sold the red canoe in Oslo.", "I no longer sell the red canoe in Oslo.", "Bees sleep at night."]
    settings = changed(preset("dimmem"), "update", cosine=0.2)
    with Memory("memory:", CountingModel(), encoder=HashingEncoder(), settings=settings) as memory:
        for day, text in enumerate(said, start=1):
            message = {"speaker": "Ana", "text": text, "said_at": f"2023-05-0{day}"}
            memory.remember([message], user_id="ana", session_id=f"s{day}", close_session=True)
        figures = update_figures(update_counts(memory, "ana"))

    assert (figures["records"], figures["embedded"], figures["left"]) == (3, 2, 2)
    assert (figures["MERGE"], figures["SUPERSEDE"], figures["KEEP_BOTH"]) == (0, 1, 0)
    assert (figures["embedding_saved"], figures["compression"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_windows_are_told_by_their_coherence_and_their_overlap(haystacks_file):
    """DimMem Figures 4 and 5: cosines of turns read together, turns read for each, whether the nearest is shared."""
    east, north = np.eye(2, dtype=np.float32)
    said = np.stack([east, east, north, north])

    assert coherences(said, 2) == [1.0, 1.0]
    assert coherences(said, 4) == [pytest.approx(1 / 3)]
    assert overlap_figures([said], 3, 1) == {"read": 5 / 4, "kept": 1.0}
    assert overlap_figures([said], 3, 0) == {"read": 1.0, "kept": 0.0}
    assert set(window_figures(read_longmemeval(haystacks_file), HashingEncoder(), 15)) == {"coherence", "overlap"}
