"""Each part can be taken out of every preset, alone, and what is left still remembers and answers."""

import pytest

from langgraph_engram.ablations import ABLATIONS, without
from langgraph_engram.errors import InvalidInput
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS, preset

TURNS = [
    {
        "speaker": "Ana",
        "text": "My sister Runa moved to Oslo because she got a job.",
        "said_at": "2023-05-08",
    },
    {"speaker": "Ben", "text": "How nice! I keep bees in the garden.", "said_at": "2023-05-08"},
    {"speaker": "Ana", "text": "I went camping by the lake yesterday.", "said_at": "2023-05-08"},
]


@pytest.mark.parametrize("part", list(ABLATIONS))
def test_a_memory_without_a_part_still_answers(part):
    """What is taken out is missed in quality, never in function."""
    with Memory("memory:", "rules", encoder="hashing", settings=without(preset("engram"), [part])) as memory:
        memory.remember(TURNS, user_id="ana", session_id="s1", close_session=True)

        recollection = memory.recall("Where did Runa move?", user_id="ana")

    assert "Oslo" in recollection.answer


@pytest.mark.parametrize("part", list(ABLATIONS))
@pytest.mark.parametrize("name", list(PRESETS))
def test_each_part_is_taken_out_of_every_preset_that_has_it(name, part):
    """Something changes and the settings stay valid; a preset without the part says so."""
    settings = preset(name)
    if not ABLATIONS[part].present(settings):
        with pytest.raises(InvalidInput, match=f"'{part}' cannot be taken out of '{name}': it has no "):
            without(settings, [part])
        return

    changed = without(settings, [part])

    assert changed.preset == name
    assert changed.retrieve.routes
    assert changed != settings
    assert not ABLATIONS[part].present(changed)


def test_the_parts_of_each_preset():
    """What the tables of the papers take out can be taken out of their preset."""
    parts = {name: {part for part in ABLATIONS if ABLATIONS[part].present(preset(name))} for name in PRESETS}

    assert {"dimension", "content-only", "causal", "assistant"} <= parts["dimmem"]
    assert {"segmentation", "boundary", "summary", "raw"} <= parts["esmem"]
    assert "synthesis" in parts["structmem"]
    assert {"level1", "raw", "light", "deep", "reflect"} <= parts["hymem"]
    assert parts["engram"] == set(ABLATIONS)


def test_without_causes_no_record_has_one(tmp_path):
    """Neither reason nor purpose is stored; the other dimensions are."""
    with Memory("memory:", "rules", encoder="hashing", settings=without(preset("engram"), ["causal"])) as memory:
        memory.remember(TURNS, user_id="ana", session_id="s1")

        records = memory.show("records", "ana")

    assert {record.reason + record.purpose for record in records} == {""}
    assert any(record.event_start for record in records)


def test_without_the_light_answer_each_question_goes_deep():
    """The deep way is taken at once, and its answer has its evidence."""
    with Memory("memory:", "rules", encoder="hashing", settings=without(preset("engram"), ["light"])) as memory:
        memory.remember(TURNS, user_id="ana", session_id="s1")

        recollection, absent = (memory.recall("Where did Runa move?", user_id=user) for user in ("ana", "nobody"))

    assert recollection.went_deep
    assert recollection.evidence
    assert (absent.verdict, absent.went_deep) == ("absent", False)


def test_an_unknown_part_is_named_with_those_there_are():
    """A mistyped name takes nothing out silently."""
    with pytest.raises(InvalidInput, match=r"'deeep': choose among dimension"):
        without(preset("engram"), ["deeep"])
