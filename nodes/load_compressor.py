"""Load what shortens sentences before any model is asked, so that nothing is paid for where it cannot be loaded.

By then the turns are stored and stand among what is pending: the run can be taken up again. Only a graph that
compresses has this step.
"""

from dataclasses import dataclass

from langgraph_engram.compression.base import Compressor
from langgraph_engram.pending import turns_to_extract
from langgraph_engram.state import WriteState

PROBE = "Hello."
"""A text compressed only to see that it can be done."""


@dataclass(frozen=True)
class LoadCompressor:
    """Try the compressor where `extract` will need it. Reads `turns`, `request`, `retried`; sets nothing."""

    compressor: Compressor

    def __call__(self, state: WriteState) -> WriteState:
        """Return nothing. Loading happens once a process.

        Raises:
            CompressorUnavailable: It cannot be loaded.
        """
        if turns_to_extract(state):
            self.compressor.compress([PROBE])
        return {}
