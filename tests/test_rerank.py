"""A cross-encoder reads query and text together, orders what the routes found, and says what is missing."""

import pytest

from langgraph_engram.errors import RerankerUnavailable
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.rerank import CrossEncoderReranker, rerank
from langgraph_engram.schema import Evidence
from tests.tiny_networks import save_network

MESSAGES = [
    {"speaker": "Ana", "text": text}
    for text in ("I sold my red canoe.", "My canoe was red and old.", "I bought a canoe in May.", "Canoes are fun.")
]


def save_ranker(folder, labels=1):
    return str(save_network(folder, "BertForSequenceClassification", labels))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_ranker(tmp_path_factory.mktemp("tiny"))


def test_each_text_is_scored_with_the_query(tiny):
    """Scores follow the texts, whatever stands beside them, and another query scores otherwise."""
    reranker = CrossEncoderReranker(tiny)

    both = reranker.score("red canoe", ["I sold my red canoe.", "We ate soup."])
    alone = reranker.score("red canoe", ["We ate soup."])

    assert len(set(both)) == 2
    assert alone[0] == pytest.approx(both[1], abs=1e-5)
    assert reranker.score("soup", ["We ate soup."])[0] != pytest.approx(alone[0], abs=1e-5)


def test_a_memory_shows_evidence_in_the_new_order(tmp_path, tiny):
    """Only the first results are scored, and each carries its score."""
    retrieve = preset("engram").retrieve.model_copy(update={"rerank_model": tiny, "rerank_n": 2})
    settings = preset("engram").model_copy(update={"retrieve": retrieve})
    with Memory(tmp_path / "store", "rules", encoder="hashing", settings=settings) as memory:
        memory.remember(MESSAGES, user_id="ana", session_id="s1")

        found = memory.search("What of the red canoe?", user_id="ana", stop=0).evidence

    scores = [item.routes["rerank"] for item in found if "rerank" in item.routes]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)
    assert "rerank" not in found[2].routes


def test_the_rest_follows_as_it_was():
    """Nothing is lost, and evidence of equal scores keeps its order."""

    class Counting:
        def score(self, query, texts):
            return [float(text == "c") for text in texts]

    evidence = [Evidence(evidence_id=name, text=name) for name in "abcde"]

    assert [item.evidence_id for item in rerank(Counting(), "?", evidence, 3)] == ["c", "a", "b", "d", "e"]
    assert list(rerank(Counting(), "?", [], 3)) == []


@pytest.mark.parametrize(
    ("labels", "reason"), [(None, "cannot be loaded"), (3, "gives 3 scores a text, not one")], ids=["missing", "other"]
)
def test_what_cannot_rank_is_named(tmp_path, labels, reason):
    """A folder without weights and a classifier of three classes both give an error that says what to do."""
    folder = save_ranker(tmp_path / "other", labels) if labels else str(tmp_path / "nothing")

    with pytest.raises(RerankerUnavailable, match=reason):
        CrossEncoderReranker(folder).score("canoe", ["red"])
