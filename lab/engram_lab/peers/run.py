"""Write the same conversations into each memory, and ask each the same (`engram bench peers`).

peers.jsonl   one line a conversation and system, on disk as soon as it is searched: its cost, and what was found
A system that fails has a line that says why, and is not tried on the rest of that data set; a run that is continued
tries it again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, ClassVar

from engram_lab.asked import Asked, Sets
from engram_lab.datasets import Conversation
from engram_lab.evidence_scores import Passage, holds, session_recall
from engram_lab.harness import Progress
from engram_lab.resume import KeyedLine, LineKey, open_run
from engram_lab.speed import Writer
from engram_peers.loopback import NO_MODEL, Loopback
from engram_peers.own import OWN, PAID
from engram_peers.process import Limits, Peer, PeerFailure, start_peer
from langgraph_engram.formats.messages import Session, to_messages
from langgraph_engram.prompts.rendering import dated
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Frozen
from langgraph_engram.state import Message

BUDGETS = (250, 500, 1000, 2000)
"""Tokens; evidence is measured at each."""
READ_AT = 1000
"""Tokens of the ranking that the reader of an answer is shown."""
LINES = "peers.jsonl"
GROWTH = "growth"
"""The made-up statements by which time and memory are measured, each size by itself, with nothing cached."""
GROWTH_QUESTIONS, SESSION_TEXTS = 30, 20
WROTE_NOTHING = "wrote nothing"
COUNTS = ("calls", "prompt_tokens", "completion_tokens")


class Found(Frozen):
    """What was found for one question or message."""

    index: int
    """Its place among those of its conversation."""
    within: dict[str, float | None]
    """What was shown of what is needed, by the tokens shown; None for what needs nothing."""
    shown: float | None
    """The same of a search that is given no number of tokens."""
    tokens: int
    """Tokens that it shows."""
    seconds: float
    """Seconds that it takes."""
    passages: list[str] = []
    """What a reader is shown; kept where a model answers."""


class ConversationLine(KeyedLine):
    """One conversation in one system."""

    KEY: ClassVar = ("system", "data", "conversation")
    system: str
    data: str
    conversation: str
    version: str = ""
    messages: int = 0
    stored: int | None = None
    write_seconds: float = 0.0
    write_cpu: float = 0.0
    """Of its own process: others are given their vectors by another."""
    memory_mib: int = 0
    """The most that its process was seen to hold."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """What writing asked of a language model."""
    found: list[Found] = []
    failure: str = ""


@dataclass
class Bench:
    """What every system is given, and the process of the one that is asked, started anew for each data set."""

    loopbacks: Mapping[bool, Loopback]
    """Whose encoder keeps no vectors, and whose may."""
    own: Mapping[str, Any]
    """What our own systems are opened with."""
    dims: int
    model: str | None = None
    limits: Limits = field(default_factory=Limits)
    start: Callable[[str, Limits], Peer] = start_peer
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a system is not tried on a data set; under the name of no data set, on any."""
    peer: Peer | None = None
    key: tuple[str, str] | None = None
    version: str = ""
    folder: TemporaryDirectory[str] | None = None

    def line(self, task: tuple[str, str, Conversation[Asked]]) -> ConversationLine:
        """Ask one system about one conversation; a failure is its result."""
        system, data, conversation = task
        named = {"system": system, "data": data, "conversation": conversation.name}
        known = self.failed.get((system, data)) or self.failed.get((system, ""))
        if known:
            return ConversationLine(**named, failure=known)
        try:
            peer = self._open(system, f"{data} {conversation.name}" if data == GROWTH else data)
            figures = search_all(peer, conversation, self, data == GROWTH)
            return ConversationLine(**named, version=self.version, **figures)
        except PeerFailure as failure:
            memory = self.peer.memory_mib if self.peer else 0
            why = NO_MODEL if NO_MODEL in str(failure) else str(failure)
            self.failed[system, data if self.version else ""] = why
            self.close()
            return ConversationLine(**named, memory_mib=memory, failure=why)

    def close(self) -> None:
        """End the process, and remove what it wrote."""
        for held, end in ((self.peer, "close"), (self.folder, "cleanup")):
            if held:
                getattr(held, end)()
        self.peer = self.folder = self.key = None
        self.version = ""

    def _open(self, system: str, data: str) -> Peer:
        if self.peer and self.key == (system, data):
            return self.peer
        self.close()
        if system == PAID and not self.model:
            raise PeerFailure(NO_MODEL)
        fresh = data.startswith(GROWTH)
        self.folder = TemporaryDirectory(prefix="engram-peers-", ignore_cleanup_errors=True)
        self.peer = self.start(system, self.limits)
        given = {"model": self.model, "dims": self.dims, "base_url": self.loopbacks[fresh].url}
        given |= {**self.own, **({"vectors": None} if fresh else {})} if system in (*OWN, PAID) else {}
        self.version = self.peer.ask("open", folder=self.folder.name, **given)["version"]
        self.key = (system, data)
        return self.peer


