"""Under each preset, what is asked and stored while writing is what its paper says."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.llm.base import Failure, Question
from langgraph_engram.llm.chat import ChatModel, ChatSettings
from langgraph_engram.memory import Memory
from langgraph_engram.presets import changed, preset
from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, LabelGuess
from langgraph_engram.prompts.track_topics import TopicNote
from langgraph_engram.schema import Scope
from langgraph_engram.testing import FakeModel
from tests.conftest import by_rule

Written = tuple[Memory, list[Question[Any]]]


@pytest.fixture
def write() -> Iterator[Callable[..., Written]]:
    """Write messages under settings; return the memory, and the questions to a model that answers as it is told."""
    with ExitStack() as stack:

        def run(settings, messages, answer=by_rule):
            model = FakeModel([answer] * 500)
            memory = stack.enter_context(Memory("memory:", model, encoder="hashing", settings=settings))
            memory.remember(messages, user_id="ana", session_id="s1", close_session=True)
            return memory, model.asked

        yield run


def chat(count: int) -> list[dict[str, str]]:
    """Make a chat of so many messages of a user, each with an assistant's reply."""
    return [
        message
        for number in range(count)
        for message in (
            {"role": "user", "content": f"I planted tree {number} behind our house."},
            {"role": "assistant", "content": f"Tree {number} needs water from the river Asker every week."},
        )
    ]


def asked_about(asked: list[Question[Any]], name: str) -> list[Any]:
    return [question for question in asked if question.name == name]


@pytest.mark.parametrize(("name", "questions"), [("dimmem", ["ExtractRecords"]), ("structmem", ["ExtractFacts"])])
def test_what_is_not_full_is_kept_as_turns_until_it_is_told_that_the_end_is_there(name, questions):
    """Two calls are read in one question (DimMem Eq. 3, StructMem 2.1); `waits` off reads each at once."""
    settings, said = changed(preset(name), "update" if name == "dimmem" else "synthesis", enabled=False), chat(2)
    settings = changed(settings, "paper", relations=False) if name == "structmem" else settings

    def asked(waits):
        model = FakeModel([by_rule] * 20)
        chosen = changed(settings, "paper", waits=waits)
        with Memory("memory:", model, encoder="hashing", settings=chosen) as memory:
            for message in said:
                memory.remember([message], user_id="ana", session_id="s1")
            waiting = len(asked_about(model.asked, questions[0]))
            memory.remember([], user_id="ana", session_id="s1", close_session=True)
            cited = {turn_id for record in memory.show("records", "ana") for turn_id in record.source_turn_ids}
            kept = len(memory.show("turns", "ana"))
        read = [[turn.text for turn in question.turns] for question in asked_about(model.asked, questions[0])]
        return waiting, read, len(cited), kept

    own = [message["content"] for message in said if name == "structmem" or message["role"] == "user"]
    assert asked(waits=True) == (0, [own], len(own), 4)
    assert asked(waits=False) == (len(own), [[text] for text in own], len(own), 4)


def test_a_window_is_read_when_the_next_one_begins():
    """W, O = 2, 1: the third message of the user ends the first window, the reply before it included (Eq. 3)."""
    model = FakeModel([by_rule] * 20)
    settings = changed(preset("dimmem"), "paper", window=2, overlap=1)
    read = []
    with Memory("memory:", model, encoder="hashing", settings=settings) as memory:
        for message in chat(4):
            memory.remember([message], user_id="ana", session_id="s1")
            read.append(sum(len(question.turns) for question in asked_about(model.asked, "ExtractRecords")))

    assert read == [0, 0, 0, 0, 2, 2, 3, 3]


def test_key_sentences_are_drawn_when_their_unit_is_whole():
    """Turns that come one by one are read together once the next unit begins (HyMem 3.1), or their session ends."""
    bees = ["I keep bees in the garden.", "My bees gave honey in June.", "The hive of the bees is full of honey."]
    said = [*bees, "By the way, my sister Runa moved to Oslo."]
    model = FakeModel([by_rule] * 20)
    with Memory("memory:", model, "hymem", encoder="hashing") as memory:
        for text in said:
            memory.remember([{"speaker": "Ana", "text": text}], user_id="ana", session_id="s1")
        units = [[turn.text for turn in question.turns] for question in model.asked]
        memory.remember([], user_id="ana", session_id="s1", close_session=True)

    assert units == [bees]
    assert [[turn.text for turn in question.turns] for question in model.asked[1:]] == [said[1:]]


