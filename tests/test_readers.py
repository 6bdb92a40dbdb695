"""What the reader of each preset is shown of one memory: the passages of its paper, as many and in their order."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from langgraph_engram.graphs.read import build_read_graph
from langgraph_engram.llm.base import Question
from langgraph_engram.memory import Memory
from langgraph_engram.presets import changed, preset
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.reflect import Reflect, Reflection
from langgraph_engram.prompts.write_answer import MORE, UNKNOWN, WriteAnswer
from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Evidence
from langgraph_engram.settings import Settings
from langgraph_engram.state import RecallRequest
from langgraph_engram.testing import FakeModel
from tests.conftest import by_rule

THINGS = (
    *("kayak", "violin", "orchard", "telescope", "bakery", "sailboat", "pottery", "marathon"),
    *("aquarium", "greenhouse", "motorbike", "chessboard", "lighthouse", "tapestry", "observatory", "vineyard"),
)
"""What each session is about."""
FIRST_DAY = datetime(2023, 3, 1, 10)


def session(number: int) -> list[dict[str, object]]:
    """Return a session of six turns about one thing, from its own day on."""
    thing, day = THINGS[number], FIRST_DAY + timedelta(days=7 * number)
    said = (
        ("Ana", f"I bought a {thing} last week because my brother sold his."),
        ("Ben", f"My neighbour in Porto restored an old {thing} with her daughter."),
        ("Ana", f"The {thing} cost {100 + number} euros, and I painted it green."),
        ("Ben", f"I read a long book about the first {thing} in Portugal."),
        ("Ana", f"We will show the {thing} to my aunt Greta in Faro."),
        ("Ben", f"My cousin Ivo wants a {thing} for his birthday in June."),
    )
    return [
        {"speaker": speaker, "text": text, "said_at": (day + timedelta(minutes=minute)).isoformat()}
        for minute, (speaker, text) in enumerate(said)
    ]


class WatchedModel(RuleModel):
    """Answer by rules, and keep every question."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Question] = []

    def ask(self, question):
        self.asked.append(question)
        return super().ask(question)


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Settings], Path]:
    """Return the folder of a memory that was told all sessions under the preset of some settings and its paper's."""

    folders: dict[str, Path] = {}

    def written(settings: Settings) -> Path:
        key = f"{settings.preset} {settings.paper}"
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("written")
            plain = preset(settings.preset).model_copy(update={"paper": settings.paper})
            with Memory(folders[key], "rules", encoder="hashing", settings=plain) as memory:
                for number in range(len(THINGS)):
                    memory.remember(session(number), user_id="ana", session_id=f"s{number}", close_session=True)
        return folders[key]

    return written


@pytest.fixture
def told(folder_of: Callable[[Settings], Path]) -> Callable[..., Question]:
    """Return a function that asks a memory of all sessions, and gives the last question put to the reader."""

    def ask(name, query="What did Ana pay for the lighthouse?", reader=WriteAnswer | AnswerLight, **changes):
        model, settings = WatchedModel(), preset(name)
        for group, values in changes.items():
            settings = settings.model_copy(update={group: getattr(settings, group).model_copy(update=values)})
        with Memory(folder_of(settings), model, encoder="hashing", settings=settings) as memory:
            memory.recall(query, user_id="ana")
        return [question for question in model.asked if isinstance(question, reader)][-1]

    return ask


def text_of(question: WriteAnswer) -> str:
    messages: list[BaseMessage] = question.render()
    return str(messages[-1].content)


def raw_turns(evidence: tuple[Evidence, ...]) -> int:
    return sum(len(passage.turns) for passage in evidence if passage.record is None)


def test_esmem_reads_the_raw_turns_of_ten_events(told):
    """ES-Mem section 3.3: the K = 10 best events, best first, each with all its turns and no other memory.

    K is what the sweep of appendix C changes.
    """
    question = told("esmem")
    shown = text_of(question)

    assert len(question.evidence) == 10
    assert len(told("esmem", paper={"top_k": 5}).evidence) == 5
    assert all(passage.record is None and passage.synthesis_id is None for passage in question.evidence)
    assert [passage.score for passage in question.evidence] == sorted(
        (passage.score for passage in question.evidence), reverse=True
    )
    assert shown.count("My cousin Ivo wants a") == len({turn.session_id for p in question.evidence for turn in p.turns})
    assert raw_turns(question.evidence) >= 40
    assert count_tokens(shown) > 700


