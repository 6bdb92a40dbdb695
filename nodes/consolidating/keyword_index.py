"""Know which records of a scope hold a keyword, or set an attribute, as the scope grows.

The index of a scope is made once and then grows with it: what a run added is read, and nothing else. This module does
not know what a resemblance is.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_not
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from langgraph_engram.nodes.consolidating.tell_apart import attribute_in, may_change
from langgraph_engram.schema import Record, Scope
from langgraph_engram.stores.growing import GrowingArray
from langgraph_engram.stores.lexical import LexicalIndex
from langgraph_engram.stores.scope_index import RecordShelf
from langgraph_engram.stores.store import Store

SCOPES_KEPT = 64
"""Scopes of a store whose index is kept."""
NOTHING: GrowingArray[np.bool_] = GrowingArray(np.empty(0, dtype=np.bool_))


@dataclass(frozen=True)
class KeywordIndex:
    """Records by keyword and by attribute, in the order of their shelf. It is a value: growing gives another."""

    records: Sequence[Record] = ()
    keywords: LexicalIndex = field(default_factory=LexicalIndex)
    """The terms of each record are its keywords, case-folded, each under its type (DimMem: the type group)."""
    attributes: LexicalIndex = field(default_factory=LexicalIndex)
    """The term of a record is the attribute that it sets, if it sets one."""
    states: GrowingArray[np.bool_] = NOTHING
    """Whether each record states something that may change."""

    def grown(self, records: Sequence[Record]) -> "KeywordIndex":
        """Give the index of `records`, which begin with this index's own, some of them changed."""
        keywords, attributes = self.keywords.fork(), self.attributes.fork()
        known = len(self.records)
        changed = [at for at, differs in enumerate(map(is_not, self.records, records)) if differs]
        for position in changed:
            keywords.replace(position, keyword_terms(records[position]))
            attributes.replace(position, attribute_terms(records[position]))
        keywords.extend(map(keyword_terms, records[known:]))
        attributes.extend(map(attribute_terms, records[known:]))
        states = self.states.extended(np.array([may_change(one) for one in records[known:]], dtype=np.bool_))
        if changed:
            states = states.replaced(changed, np.array([may_change(records[at]) for at in changed], dtype=np.bool_))
        return KeywordIndex(records, keywords, attributes, states)


CACHE: WeakKeyDictionary[Store, OrderedDict[str, KeywordIndex]] = WeakKeyDictionary()
"""The index last made for each scope, those used longest ago first."""
CACHE_LOCK = Lock()


def keyword_index(store: Store, scope: Scope, shelf: RecordShelf, new: Sequence[Record] = ()) -> KeywordIndex:
    """Give the index of a scope's records as they stand, and of new ones behind them.

    It grows from the one that was last made; only the records of the shelf are kept for the next time.
    """
    with CACHE_LOCK:
        kept = CACHE.setdefault(store, OrderedDict())
        held = kept.get(scope.key, KeywordIndex())
        if len(held.records) > len(shelf.items):
            held = KeywordIndex()  # the scope has shrunk
        kept[scope.key] = index = held.grown(shelf.items)
        kept.move_to_end(scope.key)
        while len(kept) > SCOPES_KEPT:
            kept.popitem(last=False)
        return index.grown([*shelf.items, *new]) if new else index


def keyword_terms(record: Record) -> list[str]:
    """Give a record's keywords as terms of its type, case-folded, without repeats."""
    return list(dict.fromkeys(f"{record.memory_type}: {word.casefold()}" for word in record.keywords))


def attribute_terms(record: Record) -> list[str]:
    """Give the key of the attribute that a record sets, if it sets one."""
    found = attribute_in(record)
    return [found.key] if found else []
