"""Make the ONNX file of all-MiniLM-L6-v2 once for all tests of the encoders."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from langgraph_engram.embeddings import minilm_weights
from langgraph_engram.embeddings.minilm_onnx import GraphFile, OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM


@pytest.fixture(scope="session")
def graph_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that holds the ONNX file, made from the installed weights."""
    cache = tmp_path_factory.mktemp("graphs")
    GraphFile(cache=cache).export()
    return cache


@pytest.fixture(scope="module")
def onnx_encoder(graph_cache: Path) -> OnnxMiniLM:
    """The ONNX backend, two batches side by side."""
    return OnnxMiniLM(cache=graph_cache, threads=2)


@pytest.fixture(scope="module")
def torch_encoder() -> TorchMiniLM:
    """The torch backend."""
    return TorchMiniLM()


@pytest.fixture(scope="session")
def packaged_weights() -> Path:
    """The folder of the installed weights."""
    folder = minilm_weights.weights_folder(None)
    assert folder is not None
    return folder


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub that cannot be reached and left nothing here before. Gives its empty cache."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


@pytest.fixture
def no_weights(empty_hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the package of weights and without a hub."""
    monkeypatch.setattr(minilm_weights, "PACKAGE", "no_package_of_this_name")
