"""What is written with metadata is found by it, and filters choose by the fields of what is stored."""

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.cli.main import run
from langgraph_engram.errors import InvalidInput
from langgraph_engram.filters import FIELDS, OPERATORS, both, conditions_of
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS
from langgraph_engram.schema import Scope, Synthesis
from langgraph_engram.state import RecallRequest, RememberRequest
from langgraph_engram.stores.base import Changes

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

HIKES = [
    ("alps", "2024-05-01", "Ana", "I hiked to the Krn hut with Tom.", {"project": "atlas", "rank": 1, "done": True}),
    ("alps", "2024-05-02", "Ben", "I hiked around Lake Bohinj.", {"project": "atlas", "rank": 2}),
    ("coast", "2024-06-03", "Ana", "I hiked along the coast of Istria.", {"project": "boreal", "rank": 2.5}),
    ("city", "2024-07-04", "Ana", "I hiked up to the castle of Ljubljana.", {}),
]
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from(["a", "b", ""])


def remember(memory: Memory) -> Memory:
    for session, day, speaker, text, metadata in HIKES:
        said = {"speaker": speaker, "text": text, "said_at": f"{day}T10:00:00Z"}
        memory.remember([said], user_id="ana", session_id=session, metadata=metadata)
    covered = [record.record_id for record in memory.show("records", "ana") if record.session_id != "city"]
    narrative = Synthesis(synthesis_id="both", text="They hiked.", covered_record_ids=covered)
    memory.store.commit(Scope(user_id="ana"), Changes(syntheses=[narrative]))
    return memory


@pytest.fixture(scope="module")
def memory():
    with Memory("memory:", "rules", encoder="hashing") as opened:
        yield remember(opened)


def found(memory, filters, **options):
    """Return the numbers of the hikes that a search finds."""
    evidence = memory.search("Where did they hike?", user_id="ana", stop=0, filters=filters, **options).evidence
    texts = "\n".join(passage.text for passage in evidence)
    return [number for number, hike in enumerate(HIKES, start=1) if hike[3] in texts]


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (None, [1, 2, 3, 4]),
        ({}, [1, 2, 3, 4]),
        ({"session": "alps"}, [1, 2]),
        ({"session": {"$in": ["coast", "city"]}}, [3, 4]),
        ({"session": {"$nin": ["coast", "city"]}, "speaker": "Ana"}, [1]),
        ({"speaker": {"$ne": "Ana"}}, [2]),
        ({"day": "2024-05-02"}, [2]),
        ({"day": date(2024, 5, 2)}, [2]),
        ({"day": {"$gt": "2024-05-01", "$lte": "2024-06-03"}}, [2, 3]),
        ({"day": {"$lt": "2024-05-01"}}, []),
        ({"kind": "dimensional"}, [1, 2, 3, 4]),
        ({"kind": {"$ne": "dimensional"}}, []),
        ({"type": {"$in": ["episodic", "fact", "profile"]}}, [1, 2, 3, 4]),
        ({"status": "quarantined"}, []),
        ({"metadata.project": "atlas"}, [1, 2]),
        ({"metadata.project": {"$ne": "atlas"}}, [3, 4]),
        ({"metadata.project": {"$nin": ["boreal"]}}, [1, 2, 4]),
        ({"metadata.rank": {"$gte": 2}}, [2, 3]),
        ({"metadata.rank": {"$lt": 2}}, [1]),
        ({"metadata.rank": 2.0}, [2]),
        ({"metadata.rank": "2"}, []),
        ({"metadata.rank": {"$gt": "1"}}, []),
        ({"metadata.done": True}, [1]),
        ({"metadata.done": 1}, []),
        ({"metadata.other": "x"}, []),
        ({"metadata.project": "atlas", "metadata.rank": {"$gte": 2}, "session": "alps"}, [2]),
    ],
)
def test_a_search_finds_what_fulfils_all_conditions(memory, filters, numbers):
    """Equality, membership, order and their opposites, over fields and metadata; values of two kinds never compare."""
    assert found(memory, filters) == numbers


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_each_preset_filters(preset):
    """Whatever is found, records, turns, events or syntheses, fulfils the conditions."""
    with Memory("memory:", "rules", preset, encoder="hashing") as memory:
        remember(memory)

        assert set(found(memory, {"metadata.project": "atlas"})) <= {1, 2}
        assert found(memory, {"session": "coast"}) in ([3], [])
        assert set(found(memory, None)) > {3}


