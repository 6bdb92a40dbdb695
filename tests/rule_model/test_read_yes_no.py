"""Yes and no are told where a sentence says so; a wish, a plan or half of it is told as what it is."""

from datetime import timedelta

import pytest

from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.rules.reading import read
from langgraph_engram.rules.reflect import NOT_DECIDED, reflect
from langgraph_engram.schema import Evidence


@pytest.mark.parametrize(
    ("query", "lines", "told"),
    [
        ("Is Ana allergic to cats?", ["Ana: I'm allergic to cats."], "Yes [1]"),
        ("Did Ana go to Paris?", ["Ana: I never went to Paris."], "No [1]"),
        ("Does Ben like sushi?", ["Ana: Do you like sushi?", "Ben: Yes, a lot!"], "Yes [2]"),
        ("Do Ana and Ben sing?", ["Ana: We sing on Mondays."], "Yes [1]"),
        ("Does Ana have a boat?", ["Ana: If I win the lottery, I'll buy a boat."], None),
        ("Does Ana have a horse?", ["Ana: I wish I had a horse."], None),
        ("Did Ana buy a Tesla?", ["Ana: I almost bought a Tesla."], None),
        ("Did Ana move to Oslo?", ["Ana: I might move to Oslo next year."], None),
        ("Is Ana going to move to Oslo?", ["Ana: I'm going to move to Oslo."], "Yes [1]"),
        ("Did Ana camp in May?", ["Ana: In May I camped."], "Yes [1]"),
        ("Is Biscuit a poodle?", ["Ana: Biscuit is a beagle."], None),
        ("Does Ana have a motorbike?", ["Ana: I sold my motorbike last week."], "No [1]"),
        ("Did Ana sell her motorbike?", ["Ana: I sold my motorbike last week."], "Yes [1]"),
        ("Has Ana been to France or Spain?", ["Ana: I've been to France and to Spain."], "Yes [1]"),
        ("Does Ana prefer dogs or cats?", ["Ana: I'm allergic to cats, so I prefer dogs."], "Dogs [1]"),
        ("Does Ana prefer tea or coffee?", ["Ana: I prefer juice."], None),
    ],
)
def test_yes_and_no_are_said(query, lines, told, heard, intent):
    """What only bears on it is told whole, and is no answer."""
    asked = intent(query, speakers=["Ana"] if "Ana" in query else ["Ben"] if "Ben" in query else [])
    pool = heard(*lines)

    answer = read(query, asked, pool).answer

    if told:
        assert answer == told
    else:
        assert not answer.startswith(("Yes", "No"))
        assert len(answer.split()) > 3
        reflection = reflect(Reflect(query, asked, answer, pool, (query,)))
        assert (reflection.complete, reflection.missing) == (False, NOT_DECIDED)


@pytest.mark.parametrize(
    ("reply", "told"), [("Yes!", "Yes [1]"), ("No way.", "No [1]"), ("Maybe.", None), ("I wish.", None)]
)
def test_a_reply_decides_where_it_says_so(reply, told, turns, intent):
    """The question before it names what is asked, and only the reply says whether it is so."""
    said = turns("Ben: Are you going to Rome?", f"Ana: {reply}")
    piece = Evidence(evidence_id="e", text=f"Ben: {said[0].text} Ana: {reply}", turns=list(said), score=1.0)

    answer = read("Is Ana going to Rome?", intent("Is Ana going to Rome?", speakers=["Ana"]), (piece,)).answer

    assert answer == told or (told is None and not answer.startswith(("Yes", "No")))


@pytest.fixture
def later(turns):
    """Make one piece of each line, each a month after the one before."""

    def make(*lines):
        return tuple(
            Evidence(
                evidence_id=turn.turn_id,
                text=f"{turn.speaker}: {turn.text}",
                turns=[turn.model_copy(update={"said_at": turn.said_at + timedelta(days=30 * month)})],
                score=1 / (month + 1),
            )
            for month, turn in enumerate(turns(*lines))
        )

    return make


@pytest.mark.parametrize(
    ("query", "lines", "told"),
    [
        ("Does Ana work at the bank?", ["Ana: I work at the bank.", "Ana: I quit the bank in June."], "No [2]"),
        ("Does Ana still work at the bank?", ["Ana: I work at the bank.", "Ana: I quit the bank in June."], "No [2]"),
        ("Does Ana work at the bank?", ["Ana: I quit the bank in May.", "Ana: I work at the bank again."], "Yes [2]"),
        ("Does Ana play tennis?", ["Ana: I play tennis.", "Ana: I lost at tennis on Sunday."], "Yes [1]"),
        ("Does Ana play the piano?", ["Ana: I play the piano.", "Ana: I left my piano book at school."], "Yes [1]"),
        ("Does Ana have a car?", ["Ana: I sold my old car and bought a new car."], "Yes [1]"),
        ("Is Ana a teacher?", ["Ana: I'm a teacher. I quit smoking when I became a teacher."], "Yes [1]"),
        ("Where does Ana work?", ["Ana: I work at Siemens.", "Ana: I left Siemens early today."], "Siemens [1]"),
        ("Where does Ana live?", ["Ana: I live left of the church in Delft."], "Delft [1]"),
        ("Where is Ana's key?", ["Ana: I left my key at the office."], "The office [1]"),
        ("Is Ana dating Tom?", ["Ana: I'm dating Tom.", "Ana: Tom and I broke up."], "No [2]"),
        ("Where does Ana work?", ["Ana: I work at the bank.", "Ana: I quit the bank in June."], ""),
        ("Where did Ana work?", ["Ana: I work at the bank.", "Ana: I quit the bank in June."], "The bank [1]"),
        ("Where does Ana work?", ["Ana: I left City Hospital and work at Oak School now."], "Oak School [1]"),
        ("Where does Ana live?", ["Ana: My way is 40 minutes, it was 15 when I lived in Oslo."], ""),
    ],
)
def test_what_is_over_is_not_so(query, lines, told, later, intent):
    """Somebody who asks for what is so now is not told what was."""
    reading = read(query, intent(query, speakers=["Ana"]), later(*lines))

    assert (reading.answer if reading.about else "") == told
