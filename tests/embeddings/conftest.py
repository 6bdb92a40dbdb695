"""Both backends of all-MiniLM-L6-v2 once for all tests of the encoders, and machines without weights."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from langgraph_engram.embeddings import minilm
from langgraph_engram.embeddings.minilm import OnnxMiniLM, TorchMiniLM


@pytest.fixture(autouse=True)
def _each_loads_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the weights for each encoder, as a program does."""
    monkeypatch.setattr(minilm, "_open_network", minilm._open_network.__wrapped__)


@pytest.fixture(scope="module")
def onnx_encoder() -> OnnxMiniLM:
    """The ONNX backend."""
    return OnnxMiniLM()


@pytest.fixture(scope="module")
def torch_encoder() -> TorchMiniLM:
    """The torch backend."""
    return TorchMiniLM()


@pytest.fixture(scope="session")
def packaged_weights() -> Path:
    """The folder of the installed weights."""
    folder = minilm.installed_weights()
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
    monkeypatch.setattr(minilm, "PACKAGE", "no_package_of_this_name")
