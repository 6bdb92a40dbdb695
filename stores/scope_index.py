"""Hold one scope's memories in the process, ready for exact search: shelves of things, vectors and postings."""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from numpy.typing import NDArray
import numpy as np

from langgraph_engram.encoder import Vectors
from langgraph_engram.schema import Boundary, Event, Record, Synthesis, Turn

class Shelf: ...
