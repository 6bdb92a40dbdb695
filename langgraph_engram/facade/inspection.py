"""Look into a scope: how much is kept of what, what is left to do, and the things themselves."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

from pydantic import BaseModel

from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Status
from langgraph_engram.schema import Scope
from langgraph_engram.stores.store import Store

Kind = Literal["records", "events", "boundaries", "syntheses", "decisions", "turns"]


def status(store: Store, scope: Scope, location: str, preset: str, model: str) -> Status:
    """Count what is kept for a scope."""
    index = store.index(scope)
    return Status(
        store=location,
        encoder=store.encoder.name,
        preset=preset,
        model=model,
        turns=len(index.turns),
        events=len(index.events),
        records=dict(Counter(str(record.status) for record in index.records.items)),
        boundaries=len(index.boundaries),
        syntheses=len(index.syntheses),
        decisions=len(store.decisions(scope)),
        pending=store.pendings(scope),
    )


def show(store: Store, scope: Scope, kind: Kind) -> Sequence[BaseModel]:
    """Give everything of one kind, in order of time.

    Raises:
        InvalidInput: No such kind.
    """
    index = store.index(scope)
    match kind:
        case "decisions":
            return store.decisions(scope)
        case "records":
            return [index.records.items[place] for place in index.records.order()]
        case "events":
            return [index.events.items[place] for place in index.events.order()]
        case "boundaries":
            return [index.boundaries.items[place] for place in index.boundaries.order()]
        case "syntheses":
            return [index.syntheses.items[place] for place in index.syntheses.order()]
        case "turns":
            return [index.turns.items[place] for place in index.turns.order()]
    raise InvalidInput(f"unknown kind {kind!r}: choose one of {', '.join(get_args(Kind))}")