def test_what_waits_is_read_where_nothing_can_come_any_more():
    """Another session that begins ends those before; a call without a session is one by itself."""
    model = FakeModel([by_rule] * 20)
    days = [{**message, "said_at": f"2023-05-0{day}"} for day, message in enumerate(chat(3)[::2], start=1)]
    with Memory("memory:", model, "dimmem", encoder="hashing") as memory:
        memory.remember([days[0]], user_id="ana", session_id="s1")
        memory.remember([days[1]], user_id="ana", session_id="s2")
        first = [record.session_id for record in memory.show("records", "ana")]
        memory.remember([days[2]], user_id="ana")

        sessions = [record.session_id for record in memory.show("records", "ana")]

    assert (first, len(sessions), "s2" in sessions) == (["s1"], 2, False)


def test_what_was_edited_while_it_waited_is_read_as_it_stands():
    """The model is shown no words that were taken back."""
    model = FakeModel([by_rule] * 5)
    with Memory("memory:", model, "dimmem", encoder="hashing") as memory:
        for text in ("I planted a pear tree.", "I planted an apple tree."):
            said = [{"role": "user", "content": text, "id": "m1"}]
            memory.remember(said, user_id="ana", session_id="s1", thread=said)
        memory.remember([], user_id="ana", session_id="s1", close_session=True)

    read = [[turn.text for turn in question.turns] for question in asked_about(model.asked, "ExtractRecords")]
    assert read == [["I planted an apple tree."]]


def test_what_waited_and_could_not_be_read_is_pending():
    """A model out of reach costs no turn of a window: a retry reads all of it."""
    model = FakeModel([Failure("unreachable", "gone"), *[by_rule] * 5])
    with Memory("memory:", model, "dimmem", encoder="hashing") as memory:
        for message in chat(2):
            memory.remember([message], user_id="ana", session_id="s1")
        memory.remember([], user_id="ana", session_id="s1", close_session=True)
        memory.retry(user_id="ana")

        assert len(memory.show("records", "ana")) == 2
        assert memory.status("ana").pending == []


def test_dimmem_draws_records_from_the_users_side(write):
    """An assistant's turns are stored, and neither read for records nor a source of one (DimMem section 3.2)."""
    memory, asked = write(preset("dimmem"), chat(30))

    turns = {turn.turn_id: turn for turn in memory.show("turns", "ana")}
    sources = [turns[turn_id] for record in memory.show("records", "ana") for turn_id in record.source_turn_ids]
    read = [turn for question in asked_about(asked, "ExtractRecords") for turn in (*question.context, *question.turns)]
    assert len(turns) == 60
    assert {turn.role for turn in sources} == {turn.role for turn in read} == {"user"}
    assert len(sources) == 30


def test_windows_count_messages_of_the_user(write):
    """A reply belongs to what it follows (DimMem Eq. 3): W, O = 25, 5 messages of the user make windows of 25 and 5."""
    memory, asked = write(preset("dimmem"), chat(30))

    sizes = [len(event.turn_ids) for event in memory.show("events", "ana")]
    read = [(len(question.context), len(question.turns)) for question in asked_about(asked, "ExtractRecords")]
    assert sizes == [50, 10]
    assert read == [(0, 25), (5, 5)]


def test_dimmem_reads_longmemeval_in_its_own_way(write):
    """Windows of 15 and 3, what has value in the long run alone, and k = 20 (DimMem Table 11 and Figure 6)."""
    settings = preset("dimmem", "longmemeval")

    _, asked = write(settings, chat(20))

    read = [(len(question.context), len(question.turns)) for question in asked_about(asked, "ExtractLasting")]
    assert (read, settings.paper.top_k) == ([(0, 15), (3, 5)], 20)
    assert "laid out, and what is asked for once" in asked[0].render()[0].text


@pytest.mark.parametrize("name", ["engram", "esmem", "structmem", "hymem"])
def test_no_other_paper_has_numbers_of_its_own_for_longmemeval(name):
    """Their hyperparameters are one set each."""
    assert preset(name, "longmemeval") == preset(name)