def test_a_summary_is_of_what_fulfils_the_conditions(tmp_path):
    """A narrative is found where all of its records fulfil them; a recall and its stream take filters too."""
    with Memory("memory:", "rules") as memory:
        remember(memory)
        summary = memory.search("Summarize all the hikes.", user_id="ana", filters={"session": "coast"})
        answer = memory.recall("Where did Ana hike?", user_id="ana", filters={"day": "2024-06-03"})
        *_, last = memory.stream("Where did Ana hike?", user_id="ana", filters={"day": "2024-07-04"})

    assert {turn.session_id for passage in summary.evidence for turn in passage.turns} == {"coast"}
    assert "Istria" in answer.answer
    assert "Ljubljana" in last.recollection.answer


def test_nothing_that_fulfils_is_told(memory):
    """An empty result says that it was the filters."""
    result = memory.search("Where did they hike?", user_id="ana", filters={"session": "none"})

    assert (result.evidence, result.verdict) == ([], "absent")
    assert result.notes == ["nothing that was found fulfils the filters"]


def test_a_search_returns_as_many_as_asked(memory):
    """The best ones; and the newest of what is shown."""
    everything = memory.search("Where did they hike?", user_id="ana", stop=0)
    best = memory.search("Where did they hike?", user_id="ana", stop=0, limit=2)

    assert [passage.evidence_id for passage in best.evidence] == [
        passage.evidence_id for passage in everything.evidence[:2]
    ]
    assert [turn.text for turn in memory.show("turns", "ana", limit=1)] == [HIKES[-1][3]]


@pytest.mark.parametrize("kind", ["turns", "records", "events", "boundaries", "syntheses"])
def test_what_is_shown_fulfils_the_conditions(memory, kind):
    """What is of either session is shown of both together; a synthesis that tells of both, only then."""
    both_sessions = memory.show(kind, "ana", filters={"session": {"$in": ["alps", "coast"]}})
    alps, coast = (memory.show(kind, "ana", filters={"session": name}) for name in ("alps", "coast"))

    spanning = [item for item in both_sessions if item not in (*alps, *coast)]
    assert [*alps, *coast] == [item for item in both_sessions if item not in spanning]
    assert bool(spanning) is (kind == "syntheses")
    assert len(alps) < len(memory.show(kind, "ana"))
    assert {getattr(item, "session_id", "") for item in alps} <= {"", "alps"}


def test_metadata_stands_with_turns_and_the_records_made_of_them(memory):
    """As it was given: no number became a text, and no boolean a number."""
    (turn,) = memory.show("turns", "ana", filters={"metadata.rank": 1})
    records = memory.show("records", "ana", filters={"metadata.rank": 1})

    assert turn.metadata == {"project": "atlas", "rank": 1, "done": True}
    assert [type(value) for value in turn.metadata.values()] == [str, int, bool]
    assert records
    assert all(record.metadata == turn.metadata for record in records)


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ("session=s1", "filters is"),
        (["session"], "filters is"),
        ({"sesion": "s1"}, "unknown filter key 'sesion'"),
        ({1: "s1"}, "unknown filter key 1"),
        ({"metadata.": "x"}, "unknown filter key 'metadata.'"),
        ({"$or": [{"session": "a"}]}, "unknown filter key '$or'"),
        ({"session": {"$regex": "a"}}, "unknown operator '$regex'"),
        ({"session": {}}, "names no operator"),
        ({"session": 3}, "give a string"),
        ({"session": None}, "give a string"),
        ({"session": {"$in": "s1"}}, "give a list"),
        ({"type": "facts"}, "choose among fact, episodic, profile"),
        ({"kind": {"$in": ["records"]}}, "choose among dimensional"),
        ({"day": "yesterday"}, "give a day as ISO 8601"),
        ({"day": {"$gte": 20240501.0}}, "give a day as ISO 8601"),
        ({"metadata.rank": [1]}, "a number or a boolean"),
        ({"metadata.rank": None}, "a number or a boolean"),
        ({"metadata.rank": float("nan")}, "a number or a boolean"),
        ({"metadata.rank": {"$gte": "\ud800"}}, "a number or a boolean"),
    ],
)
def test_a_filter_that_is_none_is_told_in_one_line(memory, filters, problem):
    """What is wrong, and what is right, whatever it is asked of."""
    for ask in (
        lambda: memory.search("hikes", user_id="ana", filters=filters),
        lambda: memory.recall("hikes", user_id="ana", filters=filters),
        lambda: memory.show("records", "ana", filters=filters),
    ):
        with pytest.raises(InvalidInput, match="filter") as error:
            ask()
        assert problem in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "metadata",
    [
        "project=atlas", ["a"], {1: "a"}, {"": "a"}, {"k" * 65: "a"}, {"a": None}, {"a": [1]}, {"a": {"b": 1}},
        {"a": float("inf")}, {"a": 2**63}, {"a": "x" * 1001}, {"a": "\x00"}, {"\ud800": "a"},
        {f"k{number}": number for number in range(33)},
    ],
)  # fmt: skip
def test_metadata_that_is_not_small_and_flat_is_refused_whole(memory, metadata):
    """Nothing is stored then."""
    before = len(memory.show("turns", "ana"))

    with pytest.raises(InvalidInput, match="metadata"):
        memory.remember([{"role": "user", "content": "I ski."}], user_id="ana", metadata=metadata)

    assert len(memory.show("turns", "ana")) == before