def run_peers(
    sets: Sets, systems: Sequence[str], bench: Bench, made_with: Mapping[str, Any], out: Path, progress: Progress = None
) -> list[ConversationLine]:
    """Search each conversation in each system, those without a line."""
    tasks: dict[LineKey, tuple[str, str, Conversation[Asked]]] = {
        (system, data, conversation.name): (system, data, conversation)
        for system in systems
        for data, conversations in sets.items()
        for conversation in conversations
    }
    with open_run(out, made_with, ConversationLine, LINES) as run, closing(bench):
        run.forget([line.key for line in run.lines_of(tasks) if line.failure])
        run.ask_all(tasks, bench.line, 1, progress, "asking")
        return run.finish(tasks)


def search_all(peer: Peer, conversation: Conversation[Asked], bench: Bench, fresh: bool) -> dict[str, Any]:
    """Have a conversation remembered, and all asked that is asked of it; return the fields of its line."""
    said = {str(message.external_id): message for session in conversation.sessions for message in session.messages}
    sent = [_sent(session, message) for session in conversation.sessions for message in session.messages]
    usage = bench.loopbacks[fresh].usage
    before, started = dict(usage), perf_counter()
    wrote = peer.ask("remember", user=conversation.name, messages=sent)
    seconds = perf_counter() - started
    if wrote.get("stored") == 0:
        raise PeerFailure(WROTE_NOTHING)
    costs = {name: wrote.get(name, 0) + usage[name] - before[name] for name in COUNTS}
    found = [
        _find(peer, conversation, index, asked, said, bool(bench.model))
        for index, asked in enumerate(conversation.questions)
    ]
    return {
        "messages": len(sent),
        "stored": wrote.get("stored"),
        "write_seconds": seconds,
        "write_cpu": wrote["cpu"],
        "memory_mib": peer.memory_mib,
        "found": found,
        **costs,
    }


def _sent(session: Session, message: Message) -> dict[str, Any]:
    return {**message.model_dump(mode="json"), "id": message.external_id, "session": session.session_id}


def _find(
    peer: Peer, conversation: Conversation[Asked], index: int, asked: Asked, said: Mapping[str, Message], keep: bool
) -> Found:
    now = conversation.asked_at.isoformat() if conversation.asked_at else None
    query = {"user": conversation.name, "asked": {"text": asked.question, "thread": asked.thread, "now": now}}
    started = perf_counter()
    by_default = peer.ask("search", **query, tokens=None)["passages"]
    seconds = perf_counter() - started
    shown = [_shown(passage, said) for passage in by_default]
    ranked = [_shown(passage, said) for passage in peer.ask("search", **query, tokens=max(BUDGETS))["passages"]]
    return Found(
        index=index,
        within={str(budget): score(asked, fill(ranked, budget)) for budget in BUDGETS},
        shown=score(asked, shown),
        tokens=sum(count_tokens(passage.text) for passage in shown),
        seconds=seconds,
        passages=[passage.text for passage in fill(ranked, READ_AT)] if keep else [],
    )


