"""Run a whole comparison: encoders and models are opened, every system is asked, and the report is written.

DIR/peers.jsonl      what each system found and took; DIR/peers.json the figures; DIR/peers.md and DIR/*.svg the report
DIR/questions.jsonl  the answers that a model wrote from what each system showed, as `engram bench judge` reads them
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from engram_peers.loopback import Loopback
from engram_peers.own import OWN, PAID
from engram_peers.process import OTHERS, Limits
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from engram_lab.asked import PREFERENCE, Asked, Sets, message_sets, question_sets, read_updates
from engram_lab.cases import Split
from engram_lab.datasets import Conversation
from engram_lab.harness import Figures, Progress
from engram_lab.judge import run_judge
from engram_lab.judge_protocols import ABSTENTION_KIND, LONGMEMEVAL
from engram_lab.opening import Opener
from engram_lab.peers.report import below_floor, draw, markdown, report
from engram_lab.peers.run import BUDGETS, GROWTH, READ_AT, Bench, ConversationLine, growth, run_peers, trimmed
from engram_lab.resume import KeyedLine, fingerprint, open_run
from langgraph_engram.errors import InvalidInput, ModelUnavailable
from langgraph_engram.llm.base import Model, Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside

SEED = 0
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


@dataclass
class Comparison:
    """What is compared, and how."""

    sets: Sets
    files: Mapping[str, Path]
    """The files that the sets were read from, by name."""
    systems: Sequence[str]
    sizes: Sequence[int] = ()
    """How many statements each system is measured with."""
    encoder: str | None = None
    vectors: Path | None = None
    model: str | None = None
    judge: str | None = None
    limits: Limits = field(default_factory=Limits)
    environments: Path | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    """Everything else that decides what is asked."""

    def made_with(self, encoder: str) -> Figures:
        """Return what a run that is continued must share with the one before it."""
        hashes = {name: fingerprint(path) for name, path in self.files.items()}
        return {
            "data": hashes,
            "encoder": encoder,
            "budgets": BUDGETS,
            "model": self.model,
            "seed": SEED,
            **self.options,
        }

    def run(self, opener: Opener, out: Path, images: str = ".", progress: Progress = None) -> Figures:
        """Compare, and write the report into a folder; return its figures."""
        sets = {**self.sets, **({GROWTH: growth(self.sizes)} if self.sizes else {})}
        chat = self.model.removeprefix("openai:") if self.model else None
        with ExitStack() as stack:
            fresh, kept = opener.encoder(self.encoder), opener.encoder(self.encoder, vectors=self.vectors)
            served = {is_fresh: stack.enter_context(Loopback(encoder, chat, opener.variables))
                      for is_fresh, encoder in ((True, fresh), (False, kept))}  # fmt: skip
            vectors = str(self.vectors) if self.vectors else None
            own = {"encoder": self.encoder, "vectors": vectors, "variables": dict(opener.variables)}
            dims = fresh.encode(["dimensions"]).shape[1]
            bench = Bench(served, own, dims, chat, self.limits, self.environments)
            made_with = self.made_with(fresh.name)
            lines = run_peers(sets, self.systems, bench, made_with, out, progress)
        figures = report(lines, sets, made_with)
        if self.model:
            write_answers(lines, sets, opener.model(self.model), out, progress)
            if self.judge:
                figures["judged"] = run_judge(out, opener.model(self.judge, temperature=0.0), LONGMEMEVAL)
        (out / "peers.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        (out / "peers.md").write_text(markdown(figures, self.systems, images), encoding="utf-8")
        draw(figures, self.systems, out)
        return figures


def write_answers(
    lines: Sequence[ConversationLine], sets: Sets, model: Model, out: Path, progress: Progress = None
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
        run.ask_all(tasks, answer, 1, progress, "answering")
        return run.finish(tasks)


def _gold(asked: Asked) -> str:
    """Return what a reply should take into account, as a rubric."""
    stated = dict.fromkeys(text for turns in asked.needed.values() for of in turns.values() for text in of)
    return f"It takes into account: {' '.join(stated)}" if stated else "Nothing that was said before bears on it."


QUICK = ("engram", "turns", "sentences", "bm25", "hybrid", "last", "whole", "store", "langmem", "mem0")
"""What is light enough for a first look."""
QUICK_SIZES, SIZES = (100, 500), (100, 300, 1000)
QUICK_CONVERSATIONS, QUICK_QUESTIONS = 3, 30
QUICK_SECONDS = 120


def compare(
    opener: Opener, files: Mapping[str, Path], systems: str | None, *, split: Split, quick: bool, out: Path,
    conversations: int | None, limit: int | None, minutes: float, gigabytes: float, page: Path | None,
    progress: Progress = None, **options: Any,
) -> tuple[Figures, list[str]]:  # fmt: skip
    """Read the data sets, compare the systems on them, and write the report and, where it is asked for, the page.

    Returns:
        The figures, and the data sets on which engram is below a plain vector search.
    """
    known = (*OWN, *OTHERS, PAID)
    named = [name.strip() for name in systems.split(",")] if systems else list(QUICK if quick else known[:-1])
    if unknown := set(named) - set(known):
        raise InvalidInput(f"nothing is known of {', '.join(sorted(unknown))}: compare some of {', '.join(known)}")
    sets = {
        **question_sets(files.get("locomo"), files.get("longmemeval"), files.get("beam")),
        **message_sets(split, *(files.get(name) for name in ("requests", "longmemeval", "remarks", "locomo"))),
        "updates": read_updates(split, SEED),
    }
    if quick:
        conversations, limit = conversations or QUICK_CONVERSATIONS, limit or QUICK_QUESTIONS
    asked = {"split": split, "conversations": conversations, "limit": limit}
    limits = Limits(min(60 * minutes, QUICK_SECONDS) if quick else 60 * minutes, int(1024 * gigabytes))
    sizes = QUICK_SIZES if quick else () if systems else SIZES
    compared = Comparison(
        trimmed(sets, conversations, limit), files, named, sizes, limits=limits, options=asked, **options,
    )  # fmt: skip
    figures = compared.run(opener, out, "../images" if page else ".", progress)
    if page:
        shutil.copy(out / "peers.md", page / "explanation" / "peers.md")
        for image in out.glob("peers-*.svg"):
            shutil.copy(image, page / "images")
    rows = figures["evidence"]
    assert isinstance(rows, dict)
    return figures, below_floor(rows, [*sets])
