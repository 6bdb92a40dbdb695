"""Write the network of all-MiniLM-L6-v2 as ONNX graphs without weights, where the package ships them.

python -m engram_lab.training.minilm_graph [--out FOLDER]

The weights are named as in `model.safetensors` and have its shapes, so that they can be mapped from that file as they
are. The network is BERT (Devlin et al. 2019, section 3) of six layers, with the mean over tokens and the scaling to
length 1 of Sentence-BERT (Reimers and Gurevych 2019, section 3). The tokens of all texts stand one after another, and
are spread out for the attention of each text to itself. Only standard operators are used; ONNX Runtime fuses them when
it loads the graph. The second graph adds the low-rank updates of the readings. Needs the package `onnx`.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save_model

from engram_lab.training import SHIPPED
from langgraph_engram.embeddings.minilm import (
    DIMENSIONS,
    GATE,
    GRAPH_FILE,
    HEADS,
    MEMBERS,
    PACK,
    PADDING,
    POSITIONS,
    READINGS_FILE,
    SPREAD,
    TOKENS,
    VECTORS,
    WEIGHTS,
)
from langgraph_engram.embeddings.readings import DOWN, RANK, READINGS, UP

OPSET = 17
IR_VERSION = 8
LAYERS, INNER = 6, 1536
OF_HEAD = DIMENSIONS // HEADS
WORDS, PLACES, TYPES = 30522, 512, 2
EPSILON = 1e-12
MASKED = -1e9
"""Added to the attention that padding would get."""
UPDATED = ("attention.self.query", "attention.self.value", "intermediate.dense", "output.dense")
"""The layers that readings change, by what follows their number."""
RANKS = RANK * len(READINGS)


class _Network:
    """The nodes and initializers of a graph, in order. Each method that adds a node returns its output's name."""

    def __init__(self, *, updated: bool) -> None:
        self.updated = updated
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node."""
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, value: float | list[int]) -> str:
        """Add a number of 32 bits, or a list of integers."""
        name = f"constant_{len(self.initializers)}"
        array = np.array(value, dtype=np.float32 if isinstance(value, float) else np.int64)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, name: str, *shape: int) -> str:
        """Name a tensor of the file of weights."""
        tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=WEIGHTS)
        self.initializers.append(tensor)
        return name

    def linear(self, rows: str, name: str, inputs: int, outputs: int) -> str:
        """Add a linear layer, whose weights are stored with a row for each output."""
        weight, bias = self.weight(f"{name}.weight", outputs, inputs), self.weight(f"{name}.bias", outputs)
        product = self.add("Gemm", rows, weight, bias, transB=1)
        if not self.updated or name.split(".", 3)[-1] not in UPDATED:
            return product
        down, up = self.weight(f"{name}{DOWN}", RANKS, inputs), self.weight(f"{name}{UP}", outputs, RANKS)
        gated = self.add("Mul", self.add("Gemm", rows, down, transB=1), GATE)
        return self.add("Gemm", gated, up, product, transB=1)

    def normalized(self, rows: str, name: str) -> str:
        """Add a layer normalization."""
        scale = self.weight(f"{name}.LayerNorm.weight", DIMENSIONS)
        return self.add(
            "LayerNormalization", rows, scale, self.weight(f"{name}.LayerNorm.bias", DIMENSIONS), epsilon=EPSILON
        )

    def gelu(self, rows: str) -> str:
        """Add x * (1 + erf(x / sqrt 2)) / 2, in the form that ONNX Runtime recognises."""
        error = self.add("Erf", self.add("Div", rows, self.constant(float(np.sqrt(2)))))
        return self.add("Mul", self.add("Mul", rows, self.add("Add", error, self.constant(1.0))), self.constant(0.5))


def build(*, updated: bool = False) -> ModelProto:
    """Build the graph, or that with updates: from what `pack` returns to unit vectors, a row a text."""
    network = _Network(updated=updated)
    in_rows, in_heads = network.constant([-1, DIMENSIONS]), network.constant([-1, OF_HEAD])
    rows = network.normalized(_embedded(network), "embeddings")
    padding = network.add("Unsqueeze", PADDING, network.constant([1, 2]))
    unseen = network.add("Mul", padding, network.constant(MASKED))
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        heads = network.add("Reshape", _attended(network, rows, name, in_heads, unseen), in_heads)
        attended = network.add("Reshape", network.add("Gather", heads, PACK), in_rows)
        output = network.linear(attended, f"{name}.attention.output.dense", DIMENSIONS, DIMENSIONS)
        rows = network.normalized(network.add("Add", output, rows), f"{name}.attention.output")
        inner = network.gelu(network.linear(rows, f"{name}.intermediate.dense", DIMENSIONS, INNER))
        output = network.linear(inner, f"{name}.output.dense", INNER, DIMENSIONS)
        rows = network.normalized(network.add("Add", output, rows), f"{name}.output")
    vectors = network.add("LpNormalization", network.add("MatMul", MEMBERS, rows), axis=1, p=2)
    network.nodes.append(helper.make_node("Identity", [vectors], [VECTORS]))
    inputs: dict[str, tuple[TensorProto.DataType, list[str | int]]] = {
        TOKENS: (TensorProto.INT64, ["tokens"]),
        POSITIONS: (TensorProto.INT64, ["tokens"]),
        SPREAD: (TensorProto.INT64, ["texts", HEADS, "tokens_of_longest"]),
        PACK: (TensorProto.INT64, ["tokens", HEADS]),
        PADDING: (TensorProto.FLOAT, ["texts", "tokens_of_longest"]),
        MEMBERS: (TensorProto.FLOAT, ["texts", "tokens"]),
    }
    if updated:
        inputs[GATE] = (TensorProto.FLOAT, [RANKS])
    graph = helper.make_graph(
        network.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(name, *described) for name, described in inputs.items()],
        [helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["texts", DIMENSIONS])],
        network.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _embedded(network: _Network) -> str:
    """Add up the vectors of words, positions and the type of a first text, a row a token."""
    words = network.add("Gather", network.weight("embeddings.word_embeddings.weight", WORDS, DIMENSIONS), TOKENS)
    places = network.add(
        "Gather", network.weight("embeddings.position_embeddings.weight", PLACES, DIMENSIONS), POSITIONS
    )
    types = network.weight("embeddings.token_type_embeddings.weight", TYPES, DIMENSIONS)
    kind = network.add("Gather", types, network.constant([0]))
    return network.add("Add", words, network.add("Add", places, kind))


def _attended(network: _Network, rows: str, name: str, in_heads: str, unseen: str) -> str:
    """Add the attention of a layer, all heads at once, of shape (texts, heads, tokens, dimensions of a head)."""

    def projected(part: str) -> str:
        linear = network.linear(rows, f"{name}.attention.self.{part}", DIMENSIONS, DIMENSIONS)
        return network.add("Gather", network.add("Reshape", linear, in_heads), SPREAD)

    query, key, value = (projected(part) for part in ("query", "key", "value"))
    scale = network.constant(float(OF_HEAD**-0.5))
    products = network.add("MatMul", query, network.add("Transpose", key, perm=[0, 1, 3, 2]))
    shares = network.add("Softmax", network.add("Add", network.add("Mul", products, scale), unseen), axis=-1)
    return network.add("MatMul", shares, value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Write the graphs of all-MiniLM-L6-v2, without its weights.")
    parser.add_argument("--out", type=Path, default=SHIPPED / "embeddings")
    folder = parser.parse_args(arguments).out
    for file, updated in ((GRAPH_FILE, False), (READINGS_FILE, True)):
        save_model(build(updated=updated), folder / file)
        print(f"wrote {folder / file}")


if __name__ == "__main__":
    main()