def test_structmem_reads_sixty_entries_by_speaker_and_five_syntheses(told):
    """StructMem appendix A.4 and A.5: 60 entries under their speakers, then 5 syntheses, and no turn."""
    question = told("structmem")
    shown = text_of(question)
    entries = [passage for passage in question.evidence if passage.record]
    syntheses = [passage for passage in question.evidence if passage.synthesis_id]

    assert (len(entries), len(syntheses), len(question.evidence)) == (60, 5, 65)
    assert all(passage.text.split()[0] in shown for passage in syntheses)
    headings = [line for line in shown.splitlines() if line.endswith(":") and "[" not in line]
    assert sorted(headings[:2]) == ["Memories of Ana:", "Memories of Ben:"]
    assert headings[2:] == ["Summaries:"]


def test_a_paper_reads_what_lasts_as_often_as_it_was_said():
    """Entries have timestamps (StructMem Eq. 2): the same words on another day are another entry."""
    with Memory("memory:", "rules", "structmem", encoder="minilm") as memory:
        for day in (1, 2):
            said = [{"role": "user", "content": "I am allergic to peanuts.", "said_at": f"2023-05-0{day}"}]
            memory.remember(said, user_id="ana", session_id=f"s{day}", close_session=True)
        found = memory.search("What is the user allergic to?", user_id="ana").evidence

    entries = [passage.record for passage in found if passage.record]
    assert [entry.lasting is not None for entry in entries] == [True, True]


def test_dimmem_reads_the_union_of_its_routes_with_their_dimensions(told):
    """DimMem Eq. 6 and appendix A.1: what any route found, none cut off, each with its dimensions, then reasoning."""
    question = told("dimmem", "Why did Ana buy the lighthouse?")
    shown = text_of(question)

    assert 15 < len(question.evidence) <= 45
    assert all(passage.record for passage in question.evidence)
    assert all(f"[{number}]" in shown for number in range(1, len(question.evidence) + 1))
    assert "type: " in shown
    assert "reason: my brother sold his" in shown
    assert 'Answer: ..."' in shown


def test_hymem_reads_ten_key_sentences(told):
    """HyMem section 3.2: k = 10 summaries for the light answer."""
    light = told("hymem", reader=AnswerLight)

    assert len(light.evidence) == 10
    assert all(passage.record for passage in light.evidence)


def by_rounds(question: Question):
    """Answer nothing from key sentences, a date in each deep round, and find the first of these incomplete."""
    if isinstance(question, AnswerLight):
        return UNKNOWN
    if isinstance(question, WriteAnswer):
        return "On 5 March [1]." if not question.earlier else "On 5 March, from her brother [1]."
    if isinstance(question, Reflect):
        complete = "brother" in question.answer
        return Reflection(complete=complete, missing="from whom", next_query="Who sold the violin?")
    return by_rule(question)


@pytest.fixture
def hymem_questions(folder_of: Callable[[Settings], Path]) -> Callable[..., list[Question]]:
    """Return a function that gives what is asked when a question is put to all sessions under HyMem's preset."""

    def ask(answer=by_rounds, **changes):
        settings = preset("hymem")
        for group, values in changes.items():
            settings = changed(settings, group, **values)
        model = FakeModel([answer] * 100)
        with Memory(folder_of(settings), model, encoder="hashing", settings=settings) as memory:
            memory.recall("When did Ana buy the kayak?", user_id="ana")
        return model.asked

    return ask


def test_hymem_answers_from_its_units_and_the_answers_before(hymem_questions):
    """HyMem Algorithm 1: the generators see q0, the passages of their round and the pool, which is earlier answers."""
    asked = hymem_questions()
    first, second = (question for question in asked if isinstance(question, WriteAnswer))

    assert (first.earlier, second.earlier) == ((), ("On 5 March [1].",))
    assert "<answers>\nOn 5 March.\n</answers>" in text_of(second)
    assert first.query == second.query == "When did Ana buy the kayak?"
    assert all(passage.record is None and passage.turns for passage in (*first.evidence, *second.evidence))
    assert first.evidence != second.evidence
    assert [len(question.evidence) for question in asked if isinstance(question, AnswerLight)] == [10, 10]


def test_hymem_takes_a_light_answer_that_rests_on_earlier_ones(hymem_questions):
    """HyMem Algorithm 1: what the light generator answers from the pool suffices, though it has no piece to cite."""
    asked = hymem_questions(lambda asked: "Zzz." if getattr(asked, "earlier", ()) else by_rounds(asked))
    asked = [question.name for question in asked]

    assert asked == ["AnswerLight", "SelectRecords", "WriteAnswer", *["Reflect", "AnswerLight"] * 2, "Reflect"]