def _shown(passage: Mapping[str, Any], said: Mapping[str, Message]) -> Passage:
    """Return a passage as a reader sees it: under its day, as ours are."""
    ids = [str(turn) for turn in passage["ids"]]
    day = said[ids[0]].said_at if ids and not passage.get("dated") and ids[0] in said else None
    return Passage(text=dated(passage["text"], day), turn_ids=ids, synthesis=passage.get("summary", False))


def fill(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """Return what fits, best first: a passage that is too long is passed over, for those behind it."""
    kept = []
    for passage in passages:
        if (tokens := count_tokens(passage.text)) <= budget:
            kept.append(passage)
            budget -= tokens
    return kept


def score(asked: Asked, passages: Sequence[Passage]) -> float | None:
    """Return how much of what is needed is shown, in [0, 1]; None for what needs nothing.

    Of a value that has changed the newest is to stand before, or with, the older ones; of one that is to be forgotten
    none is to be shown. A passage that cites no turn is taken for one of any turn whose words it has.
    """
    if not asked.stale:
        return session_recall(_attributed(passages, asked), asked.needed)
    older = _first(passages, asked.stale)
    if not asked.needed:
        return float(older is None)
    newest = _first(passages, {turn: stated for of in asked.needed.values() for turn, stated in of.items()})
    return float(newest is not None and (older is None or newest <= older))


def _first(passages: Sequence[Passage], turns: Mapping[str, Sequence[str]]) -> int | None:
    """Return the position of the first passage that holds one of some turns."""
    holding = (
        at for at, passage in enumerate(passages)
        if any(holds(_citing(passage, turn), turn, stated) for turn, stated in turns.items())
    )  # fmt: skip
    return next(holding, None)


def _citing(passage: Passage, turn: str) -> Passage:
    return passage if passage.turn_ids else passage.model_copy(update={"turn_ids": [turn]})


def _attributed(passages: Sequence[Passage], asked: Asked) -> list[Passage]:
    turns = [turn for of in asked.needed.values() for turn in of]
    return [_citing(passage, turn) for passage in passages for turn in (turns[:1] if passage.turn_ids else turns)]


def growth(sizes: Sequence[int]) -> list[Conversation[Asked]]:
    """Make up conversations of so many statements, and ask for some of them again."""
    return [_statements(size) for size in sizes]


def _statements(size: int) -> Conversation[Asked]:
    draw = Random(size)
    texts = [Writer(draw).sentence() for _ in range(size)]
    said = [{"external_id": str(at), "role": "user", "text": text} for at, text in enumerate(texts)]
    sessions = [
        Session(f"session-{start}", to_messages(said[start : start + SESSION_TEXTS]))
        for start in range(0, size, SESSION_TEXTS)
    ]
    drawn = draw.sample(range(size), min(GROWTH_QUESTIONS, size))
    asked = [Asked(question=_question(texts[at]), gold="", needed={str(at): {str(at): [texts[at]]}}) for at in drawn]
    return Conversation(f"{size}", sessions, asked)


def _question(text: str) -> str:
    """Ask about the thing and the city of a made-up statement."""
    words = text.split()
    return f"What happened with the {words[3]} {words[4]} in {words[6]}?"


def trimmed(sets: Sets, conversations: int | None, questions: int | None) -> dict[str, list[Conversation[Asked]]]:
    """Return the first conversations, and of each so many questions, drawn evenly from all."""
    return {name: [_some(of, questions) for of in some[:conversations]] for name, some in sets.items()}


def _some(conversation: Conversation[Asked], most: int | None) -> Conversation[Asked]:
    asked = conversation.questions
    if most is None or most >= len(asked):
        return conversation
    return replace(conversation, questions=[asked[at * len(asked) // most] for at in range(most)])