def test_requests_take_them_as_json():
    """A graph that is served is called with plain JSON, which is checked like a call."""
    asked = RecallRequest.model_validate({"user_id": "ana", "query": "hikes", "filters": {"session": "s1"}, "limit": 2})
    said = RememberRequest.model_validate({"user_id": "ana", "metadata": {"rank": 1, "done": True}})

    assert asked.filters == {"session": {"$eq": "s1"}}
    assert RecallRequest.model_validate_json(asked.model_dump_json()) == asked
    assert RememberRequest.model_validate_json(said.model_dump_json()).metadata == {"rank": 1, "done": True}
    with pytest.raises(ValueError, match="unknown filter key"):
        RecallRequest.model_validate({"user_id": "ana", "query": "hikes", "filters": {"sesion": "s1"}})
    with pytest.raises(ValueError, match="metadata"):
        RememberRequest.model_validate({"user_id": "ana", "metadata": {"a": []}})


@given(SCALARS, SCALARS)
def test_the_operators_are_each_others_opposites(known, value):
    """$ne is not $eq, $nin is not $in, and of two values of one kind exactly one of <, = and > holds."""
    text = json.dumps({"k": known}) if known is not None else ""
    if value is None:
        return

    def holds(operator, wanted):
        (condition,) = conditions_of({"metadata.k": {operator: wanted}})
        return condition.accepts(text)

    assert holds("$eq", value) is not holds("$ne", value)
    assert holds("$in", [value]) is holds("$eq", value)
    assert holds("$nin", [value]) is not holds("$in", [value])
    assert holds("$in", []) is False
    assert holds("$gt", value) + holds("$lt", value) + holds("$eq", value) <= 1
    assert holds("$gte", value) == (holds("$gt", value) or holds("$eq", value))
    assert holds("$lte", value) == (holds("$lt", value) or holds("$eq", value))


def test_what_is_fixed_stays():
    """A caller's filters add to those of a developer, and cannot change them."""
    fixed = {"session": "s1"}

    assert both(fixed, {"day": "2024-05-01"}) == {"session": {"$eq": "s1"}, "day": {"$eq": "2024-05-01"}}
    assert both(fixed, None) == both(None, fixed) == both(fixed, fixed) == {"session": {"$eq": "s1"}}
    assert both(None, None) is None
    with pytest.raises(InvalidInput, match="fixed"):
        both(fixed, {"session": "s2"})


def test_the_documentation_names_every_key_and_operator():
    """docs/guides/filters.md has a row for each."""
    text = (Path(__file__).parents[1] / "docs" / "guides" / "filters.md").read_text(encoding="utf-8")

    assert [name for name in (*FIELDS, *OPERATORS) if f"`{name}`" not in text] == []


def test_the_command_line_filters(tmp_path, capsys, monkeypatch):
    """--metadata is kept, --filter chooses, --limit ends; what is no condition is told, with exit code 2."""
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    for number, (session, day, speaker, text, metadata) in enumerate(HIKES):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps([{"speaker": speaker, "text": text, "said_at": f"{day}T10:00:00Z"}]))
        options = [part for key, value in metadata.items() for part in ("--metadata", f"{key}={json.dumps(value)}")]
        assert run(["remember", str(path), "--user", "ana", "--session", session, *options]) == 0

    def engram(*arguments):
        capsys.readouterr()
        code = run([*arguments, "--user", "ana"])
        return code, *capsys.readouterr()

    def shown(*filters, kind="turns"):
        _, out, _ = engram("show", "--kind", kind, "--json", *(part for each in filters for part in ("--filter", each)))
        return [item["text"] for item in json.loads(out)]

    texts = [hike[3] for hike in HIKES]
    assert shown("session=alps") == texts[:2]
    assert shown("day>=2024-05-02", "day<2024-07-04") == texts[1:3]
    assert shown("metadata.rank>1", "metadata.project!=boreal") == texts[1:2]
    assert shown("metadata.done=true") == texts[:1]
    _, out, _ = engram("recall", "Where?", "--search", "--json", "--filter", "session=coast", "--limit", "1")
    assert [passage["turns"][0]["text"] for passage in json.loads(out)["evidence"]] == [texts[2]]
    for wrong in ("session", "=s1", "sesion=s1", "type=facts", "day>=never", "day>2024-01-01 --"):
        code, out, err = engram("show", "--filter", wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert engram("recall", "Where?", "--filter", "day>2024-01-01", "--filter", "day>2024-01-02")[0] == 2
