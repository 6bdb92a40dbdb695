"""Look at what is stored for a user: counts, everything of a kind, one record."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel

from langgraph_engram.errors import InvalidInput
from langgraph_engram.filters import Filters, check_filters, check_limit, conditions_of
from langgraph_engram.formats.messages import shown
from langgraph_engram.requests import check_name
from langgraph_engram.results import Status
from langgraph_engram.retrieval.search import profile_of
from langgraph_engram.schema import Frozen, Record, Scope
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import KindIndex, Matches

ItemKind = Literal["records", "events", "boundaries", "syntheses", "decisions", "turns", "profile"]
T = TypeVar("T", bound=Frozen)
MOST_IDS = 5
"""Ids that an error lists, at most."""
PROFILE_TOKENS = 300
"""Tokens of a profile's text, at most, where no other budget is given."""


def status(opened: Store, scope: Scope, *, store: str, preset: str, model: str) -> Status:
    """Count what is stored, and list the pending tasks."""
    index = opened.index(scope)
    return Status(
        store=store,
        encoder=opened.encoder.name,
        preset=preset,
        model=model,
        turns=len(index.turns),
        events=len(index.events),
        records=dict(Counter(str(record.status) for record in index.records.items)),
        boundaries=len(index.boundaries),
        syntheses=len(index.syntheses),
        decisions=len(opened.decisions(scope)),
        pending=opened.pending_tasks(scope),
    )


def show(
    store: Store, scope: Scope, kind: ItemKind, filters: Filters | None = None, limit: int | None = None
) -> Sequence[BaseModel]:
    """Return what is stored of one kind, in order of time: the newest `limit`; of a profile, the first."""
    conditions = conditions_of(check_filters(filters))
    check_limit(limit)
    if kind not in get_args(ItemKind):
        raise InvalidInput(f"unknown kind {shown(kind)}: choose one of {', '.join(get_args(ItemKind))}")
    if kind == "decisions":
        if conditions:
            raise InvalidInput("decisions have none of the fields that filters are about: leave the filters out")
        return store.decisions(scope)[-limit if limit else 0 :]
    index = store.index(scope)
    matches = Matches(index, conditions)
    if kind == "profile":
        records = profile_of(index, PROFILE_TOKENS).records
        return [item for item in records if matches.records[index.records.position(item.record_id)]][:limit]
    items: KindIndex[Any] = getattr(index, kind)
    order = items.order()
    if kind in ("turns", "records"):
        order = order[(matches.turns if kind == "turns" else matches.records)[order]]
        chosen = [items.items[position] for position in order]
    else:
        chosen = [items.items[position] for position in order if matches.has(items.items[position])]
    return chosen[-limit if limit else 0 :]


def get(store: Store, scope: Scope, record_id: str) -> Record:
    """Return a record by its id or the first characters of it."""
    return find_one(store.index(scope).records, check_name("record_id", record_id, "name a record"))


def find_one(items: KindIndex[T], name: str) -> T:
    """Return the item of an id, or the only one whose id begins with these characters."""
    found, noun = items.named(name), items.kind.id_field.removesuffix("_id")
    if len(found) > 1:
        raise InvalidInput(f"several {items.kind.name} begin with {name!r}: {list_ids(map(items.kind.id_of, found))}")
    if not found:
        raise InvalidInput(
            f"unknown {noun} {name!r}",
            command=f"`engram show --user USER --kind {items.kind.name} --json` lists the ids",
        )
    return found[0]


def list_ids(ids: Iterable[str]) -> str:
    """Return the first ids in one line, and how many there are besides."""
    known = list(ids)
    more = f" and {len(known) - MOST_IDS} more" if len(known) > MOST_IDS else ""
    return ", ".join(known[:MOST_IDS]) + more