def test_hymem_names_all_answers_and_never_refuses_once_deep(hymem_questions):
    """HyMem appendix B.3 and B.5: the light generator is strict; the deep one lists all that is possible."""
    light, deep = (
        next(question.render()[0].text for question in hymem_questions() if isinstance(question, kind))
        for kind in (AnswerLight, WriteAnswer)
    )
    (alone,) = {q.render()[0].text for q in hymem_questions(deep={"sufficiency": "always"}) if q.name == "WriteAnswer"}

    assert UNKNOWN in light
    assert "Name every answer that the pieces allow" not in light
    assert UNKNOWN not in deep
    assert "Name every answer that the pieces allow" in deep
    assert alone == light


def test_hymem_without_level1_reads_units(hymem_questions):
    """HyMem Table 2, Level 2 alone: raw units found by their own text."""
    asked = hymem_questions(paper={"level1": False, "top_k": 3}, deep={"sufficiency": "always"})
    shown = next(question.evidence for question in asked if isinstance(question, WriteAnswer))

    assert len(shown) == 3
    assert any("kayak" in turn.text for turn in shown[0].turns)


def test_engram_reads_whole_turns_in_the_order_of_time(told):
    """Decision 17: no more than k passages, each turn once."""
    question = told("engram")
    days = [line for line in text_of(question).splitlines() if line.startswith("-- ")]

    assert len(question.evidence) <= 12
    assert days == sorted(days, key=lambda line: datetime.strptime(line.removeprefix("-- "), "%a %d %B %Y, %H:%M"))


ASSISTED = [
    {"role": "user", "content": "I fly to Porto in May and look for a cheap airline."},
    {"role": "assistant", "content": "Try Azulair, which has the lowest fares on that route."},
    {"role": "user", "content": "My flight budget is 90 euros."},
    {"role": "assistant", "content": "Then book six weeks ahead."},
]


@pytest.mark.parametrize(
    ("query", "changed", "replied"),
    [
        ("Which airline did you recommend for Porto?", {}, True),
        ("Where do I fly in May?", {}, False),
        ("Where do I fly in May?", {"assistant_replies": "always"}, True),
    ],
)
def test_dimmem_fetches_the_assistants_reply_where_it_is_asked_for(query, changed, replied):
    """DimMem Eq. 8 and Figure 3: the reply to the turn that a record cites, by its pointer, and only on demand."""
    model, settings = WatchedModel(), preset("dimmem")
    settings = settings.model_copy(update={"paper": settings.paper.model_copy(update=changed)})
    with Memory("memory:", model, encoder="hashing", settings=settings) as memory:
        memory.remember(ASSISTED, user_id="ana", session_id="s1", close_session=True)
        memory.recall(query, user_id="ana")
    question = next(question for question in model.asked if isinstance(question, WriteAnswer))

    assert any(passage.record and passage.record.speaker == "user" for passage in question.evidence)
    assert ("\n" in "".join(p.text for p in question.evidence if p.record and p.record.speaker == "user")) is replied


@pytest.mark.parametrize("name", ["esmem", "structmem", "dimmem"])
def test_who_reads_once_is_not_asked_for_more(name, told):
    """No further memories are looked for where one retrieval and one answer are all there is."""
    assert MORE not in told(name).render()[0].text


@pytest.mark.parametrize(
    ("name", "style", "last"),
    [
        ("engram", None, "Answer in the form that the question asks for."),
        ("engram", "short", "Answer in a few words."),
        ("engram", "full", "Answer in full sentences."),
        ("esmem", None, "Answer in a few words."),
        ("esmem", "auto", "Answer in the form that the question asks for."),
    ],
)
def test_answers_are_as_long_as_the_caller_wants(name, style, last):
    """By default as long as the question asks for under `engram`, and as the paper has it under its preset."""
    model = WatchedModel()
    with Memory("memory:", model, name, encoder="hashing") as memory:
        memory.remember(session(0), user_id="ana", session_id="s0", close_session=True)
        memory.recall("What did Ana pay for the kayak?", user_id="ana", answer_style=style)
    question = next(question for question in model.asked if isinstance(question, WriteAnswer | AnswerLight))

    assert text_of(question).splitlines()[-1] == last


def test_the_reflection_sees_what_the_reader_saw():
    """The sentence that decides may stand beside the one that was found."""
    model = FakeModel(["A kayak [1]. [more]", Reflection(complete=True)])
    with Memory("memory:", "rules", encoder="hashing") as memory:
        memory.remember(session(0), user_id="ana", session_id="s0", close_session=True)
        settings = changed(memory.settings, "retrieve", whole=False)
        graph = build_read_graph(memory.store, model, RuleModel(), settings)
        graph.invoke({"request": RecallRequest(user_id="ana", query="List everything that Ana said of the kayak.")})
    light, reflection = model.asked

    assert light.form.layout(light.evidence) in text_of(reflection)
