"""Run a whole comparison: encoders and models are opened, every system is asked, and the report is written.

DIR/peers.jsonl      what each system found and took; DIR/peers.json the figures; DIR/peers.md and DIR/*.svg the report
DIR/questions.jsonl  the answers that a model wrote from what each system showed, as `engram bench judge` reads them
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from engram_lab.asked import PREFERENCE, Asked, Sets, message_sets, question_sets, read_updates
from engram_lab.cases import Split
from engram_lab.datasets import Conversation
from engram_lab.harness import Figures, Progress
from engram_lab.judge import run_judge
from engram_lab.judge_protocols import ABSTENTION_KIND, LONGMEMEVAL
from engram_lab.opening import Opener
from engram_lab.peers.report import ENGRAM, FLOORS, below_floor, draw, markdown, report
from engram_lab.peers.run import BUDGETS, GROWTH, READ_AT, Bench, ConversationLine, growth, run_peers, trimmed
from engram_lab.resume import KeyedLine, fingerprint, open_run
from engram_peers.loopback import Loopback
from engram_peers.own import OWN, PAID
from engram_peers.process import OTHERS, Limits
from langgraph_engram.config import resolve_chat
from langgraph_engram.errors import InvalidInput, ModelUnavailable
from langgraph_engram.llm.base import Model, Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside

SEED, UPDATES = 0, "updates"
ANSWERING = f"""\
You reply to what a user asks or says. Between the tags stands what was found of earlier conversations, dated; some of \
it may have nothing to do with the message, and later statements hold over earlier ones. {DATA_ONLY}
Answer a question in a few words from what was found, and say that you do not know where it does not tell. Answer a \
request or a remark in one to three sentences, and take into account what bears on it."""


@dataclass(frozen=True)
class AnswerFrom(Question[str]):
    """What is answered, given what a memory showed? The same words for every memory, which is not named."""

    asked: Asked
    passages: tuple[str, ...]

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        said = "\n".join([*self.asked.thread, self.asked.question])
        return [SystemMessage(ANSWERING), HumanMessage(f"{inside('memories', chr(10).join(self.passages))}\n\n{said}")]


class Answer(KeyedLine):
    """One answer, in the shape that a judge reads; the judge is not told the system."""

    KEY: ClassVar = ("reader", "question_id")
    reader: str
    """The system whose passages were read."""
    question_id: str
    question_type: str
    unanswerable: bool
    question: str
    gold: str
    answer: str


def write_answers(
    lines: Sequence[ConversationLine], sets: Sets, model: Model, out: Path, concurrency: int, progress: Progress = None
) -> list[Answer]:
    """Have a model answer from what each system showed within `READ_AT` tokens, what has no answer yet."""
    conversations = {(data, of.name): of for data, some in sets.items() for of in some}
    tasks: dict[Any, tuple[str, str, Asked, tuple[str, ...]]] = {}
    for line in lines:
        of: Conversation[Asked] = conversations[line.data, line.conversation]
        for found in line.found if line.data != GROWTH else []:
            question_id = f"{line.data}/{line.conversation}/{found.index}"
            asked = of.questions[found.index]
            tasks[line.system, question_id] = (line.system, question_id, asked, tuple(found.passages))

    def answer(task: tuple[str, str, Asked, tuple[str, ...]]) -> Answer:
        system, question_id, asked, passages = task
        result = model.ask(AnswerFrom(asked, passages))
        if result.failure:
            raise ModelUnavailable(f"{model.name} gave no answer: {result.failure.reason}")
        judged_as = asked.question_type or (PREFERENCE if asked.needed and not asked.gold else "")
        return Answer(
            reader=system, question_id=question_id, question=asked.question, gold=asked.gold or _gold(asked),
            answer=str(result.answer), question_type=judged_as, unanswerable=judged_as == ABSTENTION_KIND,
        )  # fmt: skip

    with open_run(
        out, {"model": model.name, "prompt": ANSWERING, "tokens": READ_AT}, Answer, settings_file="answers.json"
    ) as run:
        run.ask_all(tasks, answer, concurrency, progress, "answering")
        return run.finish(tasks)


def _gold(asked: Asked) -> str:
    """Return what a reply should take into account, as a rubric."""
    stated = dict.fromkeys(text for turns in asked.needed.values() for of in turns.values() for text in of)
    return f"It takes into account: {' '.join(stated)}" if stated else "Nothing that was said before bears on it."


QUICK = ("engram", "turns", "sentences", "bm25", "hybrid", "last", "whole", "store", "langmem", "mem0")
"""What is light enough for a first look."""
QUICK_SIZES, SIZES = (100, 500), (100, 300, 1000)
QUICK_CONVERSATIONS, QUICK_QUESTIONS = 3, 30
QUICK_MINUTES = 2.0


def compare(
    opener: Opener, files: Mapping[str, Path], systems: str | None, *, split: Split, quick: bool, out: Path,
    conversations: int | None, limit: int | None, model: str | None, judge: str | None, encoder: str | None,
    vectors: Path | None, minutes: float, gigabytes: float, page: Path | None, progress: Progress = None,
) -> tuple[Figures, list[str]]:  # fmt: skip
    """Read the data sets, compare the systems on them, and write the report and, where it is asked for, the page.

    Returns:
        The figures, and the data sets on which engram is below a plain vector search.
    """
    known = (*OWN, *OTHERS, PAID)
    named = (
        [name.strip() for name in systems.split(",")]
        if systems
        else list(QUICK if quick else known if model else known[:-1])
    )
    if unknown := set(named) - set(known):
        raise InvalidInput(f"nothing is known of {', '.join(sorted(unknown))}: compare some of {', '.join(known)}")
    if quick:
        conversations, limit = conversations or QUICK_CONVERSATIONS, limit or QUICK_QUESTIONS
        minutes = min(minutes, QUICK_MINUTES)
    sizes = QUICK_SIZES if quick else SIZES if {*named} - {ENGRAM, *FLOORS} else ()
    sets = {**trimmed(_sets(files, split), conversations, limit), **({GROWTH: growth(sizes)} if sizes else {})}
    chat = model.removeprefix("openai:") if model else None
    fresh, kept = opener.encoder(encoder), opener.encoder(encoder, vectors=vectors)
    asked = {"split": split, "conversations": conversations, "limit": limit, "model": model, "encoder": fresh.name}
    hashes = {name: fingerprint(path) for name, path in files.items()}
    made_with: Figures = {"data": hashes, "budgets": BUDGETS, "seed": SEED, **asked}
    own = {"encoder": encoder, "vectors": str(vectors) if vectors else None, "variables": dict(opener.variables)}
    with Loopback(fresh, chat, opener.variables) as uncached, Loopback(kept, chat, opener.variables) as cached:
        limits, dims = Limits(60 * minutes, int(1024 * gigabytes)), fresh.encode(["dimensions"]).shape[1]
        bench = Bench({True: uncached, False: cached}, own, dims, chat, limits)
        lines = run_peers(sets, named, bench, made_with, out, progress)
    figures = report(lines, sets, made_with)
    if model:
        at_once = resolve_chat(environment=opener.variables).concurrency
        write_answers(lines, sets, opener.model(model), out, at_once, progress)
        if judge:
            judging = opener.model(judge, temperature=0.0)
            figures["judged"] = run_judge(out, judging, LONGMEMEVAL, concurrency=at_once, progress=progress)
    _write(figures, named, out, page)
    return figures, below_floor(figures["evidence"], [name for name in sets if name not in (GROWTH, UPDATES)])


def _sets(files: Mapping[str, Path], split: Split) -> Sets:
    of_messages = [files.get(name) for name in ("requests", "longmemeval", "remarks", "locomo")]
    return {
        **question_sets(files.get("locomo"), files.get("longmemeval"), files.get("beam")),
        **message_sets(split, *of_messages),
        UPDATES: read_updates(split, SEED),
    }


def _write(figures: Figures, systems: Sequence[str], out: Path, page: Path | None) -> None:
    (out / "peers.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (out / "peers.md").write_text(markdown(figures, systems, "../images" if page else "."), encoding="utf-8")
    draw(figures, systems, out)
    if page:
        shutil.copy(out / "peers.md", page / "explanation")
        for image in out.glob("peers-*.svg"):
            shutil.copy(image, page / "images")
