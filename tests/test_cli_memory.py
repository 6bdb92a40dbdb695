"""The command line remembers, recalls, lists and counts, for people and for programs."""

import gzip
import json

import pytest

from langgraph_engram.cli.inspect import COLUMNS, ShownKind
from langgraph_engram.cli.main import run
from langgraph_engram.memory import ItemKind

CONVERSATION = {
    "sessions": [
        {
            "session_id": "one",
            "messages": [
                {"speaker": "Ana", "text": "I planted three apple trees yesterday.", "said_at": "2024-04-02T09:00:00Z"},
                {"speaker": "Ben", "text": "How lovely! I keep bees.", "said_at": "2024-04-02T09:01:00Z"},
            ],
        },
        {
            "session_id": "two",
            "messages": [
                {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2024-06-02T09:00:00Z"}
            ],
        },
    ]
}
LOCOMO = [
    {
        "sample_id": "pair-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "9:00 am on 2 April, 2024",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "I planted three apple trees yesterday."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "How lovely! I keep bees."},
            ],
        },
        "qa": [{"question": "What did Ana plant?", "answer": "apple trees", "evidence": ["D1:1"], "category": 4}],
    }
]


LONGMEMEVAL = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "What did I plant?",
    "answer": "apple trees",
    "question_date": "2024/04/09 (Tue) 08:00",
    "haystack_session_ids": ["answer_1", "other"],
    "haystack_dates": ["2024/04/02 (Tue) 09:00", "2024/04/03 (Wed) 09:00"],
    "haystack_sessions": [
        [{"role": "user", "content": "I planted three apple trees.", "has_answer": True}],
        [{"role": "user", "content": "How do bees sleep?"}, {"role": "assistant", "content": "At night, in the hive."}],
    ],
    "answer_session_ids": ["answer_1"],
}


@pytest.fixture
def engram(tmp_path, capsys, monkeypatch):
    """Run a command on a store of the test's own; gives the code, stdout and stderr."""
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.delenv("ENGRAM_MODEL", raising=False)
    monkeypatch.delenv("ENGRAM_PRESET", raising=False)

    def command(*arguments):
        capsys.readouterr()
        code = run(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(CONVERSATION))
    return str(path)


@pytest.fixture
def kept(engram, file):
    """A command line whose user Ana has the conversation in memory."""
    code, _, _ = engram("remember", file, "--user", "ana")
    assert code == 0
    return engram


def test_a_file_is_remembered(engram, file):
    """A receipt is one document of counts."""
    code, out, err = engram("remember", file, "--user", "ana", "--json")

    receipt = json.loads(out)
    assert (code, err) == (0, "")
    assert (receipt["stored_turns"], receipt["known_turns"], receipt["pending"]) == (3, 0, 0)
    assert receipt["usage"]["calls"] == 0


def test_what_is_known_is_nothing_new(kept, file):
    """The same file a second time stores nothing, and says so."""
    code, out, _ = kept("remember", file, "--user", "ana")

    assert code == 0
    assert out.splitlines()[0] == "nothing new: all 3 turns were known"


def test_a_session_can_be_named(engram, tmp_path):
    """A file of bare messages is kept under the session that was asked for."""
    path = tmp_path / "messages.json.gz"
    path.write_bytes(gzip.compress(json.dumps(CONVERSATION["sessions"][0]["messages"]).encode()))

    engram("remember", str(path), "--user", "ana", "--session", "garden")

    _, out, _ = engram("show", "--user", "ana", "--kind", "turns", "--json")
    assert {turn["session_id"] for turn in json.loads(out)} == {"garden"}


def test_several_sessions_cannot_share_a_name(engram, file):
    """--session with a file of two sessions is a misuse, and stores nothing."""
    code, _, err = engram("remember", file, "--user", "ana", "--session", "garden")

    assert code == 2
    assert "2: leave --session out" in err


def test_a_question_is_answered(kept):
    """Quotes come with a verdict and the evidence that they are from."""
    code, out, err = kept("recall", "What did Ana plant?", "--user", "ana", "--json")

    told = json.loads(out)
    assert (code, err) == (0, "")
    assert "apple trees" in told["answer"]
    assert (told["verdict"], told["quoted"]) == ("partial", True)
    assert any("apple trees" in piece["text"] for piece in told["evidence"])


