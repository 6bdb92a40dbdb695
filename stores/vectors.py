"""Hold the vectors of many items, and compare all of them with a query: exactly, or nearly so where they are very many.

Reading the vectors is most of what a search of a large scope costs. There the principal components of each vector, a
sixth of it, are compared first, and the vectors of those items alone that are nearest by them (docs/decisions/0056).
The components are found by subspace iteration over a sample (Halko, Martinsson and Tropp 2011, algorithm 4.4), of the
vectors as they are: their mean is the first component.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.stores.arrays import Allocate, AppendOnlyArray

MAX_COMPARED = 20_000
"""Vectors up to which all are compared with a query."""
NEAREST = 2_048
"""Vectors of more than these that are compared with a query, those nearest by their components."""
COMPONENTS = 64
"""Components of a vector: .82 of the squared length of one of all-MiniLM-L6-v2."""
MAX_SAMPLED = 4_096
"""Vectors that the components are found from."""
ITERATIONS = 8


class VectorIndex:
    """One immutable version of the vectors of many items; another version shares what has not changed."""

    __slots__ = ("_components", "_lock", "_rows")

    def __init__(self, allocate: Allocate = np.empty) -> None:
        """Start empty; `allocate` returns the arrays that hold vectors."""
        self._rows: AppendOnlyArray[np.float32] = AppendOnlyArray(np.empty((0, 0), dtype=np.float32), allocate)
        self._components: _Components | None = None
        """Of as many vectors as there were when all were last compared."""
        self._lock = Lock()

    @property
    def rows(self) -> Vectors:
        """Return the vectors: float32 of shape (n, d), contiguous, one row an item; not to be written to."""
        return self._rows.rows

    @property
    def nbytes(self) -> int:
        """Return how many bytes of the process's memory the vectors take; those in a file take none."""
        return self._rows.nbytes + (self._components.nbytes if self._components else 0)

    def extended(self, vectors: Vectors) -> "VectorIndex":
        """Return a version with vectors added at the end."""
        return self._version(self._rows.extended(vectors), self._components)

    def replaced(self, positions: list[int], vectors: Vectors) -> "VectorIndex":
        """Return a version with other vectors at some positions."""
        components = self._components and self._components.replaced(positions, vectors)
        return self._version(self._rows.replaced(positions, vectors), components)

    def cosines(self, query: Vectors) -> NDArray[np.float32]:
        """Return the cosine of each vector with a unit vector of shape (d,), as an array of shape (n,).

        Of more than `MAX_COMPARED` vectors those of the `NEAREST` are exact, and the others estimates.
        """
        components = self._current_components()
        if components is None:
            cosines = self.cosines_at(slice(None), query)
            self._rows.release_pages()
        else:
            cosines = components.cosines(query)
            nearest = np.sort(np.argpartition(cosines, -NEAREST)[-NEAREST:])
            cosines[nearest] = self.cosines_at(nearest, query)
        return cosines

    def cosines_at(self, positions: Any, query: Vectors) -> NDArray[np.float32]:
        """Return the cosines of the vectors at some positions, an array or a slice, in that order."""
        # A product of a row at a time keeps to one thread: waking several costs 10 ms, for what takes 0.2 ms.
        cosines: NDArray[np.float32] = np.vecdot(self.rows[positions], query)
        return cosines

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restored` makes these vectors from."""
        components = self._current_components()
        if not components:
            return {"vectors": self.rows}
        named = {"components": components.rows.rows, "basis": components.basis, "found_in": components.found_in}
        return {"vectors": self.rows, **{name: np.asarray(value) for name, value in named.items()}}

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> "VectorIndex":
        """Return the vectors that had this state, in arrays as this empty version allocates them."""
        components = None
        if "components" in arrays:
            rows = AppendOnlyArray(arrays["components"])
            components = _Components(arrays["basis"], rows, int(arrays["found_in"]))
        return self._version(self._rows.extended(arrays["vectors"]), components)

    def _current_components(self) -> "_Components | None":
        """Return the components of all vectors; None where there are too few vectors, or too short ones."""
        rows = self.rows
        if len(rows) <= MAX_COMPARED or rows.shape[1] <= COMPONENTS:
            return None
        with self._lock:
            components = self._components
            if components is None or len(rows) >= 2 * components.found_in:
                components = _components_of(rows)
            self._components = components = components.extended(rows[len(components.rows) :])
        return components

    def _version(self, rows: AppendOnlyArray[np.float32], components: "_Components | None") -> "VectorIndex":
        version = VectorIndex.__new__(VectorIndex)
        version._rows, version._components, version._lock = rows, components, self._lock
        return version


@dataclass(frozen=True, eq=False)
class _Components:
    """The principal components of the first vectors of an index."""

    basis: Vectors
    """Orthonormal columns, of shape (d, COMPONENTS)."""
    rows: AppendOnlyArray[np.float32]
    """The components of each vector, of shape (n, COMPONENTS)."""
    found_in: int
    """How many vectors there were when the basis was found: of twice as many it is found anew, for they may differ."""

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.basis.nbytes

    def extended(self, vectors: Vectors) -> "_Components":
        return replace(self, rows=self.rows.extended(vectors @ self.basis)) if len(vectors) else self

    def replaced(self, positions: list[int], vectors: Vectors) -> "_Components":
        known = [row for row, position in enumerate(positions) if position < len(self.rows)]
        rows = self.rows.replaced([positions[row] for row in known], vectors[known] @ self.basis)
        return replace(self, rows=rows)

    def cosines(self, query: Vectors) -> NDArray[np.float32]:
        cosines: NDArray[np.float32] = np.vecdot(self.rows.rows, query @ self.basis)
        return cosines


def _components_of(vectors: Vectors) -> _Components:
    sample = vectors[:: 1 + len(vectors) // MAX_SAMPLED]
    basis = np.random.default_rng(0).standard_normal((vectors.shape[1], COMPONENTS), dtype=np.float32)
    for _ in range(ITERATIONS):
        basis, _ = np.linalg.qr(sample.T @ (sample @ basis))
    return _Components(basis, AppendOnlyArray(vectors @ basis), len(vectors))
