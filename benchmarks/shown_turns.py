"""Show a model plain turns in place of a memory: those that words and meaning find, or those that hold the answer.

Both are told as the default preset tells what it found, by the prompt of a final answer: whole turns in their order.
"""

from collections.abc import Collection, Sequence

import numpy as np

from langgraph_engram.benchmarks.asking import Spent
from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.model import Model
from langgraph_engram.nodes.retrieving.scoring import min_max, ranks
from langgraph_engram.nodes.retrieving.show_evidence import turn_piece, within
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.schema import Evidence, Intent, Scope
from langgraph_engram.stores.store import Store


class ShownTurns:
    """The turns of one scope, and who answers from them."""

    def __init__(self, store: Store, model: Model, scope: Scope) -> None:
        """Read the scope as it stands."""
        self._encoder, self._model = store.encoder, model
        self._index = store.index(scope)

    def found(self, query: str, budget: int) -> list[Evidence]:
        """Give the turns that BM25 and cosine find together, each stretched to [0, 1], best first within a budget."""
        shelf = self._index.turns
        lexical = min_max(shelf.bm25(content_stems(query)).astype(np.float64))
        scores = lexical + min_max(shelf.cosine(self._encoder.encode([query])).astype(np.float64))
        best = ranks(scores, len(shelf))
        return within((turn_piece([shelf.items[place]], float(scores[place]), {}) for place in best), budget)

    def named(self, external_ids: Collection[str]) -> list[Evidence]:
        """Give the turns of those ids in their file."""
        return [turn_piece([turn], 1.0, {}) for turn in self._index.turns.items if turn.external_id in external_ids]

    def answer(self, query: str, pieces: Sequence[Evidence]) -> tuple[str, Spent]:
        """Ask the model, and give its answer and what it cost.

        Raises:
            ModelUnavailable: It gave no answer.
        """
        intent = Intent(query=query, anchor=query)
        asked = self._model.ask(WriteAnswer(query, intent, tuple(pieces)))
        if asked.failure:
            raise ModelUnavailable(f"{self._model.name} gave no answer: {asked.failure.reason}")
        usage = asked.usage
        return asked.answer or "", Spent(
            calls=usage.calls, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
        )
