"""Count what writing conversations costs: physical calls and tokens, by node (`engram bench cost`).

Every answer is the rules', so that counts are those of a model that answers well, and the same each time.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from tempfile import TemporaryDirectory
from threading import Lock
from time import perf_counter

from pydantic import BaseModel

from engram_lab.datasets import read_locomo
from engram_lab.harness import Figures, Progress, StrPath, cost_by_node
from langgraph_engram.llm.base import Answer, LLMResult, Model, Question
from langgraph_engram.memory import Memory
from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.runner import add_receipts

COUNTED = ("records", "quarantined", "events", "boundaries", "decisions", "syntheses", "pending")

ModelMemoryOpener = Callable[[str, Model], AbstractContextManager[Memory]]
"""Opens a memory that asks a model, in the folder it is given."""


class CountingModel(RuleModel):
    """Answer by rules, and count as if a chat model had."""

    name = "rules, counted"
    by_rules = False

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self.schema_tokens = 0
        """Tokens of the schemas that would be sent with the questions."""

    def ask(self, question: Question[Answer]) -> LLMResult[Answer]:
        """Answer one question at the cost of one call."""
        result = super().ask(question)
        answer, text = result.answer, str(result.answer or "")
        if isinstance(answer, BaseModel):
            text = answer.model_dump_json(exclude_defaults=True)
            answer = answer.model_validate_json(text)
            schema = json.dumps(type(answer).model_json_schema(), separators=(",", ":"))
            with self._lock:
                self.schema_tokens += count_tokens(schema)
        cost = {
            "model": self.name,
            "calls": 1,
            "prompt_tokens": sum(count_tokens(message.text) for message in question.render()),
            "completion_tokens": count_tokens(text),
        }
        return LLMResult(answer, result.usage.model_copy(update=cost), result.failure)


def run_cost(path: StrPath, open_memory: ModelMemoryOpener, progress: Progress = None) -> Figures:
    """Write every conversation of a LoCoMo file, each as a user of its own, and count.

    Returns:
        Counts as plain JSON; `usage.write` has calls and tokens in all and by node, `schema_tokens` what the answers'
        schemas would add to the prompts, `comparisons` the pairs of records whose vectors were compared against all
        and the share that the candidate filter saved (DimMem section 3.4: 59 % on LoCoMo, 75 % on LongMemEval).
    """
    samples = read_locomo(path)
    model = CountingModel()
    started = perf_counter()
    with TemporaryDirectory(prefix="engram-bench-") as folder, open_memory(folder, model) as memory:
        receipt = add_receipts(
            [memory.remember_sessions(sample.sessions, user_id=sample.name, progress=progress) for sample in samples]
        )
    possible, made = receipt.pairs_possible, receipt.pairs_compared
    return {
        "preset": memory.settings.preset,
        "turns": receipt.stored_turns,
        "sessions": sum(len(sample.sessions) for sample in samples),
        **{name: getattr(receipt, name) for name in COUNTED},
        "comparisons": {"all_pairs": possible, "made": made, "saved": 1 - made / possible if possible else 0.0},
        "usage": {"write": {"schema_tokens": model.schema_tokens, **cost_by_node([receipt.usage])}},
        "seconds": {"write": perf_counter() - started},
    }