def test_an_answer_is_laid_out_for_people(kept):
    """Without --json: the quotes, the verdict, the cost, a line each."""
    code, out, _ = kept("recall", "What did Ana plant?", "--user", "ana")

    lines = out.splitlines()
    assert code == 0
    assert "apple trees" in lines[0]
    assert lines[0].startswith("Ana")
    assert lines[0].endswith("]")
    assert "partial" in lines
    assert lines[-1] == "cost: no model was called"


def test_a_search_has_no_answer(kept):
    """--search finds evidence within its budget and answers nothing."""
    _, out, _ = kept("recall", "apple trees", "--user", "ana", "--search", "--budget", "60", "--json")

    found = json.loads(out)
    assert found["answer"] is None
    assert found["evidence"]
    assert sum(-(-len(piece["text"]) // 4) for piece in found["evidence"]) <= 60


def test_nothing_is_shown_of_another_user(kept):
    """Ben's memory is empty although Ana's is not."""
    code, out, _ = kept("show", "--user", "ben", "--kind", "turns", "--json")

    assert (code, json.loads(out)) == (0, [])


def test_another_tenant_and_another_agent_have_memories_of_their_own(kept):
    """The same user name elsewhere is another memory."""
    _, tenant, _ = kept("status", "--user", "ana", "--tenant", "elsewhere", "--json")
    _, agent, _ = kept("status", "--user", "ana", "--agent", "gardener", "--json")

    assert [json.loads(out)["turns"] for out in (tenant, agent)] == [0, 0]


@pytest.mark.parametrize("kind", list(ShownKind))
def test_every_kind_is_listed(kept, kind):
    """A list has a line for each thing under its titles, with as many cells; JSON has as many things."""
    _, listed, _ = kept("show", "--user", "ana", "--kind", kind.value)
    _, document, _ = kept("show", "--user", "ana", "--kind", kind.value, "--json")

    things, lines = json.loads(document), listed.splitlines()
    assert len(lines) == len(things) + 1 if things else lines == [f"no {kind.value} are kept for ana"]
    if things:
        assert lines[0].split("\t") == list(COLUMNS[kind])
        assert {line.count("\t") for line in lines} == {len(COLUMNS[kind]) - 1}


def test_the_kinds_are_those_of_memory():
    """The command line lists what the facade can show, no more and no less."""
    assert set(ShownKind) == set(ItemKind.__args__)


def test_what_is_kept_is_counted(kept):
    """Turns, records by status, nothing pending, and where it is kept."""
    code, out, _ = kept("status", "--user", "ana", "--json")

    status = json.loads(out)
    assert code == 0
    assert status["turns"] == 3
    assert status["records"]["active"] >= 2
    assert status["pending"] == []
    assert {"store", "encoder", "preset", "model", "boundaries", "syntheses", "decisions"} <= status.keys()


def test_a_status_is_laid_out_for_people(kept):
    """A line each, the name before the count."""
    _, out, _ = kept("status", "--user", "ana")

    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (lines["turns"], lines["pending"]) == ("3", "0")


def test_nothing_pending_needs_no_retry(kept):
    """A retry without anything to do says so."""
    code, out, _ = kept("retry", "--user", "ana")

    assert (code, out) == (0, "nothing is pending\n")


@pytest.fixture
def cut_off(engram, file, monkeypatch):
    """A command line whose user Ana was remembered while her model could not be reached."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    return engram, engram("remember", file, "--user", "ana", "--model", "openai:none", "--json")


def test_a_model_out_of_reach_fails_the_command(cut_off):
    """Nothing was drawn from what was said: code 1, one document, how to go on."""
    _, (code, out, err) = cut_off

    assert code == 1
    assert "engram retry --user ana" in json.loads(out)["error"]
    assert err.startswith("engram: nothing was drawn")


def test_what_was_said_is_found_meanwhile_and_finished_later(cut_off, file):
    """Turns are kept and searched; remembering again says what is pending, and a retry does it."""
    engram, _ = cut_off

    _, found, _ = engram("recall", "apple trees", "--user", "ana", "--search")
    _, again, _ = engram("remember", file, "--user", "ana")
    code, _, _ = engram("retry", "--user", "ana")
    _, after, _ = engram("status", "--user", "ana", "--json")

    assert "apple trees" in found
    assert "3 turns can be found, but later steps are pending" in again
    assert code == 0
    assert json.loads(after)["pending"] == []
    assert json.loads(after)["records"]["active"] >= 2


def test_an_unknown_preset_is_bad_input(engram, file):
    """A name that means nothing is code 2."""
    code, _, err = engram("remember", file, "--user", "ana", "--preset", "gold")

    assert code == 2
    assert "'gold'" in err


def test_locomo_is_measured(engram, tmp_path):
    """The figures are one document, and each question leaves a line."""
    path, out = tmp_path / "locomo.json", tmp_path / "out"
    path.write_text(json.dumps(LOCOMO))

    code, document, _ = engram("bench", "locomo", str(path), "--out", str(out), "--json")

    figures = json.loads(document)
    assert code == 0
    assert (figures["questions"], figures["preset"], figures["model"]) == (1, "engram", "rules")
    assert figures["evidence_recall"]["500"] == 1.0
    assert len((out / "questions.jsonl").read_text().splitlines()) == 1


def test_longmemeval_is_measured(engram, tmp_path):
    """The figures are one document, each question leaves a line, and vectors stay for the next run."""
    path, out, vectors = tmp_path / "haystacks.json", tmp_path / "out", tmp_path / "vectors"
    path.write_text(json.dumps([LONGMEMEVAL]))

    code, document, _ = engram(
        "bench", "longmemeval", str(path), "--out", str(out), "--vectors", str(vectors), "--json"
    )

    figures = json.loads(document)
    assert code == 0
    assert (figures["questions"], figures["preset"], figures["model"]) == (1, "engram", "rules")
    assert figures["session_recall"]["500"] == figures["turn_recall"]["500"] == 1.0
    assert len((out / "questions.jsonl").read_text().splitlines()) == 1
    assert [file.suffix for file in vectors.glob("*.sqlite")] == [".sqlite"]


def test_reading_is_measured(engram, tmp_path):
    """Every reader has its figures, and each leaves a line."""
    path, out = tmp_path / "locomo.json", tmp_path / "out"
    path.write_text(json.dumps(LOCOMO))

    code, document, _ = engram(
        "bench", "reading", str(path), "--preset", "engram", "--preset", "esmem", "--out", str(out), "--json"
    )

    figures = json.loads(document)
    assert code == 0
    assert (figures["model"], list(figures["readers"])) == ("rules", ["engram", "esmem", "turns", "gold"])
    assert figures["readers"]["engram"]["questions"] == 1
    assert len((out / "questions.jsonl").read_text().splitlines()) == 4


def test_segmentation_is_measured(engram, tmp_path):
    """The figures are one document; no model is asked."""
    said = ["I keep bees.", "Bees give honey.", "Do you ski?", "I ski in winter."]
    utterances = [{"speaker": "AB"[place % 2], "text": text} for place, text in enumerate(said)]
    path = tmp_path / "dialogues.jsonl"
    path.write_text(json.dumps({"dialogue_id": "d", "utterances": utterances, "boundaries": [0, 1, 0, 1]}))

    code, document, _ = engram("bench", "segmentation", str(path), "--strategy", "session", "--limit", "1", "--json")

    figures = json.loads(document)
    assert code == 0
    assert {"pk", "wd", "f1", "score", "dialogues"} <= set(figures)
    assert (figures["preset"], figures["strategy"], figures["dialogues"]) == ("engram", "session", 1)
    assert figures["boundaries"] == {"predicted": 0, "gold": 1}
    assert figures["usage"]["calls"] == 0


def test_recall_as_of_a_day(engram, tmp_path):
    """A day alone is meant to its end: what was said in its morning counts, what was said later does not."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(CONVERSATION))
    engram("remember", str(file), "--user", "ana")

    def turns_as_of(day):
        code, out, _ = engram(
            "recall",
            "Who planted trees, keeps bees or lives in Oslo?",
            "--search",
            "--user",
            "ana",
            "--as-of",
            day,
            "--json",
        )
        assert code == 0
        return {turn["text"] for piece in json.loads(out)["evidence"] for turn in piece["turns"]}

    assert turns_as_of("2024-04-01") == set()
    assert turns_as_of("2024-04-02") == {one["text"] for one in CONVERSATION["sessions"][0]["messages"]}
    assert "My sister Runa lives in Oslo." in turns_as_of("2024-06-02T10:00:00Z")


def test_recall_as_of_no_day_is_bad_input(engram, tmp_path):
    """A date that cannot be read is named, with the form that can."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(CONVERSATION))
    engram("remember", str(file), "--user", "ana")

    code, _, told = engram("recall", "Who?", "--user", "ana", "--as-of", "someday")

    assert code == 2
    assert "someday" in told