def test_a_dialogue_of_two_people_is_read_on_both_sides(write):
    """Nobody in it is an assistant."""
    said = [{"speaker": speaker, "text": f"I planted tree {n}."} for n in range(3) for speaker in ("Ana", "Ben")]

    memory, _ = write(preset("dimmem"), said)

    assert {record.speaker for record in memory.show("records", "ana")} == {"Ana", "Ben"}


NEAR_DUPLICATES = [
    {"speaker": "Ana", "text": f"I train for the Bergen marathon in {place} because I want to be fit.", "said_at": day}
    for place, day in (("Oslo", "2023-05-08"), ("Asker", "2023-06-08"))
]


def test_decisions_see_the_dimensions_of_the_records(write):
    """The decision prompt exposes content and dimensions (DimMem section 3.4)."""
    _, asked = write(preset("dimmem"), NEAR_DUPLICATES)

    text = str(asked_about(asked, "DecideUpdate")[0].render()[-1].text)
    assert "(place: Oslo; reason: I want to be fit; keywords: " in text


def test_content_only_records_have_no_dimension(write):
    """Each record is flat text with the moment of its mention (DimMem section 4.3)."""
    memory, _ = write(changed(preset("dimmem"), "paper", dimensions=False), NEAR_DUPLICATES)

    first, second = memory.show("records", "ana")
    for record in (first, second):
        said = (record.time_text, record.location, record.reason, record.purpose)
        assert (record.memory_type, record.event_start, record.keywords, said) == (None, None, [], ("", "", "", ""))
    assert first.mentioned_at < second.mentioned_at


def talk(subjects, turns):
    """Make a dialogue of two people that goes on about each subject for so many turns."""
    return [
        {"speaker": ("Ana", "Ben")[number % 2], "text": f"About {subject} I note {subject}{number}."}
        for subject in subjects
        for number in range(turns)
    ]


def noted(question):
    """Note of a turn its third word as topic and the last as keyword."""
    words = question.turn.text.strip(".").split()
    return TopicNote(topic=words[1], keywords=[words[1], words[-1]])


def judged(question):
    """Say that a new subject begins where the following turn is about another one."""
    before, after = (turns[0].text.split()[1] for turns in (question.before[-1:], question.after))
    labels = ("topic_shift", "direct_resp") if before != after else ("direct_resp", "topic_shift")
    best, worst = (LabelGuess(label=label, probability=p) for label, p in zip(labels, (0.9, 0.1), strict=True))
    return BoundaryVerdict(likeliest=best, least_likely=worst)


def by_script(question):
    scripted = {"TrackTopics": noted, "JudgeBoundary": judged}
    return scripted.get(question.name, by_rule)(question)


def test_esmem_summaries_hold_all_topics_and_keywords(write):
    """No topic or keyword of an event is left out, and it ends at a boundary alone (ES-Mem sections 3.1 and 3.2)."""
    memory, _ = write(preset("esmem"), talk(("bees", "skis"), 45), answer=by_script)

    bees, skis = memory.show("events", "ana")
    assert (len(bees.turn_ids), len(skis.turn_ids)) == (45, 45)
    assert bees.keywords == ["bees", *(f"bees{number}" for number in range(45))]
    assert all(f"skis{number}" in skis.indexed_text for number in range(45))


def test_esmem_finds_an_open_event_by_its_keywords_too():
    """A summary is of topics and keywords (ES-Mem 3.3), also of an event that goes on."""
    model = FakeModel([by_script] * 20)
    with Memory("memory:", model, "esmem", encoder="hashing") as memory:
        memory.remember(talk(("bees",), 3), user_id="ana", session_id="s1")

        index = memory.store.index(Scope(user_id="ana"))

    (bees,) = index.events.items
    assert (bees.status, bees.indexed_text) == ("open", "bees (bees0, bees1, bees2)")
    assert (index.events.vectors == HashingEncoder().encode([bees.indexed_text])).all()


def test_esmem_describes_a_boundary_from_topics_keywords_and_turns(write):
    """Both events have their topics, their keywords and four turns (ES-Mem Eq. 6 and Figure 8)."""
    _, asked = write(preset("esmem"), talk(("bees", "skis"), 5), answer=by_script)

    text = asked_about(asked, "DescribeBoundary")[-1].render()[-1].text
    assert "bees\nKeywords: bees, bees0, bees1, bees2, bees3, bees4\nBen: About bees I note bees1." in text
    assert "skis\nKeywords: skis, skis0, skis1, skis2, skis3, skis4\nAna: About skis" in text


