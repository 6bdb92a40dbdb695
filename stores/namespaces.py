"""Know which namespaces hold items, each under all of its prefixes, so that a search looks at no other.

This module does not know items.
"""

from collections import defaultdict
from collections.abc import Mapping

from langgraph_engram.stores.items import Namespace


class Namespaces:
    """Namespaces with their revisions, first named first."""

    def __init__(self, revisions: Mapping[Namespace, str]) -> None:
        """Start with namespaces and their revisions."""
        self._revisions: dict[Namespace, str] = {}
        self._under: defaultdict[Namespace, dict[Namespace, None]] = defaultdict(dict)
        for name, revision in revisions.items():
            self.put(name, revision)

    def __contains__(self, name: Namespace) -> bool:
        """Say whether a namespace holds items."""
        return name in self._revisions

    def revision(self, name: Namespace) -> str:
        """Give the revision of a namespace that holds items."""
        return self._revisions[name]

    def under(self, prefix: Namespace) -> list[Namespace]:
        """Give the namespaces that begin with a prefix, which may be one itself."""
        return list(self._under.get(prefix, ()))

    def put(self, name: Namespace, revision: str) -> None:
        """Say that a namespace holds items, as of a revision."""
        self._revisions[name] = revision
        for size in range(len(name) + 1):
            self._under[name[:size]][name] = None

    def remove(self, name: Namespace) -> None:
        """Say that a namespace holds nothing any more."""
        if self._revisions.pop(name, None) is None:
            return
        for size in range(len(name) + 1):
            del self._under[name[:size]][name]
            if not self._under[name[:size]]:
                del self._under[name[:size]]

    def replace(self, prefix: Namespace, revisions: Mapping[Namespace, str]) -> None:
        """Say anew what stands under a prefix."""
        for name in self.under(prefix):
            self.remove(name)
        for name, revision in revisions.items():
            self.put(name, revision)
