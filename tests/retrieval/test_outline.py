"""A broad query is shown a line of each exchange that bears on it, a narrow one whole passages."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.prompts.rendering import format_evidence
from langgraph_engram.retrieval.fusion import Fusion
from langgraph_engram.retrieval.light import default_parts, format_lines, lines_of
from langgraph_engram.retrieval.pool import light_passages
from langgraph_engram.retrieval.queries import breadth_of
from langgraph_engram.retrieval.scoring import score_routes
from langgraph_engram.schema import Synthesis
from langgraph_engram.settings import DeepSettings, RetrieveSettings, Settings

JUNE = datetime(2024, 6, 4, tzinfo=UTC)
LONG = "I built the boat of oak. " + "Then I varnished the boat again, and I waited for the varnish to dry. " * 12


@pytest.fixture
def outlined(store, scope, intent):
    """Outline a query; gives the passages, best first."""

    def show(query, breadth="summary"):
        asked = intent(query=query, anchor=query)
        scores = score_routes(store.encoder, RetrieveSettings().routes, store.index(scope), asked)
        found = list(lines_of(Fusion(store.index(scope), asked, scores), breadth))
        return format_lines(store.index(scope), found)

    return show


@pytest.fixture
def boat(keep, turn, record):
    """Keep three exchanges about a boat, and one about soup."""
    said = ["I drew the boat.", "I built the boat of oak.", "I sailed the boat.", "I cooked a soup."]
    turns = []
    for number, text in enumerate(said):
        turns += [turn(2 * number, text), turn(2 * number + 1, "Well done.", role="assistant", speaker="assistant")]
    keep(turns=turns, records=[record(2 * number, f"Ana: {text}") for number, text in enumerate(said)])


@pytest.mark.parametrize(
    ("query", "breadth"),
    [
        ("Give me a summary of the renovation of my bathroom.", "summary"),
        ("Can you summarize how my allotment developed over the year?", "summary"),
        ("In what order did I bring up the parts of the election campaign?", "timeline"),
        ("List in chronological order what I told you about the divorce.", "timeline"),
        ("When did I repair the bathroom?", "narrow"),
        ("What is my sister's phone number?", "narrow"),
        ("How do I prune a pear tree?", "narrow"),
        ("How did Ana feel after the match?", "narrow"),
    ],
)
def test_queries_are_told_by_breadth(intent, minilm, query, breadth):
    """A summary and an order in time are broad; a fact, advice and a feeling are not."""
    assert breadth_of(intent(query=query, anchor=query), minilm) == breadth


def test_another_encoder_finds_none(intent, store):
    """The weights mean nothing in another space; what a parser says holds in any."""
    query = "Give me a summary of the renovation of my bathroom."
    assert breadth_of(intent(query=query), store.encoder) == "narrow"
    assert breadth_of(intent(query=query, breadth="timeline"), store.encoder) == "timeline"


def test_each_exchange_has_a_line(boat, outlined):
    """With its day and, in a summary, a line of the reply; both turns are cited."""
    passages = outlined("Summarize the boat.")

    assert {passage.text for passage in passages} >= {"8 May 2023, Ana: I drew the boat.\nassistant: Well done."}
    assert all(len(passage.turns) == 2 and "outline" in passage.routes for passage in passages)
    assert passages[-1].text.startswith("8 May 2023, Ana: I cooked a soup.")


def test_a_structured_reply_is_told_by_its_headings(keep, turn, outlined):
    """They say more of it than how it begins."""
    reply = "Certainly! Here is a plan.\n\n## Hull\n\nUse oak.\n\n## Sail\n\nUse linen."
    keep(turns=[turn(0, "How do I build a boat?"), turn(1, reply, role="assistant", speaker="assistant")])

    (passage,) = outlined("Summarize the boat.")

    assert passage.text.endswith("\nassistant: Hull; Sail")


@pytest.mark.parametrize("breadth", ["summary", "timeline"])
def test_a_summary_and_a_timeline_begin_with_what_a_model_told_of_it(boat, keep, store, scope, outlined, breadth):
    """A narrative with its day, in front; one that only quotes its records says nothing that the lines do not."""
    ids = [record.record_id for record in store.index(scope).records.items]
    told = "Ana built a boat of oak after a drawing of her own, and sailed it."
    keep(
        syntheses=[
            Synthesis(synthesis_id="told", text=told, window_start=JUNE, covered_record_ids=ids[:3]),
            Synthesis(synthesis_id="quoted", text="Ana: I built the boat.", quoted=True, covered_record_ids=ids[3:]),
        ]
    )

    found = outlined("Summarize how the boat came to be.", breadth)

    assert [passage.synthesis_id for passage in found if passage.synthesis_id] == ["told"]
    assert found[0].text == f"4 Jun 2024, {told}"
    assert format_evidence(found).count(told) == 1


def test_a_timeline_leaves_replies_out(boat, outlined):
    """It is of what people said."""
    texts = [passage.text for passage in outlined("In which order did I do things with the boat?", "timeline")]

    assert len(texts) == len(set(texts)) == 4
    assert not any("Well done" in text for text in texts)


def test_an_exchange_is_shown_once(keep, turn, record, outlined):
    """By the sentence of it that bears most on the query, even a question."""
    keep(
        turns=[turn(0, "I cooked. Should I paint the boat blue?")],
        records=[record(0, "Ana: I cooked."), record(1, "Ana: Should I paint the boat blue?", source_turn_ids=["t0"])],
    )

    assert [passage.text for passage in outlined("the boat in blue paint")] == [
        "8 May 2023, Ana: Should I paint the boat blue?"
    ]


def test_a_long_line_is_cut_between_words(keep, turn, record, outlined):
    """At 260 characters."""
    keep(turns=[turn(0, LONG)], records=[record(0, f"Ana: {LONG}")])

    (passage,) = outlined("the boat of oak")

    assert 200 < len(passage.text) <= 260 + len("8 May 2023,  …")
    assert f"8 May 2023, Ana: {LONG}".startswith(passage.text.removesuffix(" …"))


def test_a_record_without_a_turn_has_a_line_too(keep, record, outlined):
    """It cites nothing."""
    keep(records=[record(0, "Ana's boat is of oak.", source_turn_ids=[])])

    (passage,) = outlined("the boat of oak")

    assert (passage.text, passage.turns) == ("8 May 2023, Ana's boat is of oak.", [])


def test_readers_are_shown_all_lines_as_lines(boat, outlined):
    """A light answer rests on all of them, in order of time, and none becomes its whole turns."""
    passages = outlined("Summarize the boat.")

    shown = light_passages(passages, DeepSettings(light_k=1))
    lines = format_evidence(shown).splitlines()

    assert shown == passages
    assert len(lines) == 1 + len(passages)
    assert "I drew the boat" in lines[1]
    assert "I cooked a soup" in lines[-1]


def test_a_change_is_shown_whole(keep, turn, record, outlined):
    """A line of what was said first would pass for what holds now."""
    old = record(0, "Ana: The boat is blue.", status="superseded", superseded_by="r1")
    keep(turns=[turn(0), turn(1)], records=[old, record(1, "Ana: The boat is red now.")])

    passages = outlined("What colour did the boat use to be?", "timeline")

    assert any(passage.text.startswith("8 May 2023, Ana: The boat is blue.\nChanged since: ") for passage in passages)


def test_a_narrow_query_is_shown_lines_after_its_whole_passages(store, to_recall, keep, turn, record, intent):
    """Of turns that none of these is from, and with no mark of an outline."""
    keep(
        turns=[turn(20 * number, f"I took the boat to harbour {number}. {LONG}") for number in range(6)],
        records=[record(20 * number, f"Ana: I took the boat to harbour {number}. {LONG}") for number in range(6)],
    )
    node = LightRetrieve(store, default_parts(store.encoder, Settings()).retriever)

    query = "Which harbour did the boat see?"
    shown = node({"request": to_recall(mode="search", stop=0), "query": query, "intent": intent(query=query)})

    lengths = [len(passage.text) for passage in shown["evidence"]]
    assert len({turn.turn_id for passage in shown["evidence"] for turn in passage.turns}) == 6
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 800
    assert lengths[-1] < 300
    assert not any("outline" in passage.routes for passage in shown["evidence"])