def test_esmem_asks_for_each_topic_with_what_the_turn_before_was_about(write):
    """The turn before, its topic and keywords, and the turn itself; nothing is asked but these (ES-Mem Figure 6)."""
    _, asked = write(preset("esmem"), talk(("bees",), 3), answer=by_script)

    first, second, third = asked_about(asked, "TrackTopics")
    assert (first.before, first.topic_before, first.keywords_before) == ([], "", ())
    assert [turn.text for turn in third.before] == [second.turn.text]
    assert (third.topic_before, third.keywords_before) == ("bees", ("bees", "bees1"))
    assert "Its keywords: bees, bees1" in third.render()[-1].text
    assert list(TopicNote.model_fields) == ["topic", "keywords"]


def test_esmem_without_segmentation_finds_its_windows(write):
    """Windows have topics, keywords and a boundary before each, by the same questions; none is judged."""
    settings = changed(preset("esmem"), "paper", windows=True)

    memory, asked = write(settings, talk(("bees", "skis"), 25), answer=by_script)

    events = memory.show("events", "ana")
    found = memory.search("Which skis?", user_id="ana")
    assert [len(event.turn_ids) for event in events] == [25, 20, 5]
    assert [event.topics for event in events] == [["bees"], ["skis"], ["skis"]]
    assert len(memory.show("boundaries", "ana")) == 3
    assert asked_about(asked, "JudgeBoundary") == []
    assert "skis" in found.evidence[0].text


HELP = [
    {"speaker": "Ana", "text": "I planted a pear tree. Thank you for your help with it, Ben."},
    {"speaker": "Ben", "text": "I love pears. I help you because we are friends."},
]


@pytest.mark.parametrize(("relations", "kinds"), [(True, {"factual", "relational"}), (False, {"factual"})])
def test_structmem_can_be_flat(write, relations, kinds):
    """Facts and relations, and facts alone (StructMem Table 2)."""
    memory, asked = write(changed(preset("structmem"), "paper", relations=relations), HELP)

    assert {record.kind for record in memory.show("records", "ana")} == kinds
    assert bool(asked_about(asked, "ExtractRelations")) is ("relational" in kinds)


def test_what_two_did_together_is_a_relation_and_in_a_narrative(write):
    """Facts alone cannot say that both were there; "last year", said in 2023, is 2022 (StructMem Table 4)."""
    said = (
        ("Inga", "I'm so proud of you! I loved the lantern festival last year, with the whole gang."),
        ("Mara", "We were there together, I had a blast at the festival last year."),
    )
    clock = {"said_at": "2023-08-17T12:00:00Z"}

    memory, _ = write(preset("structmem"), [{"speaker": name, "text": text, **clock} for name, text in said])

    relations = [record.content for record in memory.show("records", "ana") if record.kind == "relational"]
    (synthesis,) = memory.show("syntheses", "ana")
    told = [text for text in relations if "Mara to Inga" in text]
    assert all(word in text for text in (*told, synthesis.text) for word in ("Inga", "together", "2022"))
    assert told


def test_structmem_keeps_what_is_inferred(write):
    """An entry that says what words do, in words that nobody said, is a record beside the facts (StructMem 2.1)."""
    inferred = "Ana is grateful to Ben and lets him know."

    def answer(question):
        if question.name == "ExtractRelations":
            assert "[2] Thank you for your help with it, Ben." in question.render()[-1].text
            return SourcedSentences(sentences=[SourcedSentence(sources=[2], content=inferred)])
        return by_rule(question)

    memory, _ = write(preset("structmem"), HELP, answer=answer)

    relations = [record for record in memory.show("records", "ana") if record.kind == "relational"]
    assert [(record.content, record.speaker, record.status) for record in relations] == [(inferred, "Ana", "active")]


