"""A small file of LoCoMo's shape in our own words, and a memory whose figures can be worked out by hand."""

import json
from contextlib import contextmanager

import pytest
from hypothesis import settings

from engram_lab.harness import Setup
from langgraph_engram.results import Receipt, Recollection, Usage, UsageEntry, total
from langgraph_engram.schema import Evidence, Turn, make_id
from tests.cli.conftest import engram as engram

settings.register_profile("lab", deadline=None)
settings.load_profile("lab")

TURNS = {
    "D1:1": "I planted three apple trees yesterday. The soil is heavy clay!",
    "D1:2": "Lovely. My sister Runa sells cider.",
    "D2:1": "We sold the orchard.",
}


class LexicalMemory:
    """Find turns by shared words, and answer with the best one. It records its searches."""

    def __init__(self):
        self.turns = {}
        self.searches = []

    def remember_sessions(self, sessions, *, user_id, progress=None):
        stored = self.turns.setdefault(user_id, [])
        for session in sessions:
            if progress:
                progress(f"remembering {session.session_id}", 0, len(sessions))
            stored += [
                Turn(
                    turn_id=make_id(user_id, message.external_id),
                    session_id=session.session_id,
                    seq=seq,
                    **message.model_dump(exclude={"session_id"}),
                )
                for seq, message in enumerate(session.messages)
            ]
        return Receipt(
            run_id="r", stored_turns=len(stored), usage=Usage(calls=2, prompt_tokens=30, completion_tokens=4)
        )

    def search(self, query, *, user_id, budget=None, stop=None, now=None):
        self.searches.append((user_id, query, budget, stop))
        words = set(query.lower().strip("?").split())
        ranked = sorted(self.turns[user_id], key=lambda turn: -len(words & set(turn.text.lower().split())))
        evidence = [Evidence(evidence_id=turn.turn_id, text=turn.indexed_text, turns=[turn]) for turn in ranked]
        return Recollection(query=query, verdict="partial", evidence=evidence)

    def recall(self, query, *, user_id, now=None):
        found = self.search(query, user_id=user_id)
        best = found.evidence[0].turns[0].text
        deep = "orchard" in query
        entry = UsageEntry(node="judge_sufficiency", calls=1, prompt_tokens=20, completion_tokens=3)
        seconds = {"judge_sufficiency": 1.0, **({"write_answer": 3.0} if deep else {})}
        return Recollection(
            query=query, answer=f"{best} [1][2, 3]", verdict="sufficient", went_deep=deep, usage=total([entry]),
            step_seconds=seconds,
        )  # fmt: skip


@pytest.fixture
def opened():
    """Every memory that was opened, by its folder."""
    return {}


@pytest.fixture
def setup(opened):
    """Memories that find turns by shared words."""

    @contextmanager
    def _open(folder):
        yield opened.setdefault(folder, LexicalMemory())

    return Setup(_open, _open, preset="engram", writer="words", reader="words", encoder="none")


@pytest.fixture
def without_times():
    """Read lines, and leave out what no two runs have in common: how long things took."""

    def timeless(found):
        return {key: value for key, value in found.items() if not key.endswith("seconds")}

    return lambda lines: [json.loads(line, object_hook=timeless) for line in lines]


@pytest.fixture
def locomo_file(tmp_path):
    """Write two samples with a question of each kind."""
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([_sample("talk-1"), _sample("talk-2")]))
    return path


def _sample(sample_id):
    turns = [{"speaker": "Ilse", "dia_id": name, "text": text} for name, text in TURNS.items()]
    turns.append({"speaker": "Omar", "dia_id": "D2:2", "text": "", "blip_caption": "a photo of an empty barn"})
    return {
        "sample_id": sample_id,
        "conversation": {
            "session_1": turns[:2],
            "session_1_date_time": "9:00 am on 3 April, 2023",
            "session_2": turns[2:],
            "session_2_date_time": "9:00 am on 9 May, 2023",
        },
        "qa": [
            {"question": "Who sells cider?", "answer": "Runa, her sister", "evidence": ["D1:02"], "category": 1},
            {
                "question": "When did Ilse plant trees?",
                "answer": "2 April 2023",
                "evidence": ["D1:1; D9:9"],
                "category": 2,
            },
            {"question": "Would Ilse garden?", "answer": "Yes; she planted", "evidence": ["D"], "category": 3},
            {"question": "What was sold with the orchard?", "answer": 7, "evidence": ["D2:1 D2:2"], "category": 4},
            {"question": "Who bought a yacht?", "adversarial_answer": "Ilse", "evidence": ["D1:1"], "category": 5},
        ],
    }


@pytest.fixture
def haystacks_file(tmp_path):
    """Write two questions, each with a haystack of two sessions."""
    path = tmp_path / "haystacks.json"
    path.write_text(json.dumps([_haystack(number) for number in range(2)]))
    return path


def _haystack(number):
    return {
        "question_id": f"q{number}",
        "question_type": "single-session-user",
        "question": "What colour is my canoe?",
        "answer": "red",
        "question_date": "2024/03/09 (Sat) 08:00",
        "haystack_session_ids": ["answer_1", "other"],
        "haystack_dates": ["2024/03/01 (Fri) 08:00", "2024/03/02 (Sat) 08:00"],
        "haystack_sessions": [
            [{"role": "user", "content": f"I bought a red canoe for {number + 2} people.", "has_answer": True}],
            [{"role": "user", "content": "Bees sleep at night."}],
        ],
        "answer_session_ids": ["answer_1"],
    }
