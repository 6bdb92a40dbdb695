"""Count what writing conversations costs: physical calls and tokens, by node (`engram bench cost`).

Every answer is the rules', the same each time and counted as a language model's that answers well, unless one is named.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel

from engram_lab.datasets import READERS
from engram_lab.harness import Figures, Progress, StrPath, cost, cost_by_node, mean
from engram_lab.replay import ReplayModel
from langgraph_engram.consolidation.pairing import ComparisonSet
from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.llm.base import Answer, LLMResult, Model, Question
from langgraph_engram.memory import Memory
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.papers.dimmem import windows
from langgraph_engram.results import Receipt, count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.runner import add_receipts
from langgraph_engram.schema import Action, Scope

COUNTED = ("records", "quarantined", "events", "boundaries", "decisions", "syntheses", "pending")
KEPT = ("active", "merged", "superseded")
"""The statuses of records that were not quarantined."""
SAVED = {"embedding_saved": "embedded", "compression": "left"}
WINDOWS = (10, 15, 20, 25, 30, 35, 40, 50)
OVERLAPS = (0.0, 0.1, 0.2, 0.4, 0.6)
"""Sizes of windows, and shares of one that are shared with the one before."""

ModelMemoryOpener = Callable[[str, Model], AbstractContextManager[Memory]]
"""Opens a memory that asks a model, in the folder it is given."""


class CountingModel(RuleModel):
    """Answer by rules, and count as if a chat model had."""

    name = "rules, counted"
    by_rules = False

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question at the cost of one call."""
        result = super().ask(question)
        answer, text = result.answer, str(result.answer or "")
        if isinstance(answer, BaseModel):
            text = answer.model_dump_json(exclude_defaults=True)
            answer = answer.model_validate_json(text)
        spent = {
            "model": self.name,
            "calls": 1,
            "prompt_tokens": sum(count_tokens(message.text) for message in question.render()),
            "completion_tokens": count_tokens(text),
        }
        return LLMResult(answer, result.usage.model_copy(update=spent), result.failure)


def update_counts(memory: Memory, user_id: str) -> Counter[str]:
    """Count the records that were extracted, embedded for an update and left by it, and what was decided.

    It embeds what shares its type and enough keywords with another record; where meaning alone counts, everything.
    """
    index, settings = memory.store.index(Scope(user_id=user_id)), memory.settings
    is_drawn = [record.status in KEPT and not record.derived_from for record in index.records.items]
    compared = ComparisonSet.of(index.records, np.array(is_drawn, dtype=np.bool_), [], index.records.vectors[:0])
    drawn = np.flatnonzero(is_drawn).tolist()
    near = {position: compared.with_shared_keywords(position, settings.update.jaccard) for position in drawn}
    alike = {found for position, others in near.items() if others.size for found in (position, *others.tolist())}
    compares_all = isinstance(settings.paper, DimMemSettings) and settings.paper.all_pairs
    counts = Counter(records=len(drawn), embedded=len(drawn if compares_all else alike))
    return (
        Counter(left=int(index.records.active.sum()))
        + counts
        + Counter(decision.action for decision in index.decisions.values())
    )


def run_cost(
    path: StrPath,
    open_memory: ModelMemoryOpener,
    progress: Progress = None,
    *,
    data: str = "locomo",
    model: Model | None = None,
    limit: int | None = None,
    recording: Path | None = None,
) -> Figures:
    """Write every conversation of a file, each as a user of its own, and count.

    Returns:
        Counts as plain JSON; `usage.write` has calls and tokens in all and by node, `comparisons` the pairs of records
        whose vectors were compared against all, `update` what came of them (DimMem Table 5), `windows` how coherent
        its windows are (its Figures 4 and 5), `curve` the first conversation's cost so far (StructMem Figure 3a).
    """
    conversations = [found for found in READERS[data](path) if found.sessions][:limit]
    answering = model or CountingModel()
    if recording is not None:
        answering = ReplayModel(recording, answering, continues=True)
    receipts: list[Receipt] = []
    curve: list[Figures] = []
    counts = Counter[str]()
    started = perf_counter()
    with TemporaryDirectory(prefix="engram-bench-") as folder, open_memory(folder, answering) as memory:
        for number, conversation in enumerate(conversations):
            for session in conversation.sessions:
                receipts.append(memory.remember_sessions([session], user_id=conversation.name))
                if number == 0:
                    so_far, seconds = add_receipts(receipts), perf_counter() - started
                    curve.append({"turns": so_far.stored_turns, **cost([so_far.usage]), "seconds": seconds})
            counts.update(update_counts(memory, conversation.name))
            if progress:
                progress("remembering", number + 1, len(conversations))
    receipt = add_receipts(receipts)
    paper = memory.settings.paper if isinstance(memory.settings.paper, DimMemSettings) else None
    possible, made = receipt.pairs_possible, receipt.pairs_compared
    return {
        "preset": memory.settings.preset,
        "model": answering.name,
        "turns": receipt.stored_turns,
        "sessions": sum(len(conversation.sessions) for conversation in conversations),
        **{name: getattr(receipt, name) for name in COUNTED},
        "comparisons": {"all_pairs": possible, "made": made, "saved": 1 - made / possible if possible else 0.0},
        "update": update_figures(counts),
        **({"windows": window_figures(conversations, memory.store.encoder, paper.window)} if paper else {}),
        "usage": {"write": cost_by_node([receipt.usage])},
        "seconds": {"write": perf_counter() - started},
        "curve": curve,
    }


def update_figures(counts: Counter[str]) -> Figures:
    """Return counts of an update, and the shares of vectors and of records that it saved."""
    names = ("records", "embedded", "left", *get_args(Action))
    saved = {name: 1 - counts[of] / max(1, counts["records"]) for name, of in SAVED.items()}
    return {**{name: counts[name] for name in names}, **saved}


def window_figures(conversations: Sequence[Any], encoder: Encoder, width: int) -> Figures:
    """Return the mean cosine of two turns of a window by its size, and what each overlap of windows of a width does.

    Windows slide over all that users say. `read` is how many turns are read for each, `kept` the share of windows whose
    first new turn is nearest, of the `width` turns before it, to one that is shared.
    """
    said: list[Vectors] = []
    for conversation in conversations:
        messages = [message for session in conversation.sessions for message in session.messages]
        said.append(encoder.encode([message.text for message in messages if message.role == "user"]))
    by_size = {size: mean(cosine for own in said for cosine in coherences(own, size)) for size in WINDOWS}
    by_overlap = {share: overlap_figures(said, width, round(share * width)) for share in OVERLAPS}
    return {"coherence": by_size, "overlap": by_overlap}


def coherences(said: Vectors, size: int) -> list[float]:
    """Return the mean cosine of two turns of each window."""
    spans = [said[start:end] for start, end in windows(len(said), size, 0) if end - start > 1]
    return [float((np.square(own.sum(axis=0)).sum() - len(own)) / (len(own) * (len(own) - 1))) for own in spans]


def overlap_figures(said: Sequence[Vectors], width: int, overlap: int) -> dict[str, float | None]:
    """Return what an overlap costs and keeps."""
    spans = [(own, windows(len(own), width, overlap)) for own in said]
    firsts = [(own, start + overlap) for own, found in spans for start, _ in found[1:]]
    nearest = [min(new, width) - int(np.argmax(own[max(0, new - width) : new] @ own[new])) for own, new in firsts]
    read = sum(end - start for _, found in spans for start, end in found)
    return {"read": read / max(1, sum(map(len, said))), "kept": mean(float(back <= overlap) for back in nearest)}
