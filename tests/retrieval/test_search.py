"""What lasts comes with a search, within its share; lacking routes are noted."""

import pytest

from langgraph_engram.memory import Memory
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.search import distinct_statements, with_lasting
from langgraph_engram.stores.index import Matches


@pytest.fixture
def shown(store, scope):
    """Add what lasts to passages for a query; gives them."""

    def add(query, *found, budget=400, share=0.1):
        vector = store.encoder.encode([query])[0]
        return with_lasting(Matches(store.index(scope), ()), vector, found, budget, share)

    return add


@pytest.fixture
def sources(keep, turn, record):
    """Keep an instruction, and one that it took the place of."""
    old = record(1, "Ana: Never give sources.", lasting="instruction", status="superseded", superseded_by="r0")
    keep(turns=[turn(0)], records=[record(0, "Ana: Always give sources.", lasting="instruction"), old])


def test_an_instruction_bears_on_any_query(shown, sources, passage):
    """It follows what was found, and names its route; what was superseded, and a share of nothing, show none."""
    found, statement = shown("Where is the lake?", passage("p"))

    assert (statement.evidence_id, list(statement.routes)) == ("r0", ["lasting"])
    assert shown("sources", passage("p"), share=0) == [found] == [passage("p")]


def test_only_near_preferences_are_shown(shown, keep, turn, record):
    """At most three, and none that is about something else."""
    wines = [f"Ana: I prefer {kind} wine." for kind in ("dry", "red", "old", "cold")]
    said = [*wines, "Ana: I love old ships."]
    keep(turns=[turn(0)], records=[record(n, text, lasting="preference") for n, text in enumerate(said)])

    found = {passage.evidence_id for passage in shown("Which wine is good?")}

    assert len(found) == 3
    assert "r4" not in found


def test_what_lasts_is_shown_once(passage, record):
    """In the same words, on whatever day; what happened again is another thing."""
    said = ["8 May 2023, Ana: Give sources.", "8 May 2023, Ana: Give sources!", "8 May 2023, Ana: I swam."]
    wishes = [record(seq, "Ana: Give sources.", lasting="instruction") for seq in range(2)]
    swims = [record(seq, "Ana: I swam.") for seq in (2, 3)]
    shown = zip("abcd", [*said, said[2]], [*wishes, *swims], strict=True)
    found = [passage(name, text, record=about) for name, text, about in shown]

    assert [kept.evidence_id for kept in distinct_statements(found)] == ["a", "c", "d"]


@pytest.mark.parametrize(("name", "text"), [("other", "Ana: Hello! Always give sources."), ("r0", "Ana: Always …")])
def test_what_was_found_stays_in_its_place(shown, sources, passage, name, text):
    """It is marked with the route, and not shown again; what was cut to a line is whole."""
    found = passage(name, f"8 May 2023, {text}", routes={"lexical": 0.5})

    (marked,) = shown("sources", found)

    assert set(marked.routes) == {"lexical", "lasting"}
    assert "lways give sources." in marked.text


def test_the_last_passages_give_way(shown, keep, turn, record, passage):
    """The budget holds, and statements take no more than their share of it."""
    keep(turns=[turn(0)], records=[record(n, f"Ana: Always {'x' * 60} {n}.", lasting="instruction") for n in range(9)])
    found = [passage(f"p{number}", "y" * 160) for number in range(10)]

    evidence = shown("anything", *found, budget=400)
    tokens = sum(count_tokens(statement.text) for statement in evidence if "lasting" in statement.routes)

    assert sum(count_tokens(one_of.text) for one_of in evidence) <= 400
    assert 0 < tokens <= 40
    assert evidence[0] == found[0]


BOUNDARY, SYNTHESIS = (f"the route {name!r} has no data here" for name in ("boundary", "synthesis"))
RECORDS = [f"the route {name!r} has no data here" for name in ("lexical", "dense", "dimension")]


def notes_of(folder, written, *, close_session=False, sessions=("s1",), read="engram"):
    """Return what a search under a preset notes of a memory that was written under another."""
    with Memory(folder, "rules", written, encoder="hashing") as memory:
        for day, session in enumerate(sessions, start=10):
            turn = {"speaker": "Ana", "text": "I keep bees in the garden.", "said_at": f"2024-06-{day}T08:00:00Z"}
            memory.remember([turn], user_id="ana", session_id=session, close_session=close_session)
    with Memory(folder, "rules", read, encoder="hashing") as memory:
        return memory.search("Who keeps bees?", user_id="ana").notes


@pytest.mark.parametrize("sessions", [("s1",), ("s1", "s2"), (None,)])
@pytest.mark.parametrize("close_session", [False, True])
def test_a_memory_without_narratives_lacks_nothing(tmp_path, sessions, close_session):
    """They come with time, and with a language model."""
    assert notes_of(tmp_path / "store", "engram", sessions=sessions, close_session=close_session) == []


@pytest.mark.parametrize(
    ("written", "read", "missing"),
    [
        ("dimmem", "engram", [BOUNDARY]),
        ("esmem", "engram", RECORDS),
        ("hymem", "engram", [BOUNDARY]),
        ("dimmem", "structmem", [SYNTHESIS]),
        ("dimmem", "dimmem", []),
    ],
)
def test_what_another_preset_never_writes_is_noted(tmp_path, written, read, missing):
    """Presets without records, boundaries or narratives leave routes empty, and only those that are read are noted."""
    assert notes_of(tmp_path / "store", written, close_session=True, read=read) == missing
