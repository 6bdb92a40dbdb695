"""Each part that a paper takes out can be taken out, and what is left still remembers and answers."""

import pytest

from engram_lab.ablations import ABLATIONS, without
from langgraph_engram.errors import InvalidInput
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS, preset

TURNS = [
    {"speaker": "Ana", "text": "My sister Runa moved to Oslo because she got a job.", "said_at": "2023-05-08"},
    {"speaker": "Ben", "text": "How nice! I keep bees in the garden.", "said_at": "2023-05-08"},
    {"speaker": "Ana", "text": "I went camping by the lake yesterday.", "said_at": "2023-05-08"},
]


PARTS = {
    "dimmem": ("dimension", "content-only", "causal", "assistant", "filter"),
    "esmem": ("segmentation", "boundary", "summary", "raw"),
    "structmem": ("synthesis", "relations", "seeds"),
    "hymem": ("level1", "raw", "light", "deep", "reflect"),
}
"""What the tables of the papers take out, by their preset."""


@pytest.mark.parametrize(("name", "part"), [(name, part) for name, parts in PARTS.items() for part in parts])
def test_a_memory_without_a_part_still_answers(name, part):
    """What is taken out is missed in quality, never in function."""
    with Memory("memory:", "rules", encoder="hashing", settings=without(preset(name), [part])) as memory:
        memory.remember(TURNS, user_id="ana", session_id="s1", close_session=True)

        recollection = memory.recall("Where did Runa move?", user_id="ana")

    assert "Oslo" in recollection.answer


@pytest.mark.parametrize("part", list(ABLATIONS))
@pytest.mark.parametrize("name", list(PRESETS))
def test_a_part_can_be_taken_out_once(name, part):
    """A preset without the part says so."""
    settings = preset(name)
    if ABLATIONS[part](settings) != settings:
        settings = without(settings, [part])

    with pytest.raises(InvalidInput, match=f"'{part}' cannot be taken out of '{name}': it has no such part"):
        without(settings, [part])


@pytest.mark.parametrize(
    ("name", "part", "other"),
    [
        ("hymem", "deep", "light"),
        ("hymem", "level1", "light"),
        ("hymem", "level1", "deep"),
        ("hymem", "deep", "raw"),
        ("structmem", "synthesis", "seeds"),
        ("esmem", "boundary", "summary"),
        ("dimmem", "content-only", "causal"),
    ],
)
def test_what_another_part_takes_along_is_no_row_of_its_own(name, part, other):
    """Whichever is named first, the part that changes nothing beside the other is refused."""
    for parts in ([part, other], [other, part]):
        with pytest.raises(InvalidInput, match=f"'{other}' is taken out with the other parts already"):
            without(preset(name), parts)


@pytest.mark.parametrize(("name", "parts"), [("structmem", ["relations", "synthesis"]), ("engram", ["raw", "deep"])])
def test_the_order_of_parts_does_not_matter(name, parts):
    """Rows that combine parts are the same settings however they are typed."""
    assert without(preset(name), parts) == without(preset(name), parts[::-1])


def shown(name, part):
    """Remember weekly sessions under a preset without a part, and return what an answer was written from."""
    with Memory("memory:", "rules", encoder="hashing", settings=without(preset(name), [part])) as memory:
        for week, thing in enumerate(("kayak", "violin", "orchard", "telescope", "lighthouse", "bakery")):
            said = [
                f"I bought a {thing} last week because my brother sold his.",
                f"The {thing} cost {week + 100} euros.",
            ]
            said = [{"speaker": "Ana", "text": text, "said_at": f"2023-03-0{week + 1}"} for text in said]
            memory.remember(said, user_id="ana", session_id=f"s{week}", close_session=True)
        return memory.recall("What did Ana pay for the lighthouse?", user_id="ana").evidence


@pytest.mark.parametrize(
    ("name", "part", "is_as_in_the_paper"),
    [
        ("esmem", "raw", lambda evidence: [passage.turns for passage in evidence] == [[]] * 6),
        ("esmem", "boundary", lambda evidence: any("lighthouse" in turn.text for turn in evidence[0].turns)),
        ("structmem", "synthesis", lambda evidence: evidence and all(passage.record for passage in evidence)),
    ],
)
def test_what_is_left_is_what_the_reader_is_shown(name, part, is_as_in_the_paper):
    """ES-Mem Figure 3: no turn without raw text, events by their summaries; StructMem Table 2: entries alone."""
    assert is_as_in_the_paper(shown(name, part))


def test_content_alone_has_no_replies_and_compares_by_meaning():
    """DimMem Table 3: no query asks for replies; no dimension filters, and pairs are found by meaning from .85."""
    settings = without(preset("dimmem"), ["content-only"])

    assert settings.retrieve.routes == ["lexical", "dense"]
    assert (settings.paper.dimensions, settings.paper.assistant_replies) == (False, "never")
    assert (settings.paper.all_pairs, settings.update.cosine) == (True, 0.85)


def test_an_unknown_part_is_named_with_those_there_are():
    """A mistyped name takes nothing out silently."""
    with pytest.raises(InvalidInput, match=r"'deeep': choose among dimension"):
        without(preset("engram"), ["deeep"])
