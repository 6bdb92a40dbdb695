"""What stands in the prompt is evidence: true records pass the gate, falsehoods about the same turns do not."""

import pytest

from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.schema import Record, Turn
from langgraph_engram.temporal.find import parse_time
from tests.conftest import make_record, make_turn

CONVERSATIONS = {
    "games": (
        "2022-04-04 18:30",
        "Dario: Hi Yuki! I finally started The Witcher 3 on Friday, and I can't put it down.",
        "Yuki: Nice! How far are you?",
        "Dario: I'm 40 hours in already. The side quests are the best part.",
        "Yuki: I won the chess tournament yesterday!",
        "Dario: Wow, congratulations! How many people played?",
        "Yuki: We were 64, and I beat Henrik Dahl in the last round.",
        "Dario: That must have felt great.",
        "Yuki: It did, I got a cup and 300 euros. My coach cried, she never does that.",
        "Dario: Are you going to the next one?",
        "Yuki: No, I don't like travelling to Malmö. I'd rather rest.",
    ),
    "move": (
        "2024-09-16 09:10",
        "Priya: We moved to Porto two weeks ago, my sister Anjali helped us.",
        "Tom: How is the flat?",
        "Priya: It has 3 rooms and a tiny balcony over the river. The rent is 950 euros.",
        "Tom: Not bad! I haven't found a place yet, and my lease ends next month.",
        "Priya: Ask Senhor Matos, he owns two buildings near the station.",
        "Tom: Thanks, I will. Did the piano arrive?",
        "Priya: It came on Saturday, but one leg is broken.",
        "Tom: Oh no! Can it be repaired?",
        "Priya: A carpenter will come tomorrow. He asked for 120 euros.",
        "Tom: My dog Biscuit ate my keys last night, I've been at the vet with him for 5 hours.",
    ),
}
"""When each was held, and its turns in order."""

TRUE = (
    ("games", [2], "Dario is 40 hours into The Witcher 3.", ""),
    ("games", [2], "Dario thinks the side quests of The Witcher 3 are the best part.", ""),
    ("games", [5], "64 people played in the chess tournament of 3 April 2022.", "2022-04-03"),
    ("games", [5], "In the chess tournament Yuki beat Henrik Dahl in the last round.", "2022-04-03"),
    ("games", [7], "Yuki got a cup and 300 euros for the chess tournament on 3 April 2022.", "2022-04-03"),
    ("games", [7], "Yuki's coach, who never cries, cried after the tournament that Yuki won.", "2022-04-03"),
    ("games", [9], "Yuki is not going to the next chess tournament, as Yuki dislikes travelling to Malmö.", ""),
    ("move", [2], "The flat in Porto that Priya moved to has 3 rooms and a tiny balcony over the river.", ""),
    ("move", [2], "Priya's rent for the flat in Porto is 950 euros.", ""),
    ("move", [4], "Tom could ask Senhor Matos, who owns two buildings near the station, for a place.", ""),
    ("move", [8], "On 17 September 2024 a carpenter will come for the broken leg of Priya's piano.", "2024-09-17"),
    ("move", [8], "The carpenter asked Priya for 120 euros to repair the piano that came on 14 September 2024.", ""),
    ("move", [3], "Tom has not found a place yet, and his lease ends in October 2024.", "2024-10"),
)
"""Conversation, cited turns, content, and when it happened: true, and told in other words than one sentence has."""

