"""The networks that the package ships are what the script writes."""

from importlib.resources import files
from pathlib import Path

import onnx
import pytest

from engram_lab.training.minilm_graph import build, main
from langgraph_engram.embeddings.minilm import (
    GRAPH_FILE,
    READINGS_FILE,
    UNUSED,
    WEIGHTS,
    installed_weights,
    map_weights,
)
from langgraph_engram.embeddings.readings import stacked_factors


@pytest.mark.parametrize(("file", "updated"), [(GRAPH_FILE, False), (READINGS_FILE, True)])
def test_a_shipped_graph_is_the_written_one(file: str, updated: bool, tmp_path: Path) -> None:
    """A change of the script is a change of the file."""
    main(["--out", str(tmp_path)])

    assert onnx.load(tmp_path / file, load_external_data=False) == shipped(file) == build(updated=updated)


@pytest.mark.parametrize("file", [GRAPH_FILE, READINGS_FILE])
def test_its_weights_are_those_of_the_files(file: str) -> None:
    """Each by name and shape, none left out: what the graph does not use is known."""
    folder = installed_weights()
    assert folder is not None

    needed = {
        tensor.name: tuple(tensor.dims)
        for tensor in shipped(file).graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }

    given = map_weights(folder / WEIGHTS) | (stacked_factors() if file == READINGS_FILE else {})
    assert needed == {name: tensor.shape for name, tensor in given.items()}
    assert not any(name.startswith(UNUSED) for name in needed)


def shipped(file: str) -> onnx.ModelProto:
    return onnx.load_model_from_string(files("langgraph_engram.embeddings").joinpath(file).read_bytes())
