"""Sentences of evidence are gathered once each, with what they answer."""

from langgraph_engram.rules.utterances import gather
from langgraph_engram.schema import Evidence


def test_a_sentence_knows_the_question_it_replies_to(heard):
    """The question may stand in another piece."""
    found = gather(heard("Ana: My sister. She plays well.", "Ben: Hi! Who taught you?", "Ana: Runa did."))

    reply = next(one for one in found if one.text == "Runa did.")
    assert reply.answers == "Who taught you?"
    assert [one.answers for one in found if one.place == 0] == ["", ""]


def test_one_does_not_answer_oneself(heard):
    """A question of the same speaker is no question to them."""
    found = gather(heard("Ana: Who knows?", "Ana: It rained."))

    assert [one.answers for one in found] == ["", ""]


def test_a_sentence_belongs_to_the_piece_that_shows_it(turns, record):
    """A piece that only holds the turn gives way to the one whose record tells the sentence."""
    (turn,) = turns("Ana: I keep bees in the garden. We sold the car in spring.")
    contents = ["Ana: I keep bees in the garden.", "Ana: We sold the car in spring."]
    pieces = [
        Evidence(evidence_id=content, text=content, record=record(content), turns=[turn], score=1.0)
        for content in contents
    ]

    found = gather(pieces)

    assert [(one.place, one.text, one.shown) for one in found] == [
        (0, "I keep bees in the garden.", True),
        (1, "We sold the car in spring.", True),
    ]


def test_what_took_the_place_of_a_record_is_not_superseded(turns, record):
    """A piece shows both; the record is that of its own turn alone."""
    old, new = turns("Ana: I live in Oslo.", "Ana: I live in Kyiv.")
    told = record("Ana: I live in Oslo.").model_copy(
        update={"status": "superseded", "superseded_by": "new", "source_turn_ids": [old.turn_id]}
    )
    text = "Ana: I live in Oslo.\nChanged since: Ana: I live in Kyiv."

    found = gather([Evidence(evidence_id="a", text=text, record=told, turns=[old, new], score=1.0)])

    assert [(one.text, one.is_superseded) for one in found] == [
        ("I live in Oslo.", True),
        ("I live in Kyiv.", False),
    ]


def test_what_a_piece_only_holds_is_gathered_too(turns, record):
    """The rest of a turn is read, and known to be more than was shown."""
    (turn,) = turns("Ana: I keep bees in the garden. We sold the car in spring.")
    content = "Ana: I keep bees in the garden."

    found = gather([Evidence(evidence_id="a", text=content, record=record(content), turns=[turn], score=1.0)])

    assert [(one.text, one.shown) for one in found] == [
        ("I keep bees in the garden.", True),
        ("We sold the car in spring.", False),
    ]


def test_a_record_without_turns_is_read_by_itself(pieces):
    """Its speaker's words, after the question they reply to."""
    (found,) = gather(pieces("Ana: How many hives? Ben: Two, by the shed.")[:0] + pieces("Ben: Two, by the shed."))
    (piece,) = pieces("Ben: Two, by the shed.")
    asked = piece.record.model_copy(update={"content": "Ana: How many hives? Ben: Two, by the shed."})

    (reply,) = gather([piece.model_copy(update={"record": asked, "text": asked.content})])

    assert (found.speaker, found.text, found.answers) == ("Ben", "Two, by the shed.", "")
    assert (reply.text, reply.answers) == ("Two, by the shed.", "Ana: How many hives?")


def test_captions_are_sentences_of_images(turns):
    """What an image shows is told apart from what is said."""
    (turn,) = turns("Ana: Look!")
    shown = turn.model_copy(update={"captions": ["a red tent under pines"]})

    found = gather([Evidence(evidence_id="a", text="Ana: Look! (a red tent under pines)", turns=[shown], score=1.0)])

    assert [(one.text, one.image) for one in found] == [("Look!", False), ("a red tent under pines", True)]


def test_other_text_is_read_as_nobody_s_words():
    """A synthesis has neither record nor turns."""
    found = gather([Evidence(evidence_id="a", text="Ana moved. Ben stayed.", synthesis_id="a", score=1.0)])

    assert [(one.speaker, one.text) for one in found] == [("", "Ana moved."), ("", "Ben stayed.")]
