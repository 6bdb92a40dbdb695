"""A model reads less of what was said, and what is kept is what was said."""

import pytest

from langgraph_engram.errors import CompressorUnavailable
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.pending import pending_task
from langgraph_engram.presets import PRESETS, preset
from langgraph_engram.prompts.extract_records import DimMemDraft, Extraction
from langgraph_engram.results import count_tokens
from langgraph_engram.settings import Settings
from langgraph_engram.stores.base import Changes


class EveryOtherWord:
    """Keep every other word, and record the texts; fail while it is out of order."""

    def __init__(self):
        self.received = []
        self.fails = False

    def compress(self, texts):
        if self.fails:
            raise CompressorUnavailable("there are no weights")
        self.received.append(list(texts))
        return [" ".join(text.split()[::2]) for text in texts]


@pytest.fixture
def compressor():
    return EveryOtherWord()


def run(deployment, model, request, thread, compressor=None, settings=None):
    graph = build_write_graph(
        deployment.store, model, settings or preset("engram"), deployment.checkpointer, compressor
    )
    return graph.invoke(request and {"request": request}, thread, durability="sync")


def extractions(model):
    return [question for question in model.asked if hasattr(question, "shown")]


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "esmem"])
def test_only_the_extraction_reads_less(name, empty, copy_of, tmp_path, first, thread, answering, compressor):
    """Each extracting question is shorter, every other question the same, and the store holds the same to a letter."""
    whole, short = answering(), answering()
    plain = type(empty)(tmp_path / "plain")
    run(plain, whole, first, thread, settings=preset(name))

    run(empty, short, first, thread, compressor, preset(name))

    assert empty.contents() == plain.contents()
    plain.close()
    assert [question.name for question in short.asked] == [question.name for question in whole.asked]
    for read, said in zip(short.asked, whole.asked, strict=True):
        tokens, before = (sum(count_tokens(message.text) for message in asked.render()) for asked in (read, said))
        assert tokens < before if hasattr(read, "shown") else read == said
    assert extractions(short)


def test_numbers_point_at_the_same_sentences(empty, first, thread, answering, compressor):
    """A model that cites the third sentence of the shortened text has the third sentence as it was said."""
    model = answering()
    draft = DimMemDraft(sources=[3], content="Ana camped by the lake with Tom.")
    settings = Settings(paper=DimMemSettings())
    model.answers = [
        lambda asked, rest=rest: Extraction(records=[draft]) if asked.name == "ExtractRecords" else rest(asked)
        for rest in model.answers
    ]

    run(empty, model, first, thread, compressor, settings)

    (record,) = empty.contents()["records"]
    (asked,) = extractions(model)
    turns = {turn["turn_id"]: turn["text"] for turn in empty.contents()["turns"]}
    assert [turns[turn_id] for turn_id in record["source_turn_ids"]] == [first.messages[2].text]
    assert f"[3] {asked.shown[-1]}" in asked.render()[-1].text


def test_a_retry_that_extracts_nothing_needs_no_compressor(empty, first, turn, compressor):
    """Where only a later step is pending, the compressor may be out of order."""
    compressor.fails = True
    stored = turn(0)
    task = pending_task("run", [stored], "consolidate", "it took too long")
    empty.store.commit(first.scope, Changes(turns=[stored], pending_tasks=[task]))
    request = first.model_copy(update={"session_id": "s1", "retry_turn_ids": ["t0"]})

    update = Receive(empty.store, compressor=compressor)({"request": request})

    assert (update["turns"], update["tasks"]) == ([], [task])
