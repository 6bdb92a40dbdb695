"""The network that the package ships is what the script writes."""

from importlib.resources import files
from pathlib import Path

import onnx

from engram_lab.training.minilm_graph import build, main
from langgraph_engram.embeddings.minilm import GRAPH_FILE, UNUSED, WEIGHTS, installed_weights, map_weights


def test_the_shipped_graph_is_the_written_one(tmp_path: Path) -> None:
    """A change of the script is a change of the file."""
    main(["--out", str(tmp_path)])

    assert onnx.load(tmp_path / GRAPH_FILE, load_external_data=False) == shipped() == build()


def test_its_weights_are_those_of_the_file() -> None:
    """Each by name and shape, none left out: what the graph does not use is known."""
    folder = installed_weights()
    assert folder is not None

    needed = {
        tensor.name: tuple(tensor.dims)
        for tensor in shipped().graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }

    assert needed == {name: tensor.shape for name, tensor in map_weights(folder / WEIGHTS).items()}
    assert not any(name.startswith(UNUSED) for name in needed)


def shipped() -> onnx.ModelProto:
    return onnx.load_model_from_string(files("langgraph_engram.embeddings").joinpath(GRAPH_FILE).read_bytes())