FALSE = {
    "number": (
        ("games", [2], "Dario is 60 hours into The Witcher 3.", ""),
        ("games", [2], "Dario is 40 hours into The Witcher 2.", ""),
        ("games", [5], "128 people played in the chess tournament.", ""),
        ("games", [7], "Yuki got a cup and 500 euros for the tournament.", ""),
        ("games", [7], "Yuki got a cup and 64 euros.", ""),
        ("move", [2], "The flat in Porto has 4 rooms.", ""),
        ("move", [2], "Priya's rent is 120 euros.", ""),
        ("move", [8], "The carpenter asked Priya for 150 euros.", ""),
    ),
    "name": (
        ("games", [5], "Yuki beat Magnus Berg in the last round.", ""),
        ("games", [9], "Yuki does not like travelling to Uppsala.", ""),
        ("games", [0], "Dario started Elden Ring on Friday and can't put it down.", ""),
        ("move", [0], "Priya moved to Lisbon, and her sister Anjali helped.", ""),
        ("move", [0], "Priya's sister Meera helped her move to Porto.", ""),
        ("move", [4], "Senhor Costa owns two buildings near the station.", ""),
        ("move", [9], "Tom was at the vet with his dog Anjali for 5 hours.", ""),
    ),
    "negation": (
        ("games", [9], "Yuki likes travelling to Malmö.", ""),
        ("games", [2], "Dario doesn't think that the side quests are the best part.", ""),
        ("games", [3], "Yuki has not won the chess tournament.", ""),
        ("move", [3], "Tom has found a place.", ""),
        ("move", [6], "Priya's piano did not come on Saturday.", ""),
        ("move", [0], "Priya's sister Anjali never helped them move.", ""),
    ),
    "speaker": (
        ("games", [0], "Yuki started The Witcher 3 on Friday.", ""),
        ("games", [3], "Dario won the chess tournament.", ""),
        ("games", [7], "Dario got a cup and 300 euros.", ""),
        ("move", [3], "Priya's lease ends next month.", ""),
        ("move", [9], "Priya's dog Biscuit ate her keys.", ""),
        ("move", [2], "Tom pays 950 euros of rent.", ""),
    ),
    "date": (
        ("games", [3], "Yuki won the chess tournament on 1 April 2022.", ""),
        ("games", [3], "Yuki won the chess tournament.", "2022-03-27"),
        ("games", [0], "Dario started The Witcher 3 on 8 April 2022.", ""),
        ("move", [0], "Priya moved to Porto in July 2024.", ""),
        ("move", [6], "Priya's piano came on 7 September 2024.", ""),
        ("move", [8], "A carpenter will come to Priya.", "2024-09-19"),
    ),
}
"""The same by what is false in them: nobody said so, somebody said it of another thing, or the contrary was said."""
MOST_FALSE = 2
"""Of 33 planted falsehoods."""


def turns_of(name: str) -> list[Turn]:
    """Return the turns of a conversation."""
    said_at, *lines = CONVERSATIONS[name]
    return [
        make_turn(seq, text, turn_id=f"{name}-{seq}", session_id=name, speaker=speaker, said_at=f"{said_at}:00Z")
        for seq, (speaker, _, text) in enumerate(line.partition(": ") for line in lines)
    ]


def verified(name: str, cited: list[int], content: str, time: str) -> Record:
    """Verify a record as if the whole conversation had been one prompt."""
    turns = turns_of(name)
    sources = [turns[position] for position in cited]
    happened = parse_time(time, None) if time else None
    when = {"event_start": happened.start, "event_end": happened.end} if happened else {}
    ids = [turn.turn_id for turn in sources]
    own = {"session_id": name, "speaker": sources[-1].speaker, "mentioned_at": None, "memory_type": None}
    record = make_record(sources[-1].seq, content, source_turn_ids=ids, **own, **when)
    return verify_record(record, sources, turns, {turn.turn_id for turn in turns})


def passes(name: str, cited: list[int], content: str, time: str) -> bool:
    """Return whether a record stands as it was written, its date included."""
    record = verified(name, cited, content, time)
    return record.status == "active" and (not time or record.event_start is not None)


def test_what_the_prompt_gives_elsewhere_is_evidence():
    """Names, numbers and dates of one sentence stand in a record that another sentence is the source of."""
    assert [claim for claim in TRUE if not passes(*claim)] == []


def test_falsehoods_do_not_pass():
    """Records of each kind that say otherwise than what was shown."""
    passed = [claim for claims in FALSE.values() for claim in claims if passes(*claim)]

    assert len(passed) <= MOST_FALSE, passed


@pytest.mark.parametrize(("content", "sources"), [(TRUE[0][2], ["games-0", "games-2"]), (TRUE[6][2], ["games-9"])])
def test_the_turn_that_gives_it_joins_the_sources(content, sources):
    """A record cites all that it rests on, and no more."""
    (claim,) = (claim for claim in TRUE if claim[2] == content)

    assert verified(*claim).source_turn_ids == sources