def test_a_narrative_is_asked_for_with_its_time_and_people(write):
    """The range of time, the participants, and each entry after its speaker (StructMem A.5, Figure 8)."""
    said = [{**HELP[0], "said_at": "2023-05-08T23:50Z"}, {**HELP[1], "said_at": "2023-05-09T00:10Z"}]

    _, asked = write(preset("structmem"), said)

    text = asked_about(asked, "WriteSynthesis")[0].render()[-1].text
    assert text.startswith("Time: Mon 8 May 2023 to Tue 9 May 2023\nPeople: Ana, Ben\n")
    assert "-- Mon 8 May 2023\nAna: I planted a pear tree.\n" in text
    said = "I help you because we are friends.\n"
    later = f"Ben: I love pears.\nBen: {said}Ben to Ana: {said}"
    assert f"-- Tue 9 May 2023\n{later}" in text


def test_a_dimension_that_a_model_leaves_out_stays_empty():
    """Nothing is read off the sentence in its place (DimMem 3.1)."""
    said = {"speaker": "Ana", "text": "I moved to Oslo on 3 May 2023 because rents in Bergen had doubled."}
    records = '{"records": [{"sources": [1], "content": "Ana moved house."}]}'
    chat_model = GenericFakeChatModel(messages=iter([AIMessage(records)]))
    with Memory("memory:", ChatModel(chat_model, "fake", ChatSettings()), "dimmem", encoder="hashing") as memory:
        memory.remember([said], user_id="ana", session_id="s1", close_session=True)

        (record,) = memory.show("records", "ana")

    assert record.content == "Ana moved house."
    named = (record.time_text, record.event_start, record.location, record.reason, record.purpose, record.keywords)
    assert named == ("", None, "", "", "", [])


def test_hymem_units_are_topics_that_overlap(write):
    """Units are about one subject, with the end of the one before, of which both tell (HyMem 3.1)."""
    bees = ["I keep bees in the garden.", "My bees gave honey in June.", "The hive of the bees is full of honey."]
    said = [*bees, "By the way, my sister Runa moved to Oslo.", "Runa found a flat in Oslo near the harbour."]

    memory, asked = write(preset("hymem"), [{"speaker": "Ana", "text": text} for text in said])

    first, second = memory.show("events", "ana")
    units = [[turn.text for turn in question.turns] for question in asked_about(asked, "ExtractKeySentences")]
    shown = [[turn.text for turn in question.context] for question in asked_about(asked, "ExtractKeySentences")]
    assert (units, shown) == ([bees, said[1:]], [[], []])
    assert second.context_turn_ids == first.turn_ids[-2:]
    drawn = [record.event_id for record in memory.show("records", "ana") if "honey in June" in record.content]
    assert sorted(drawn) == sorted([first.event_id, second.event_id])
    assert {question.name for question in asked} == {"ExtractKeySentences"}


def test_small_talk_alone_is_asked_about_too(write):
    """What of it says anything is the model's to judge (HyMem B.1)."""
    _, asked = write(preset("hymem"), [{"speaker": "Ana", "text": "Thank you!"}])

    assert [question.render()[-1].text.splitlines()[-2] for question in asked] == ["Ana: [1] Thank you!"]


def test_a_unit_that_fails_is_pending_with_its_own_turns_alone(write):
    """The unit before, of which its overlap is a part, was read."""
    said = ["I keep bees in the garden.", "My bees gave honey.", "By the way, my sister Runa moved to Oslo."]
    answers = iter([by_rule, lambda _: Failure("timeout", "late"), by_rule])

    memory, asked = write(preset("hymem"), [{"speaker": "Ana", "text": t} for t in said], lambda q: next(answers)(q))
    (pending,) = memory.status("ana").pending
    memory.retry(user_id="ana")

    assert pending.turn_ids == memory.show("events", "ana")[-1].turn_ids
    assert [[turn.text for turn in question.turns] for question in asked] == [said[:2], said, said]


def test_hymem_units_are_shown_with_their_overlap(write):
    """Without Level 1 a unit is found and read with the turns that it shares with the one before (HyMem Table 2)."""
    bees = ["I keep bees in the garden.", "My bees gave honey in June.", "The hive of the bees is full of honey."]
    said = [*bees, "By the way, my sister Runa moved to Oslo.", "Runa found a flat in Oslo near the harbour."]
    settings = changed(preset("hymem"), "paper", level1=False)

    memory, asked = write(settings, [{"speaker": "Ana", "text": text} for text in said])
    found = memory.search("Where in Oslo did Runa find a flat?", user_id="ana").evidence

    assert asked == []
    assert [turn.text for turn in found[0].turns] == said[1:]
