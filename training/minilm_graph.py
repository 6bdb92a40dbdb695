"""Write the network of all-MiniLM-L6-v2 as an ONNX graph without weights, where the package ships it.

python training/minilm_graph.py [--out FOLDER]

The weights are named as in `model.safetensors` and have its shapes, so that they can be mapped from that file as they
are. The network is BERT (Devlin et al. 2019, section 3) of six layers, with the mean over tokens and the scaling to
length 1 of Sentence-BERT (Reimers and Gurevych 2019, section 3). Only standard operators are used; ONNX Runtime fuses
them when it loads the graph. Needs the package `onnx`.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save_model

from langgraph_engram.embeddings.minilm_onnx import GRAPH_FILE, MASK, TOKENS, VECTORS
from langgraph_engram.embeddings.minilm_weights import DIMENSIONS, WEIGHTS

OPSET = 17
IR_VERSION = 8
LAYERS, HEADS, INNER = 6, 12, 1536
WORDS, POSITIONS, TYPES = 30522, 512, 2
EPSILON = 1e-12
MASKED = -1e9
"""Added to the attention that padding would get."""


class _Network:
    """The nodes and initializers of a graph, in order. Each method that adds a node returns its output's name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
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
        return self.add("Gemm", rows, weight, bias, transB=1)

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


def build() -> ModelProto:
    """Build the graph: tokens (int64) and mask (float32), of shape (texts, tokens), to unit vectors, a row a text."""
    network = _Network()
    shape = network.add("Shape", TOKENS)
    in_rows = network.constant([-1, DIMENSIONS])
    in_heads = network.add("Concat", shape, network.constant([HEADS, DIMENSIONS // HEADS]), axis=0)
    rows = network.normalized(network.add("Reshape", _embedded(network, shape), in_rows), "embeddings")
    padding = network.add("Sub", network.constant(1.0), network.add("Unsqueeze", MASK, network.constant([1, 2])))
    unseen = network.add("Mul", padding, network.constant(MASKED))
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        attended = network.add("Reshape", _attended(network, rows, name, in_heads, unseen), in_rows)
        output = network.linear(attended, f"{name}.attention.output.dense", DIMENSIONS, DIMENSIONS)
        rows = network.normalized(network.add("Add", output, rows), f"{name}.attention.output")
        inner = network.gelu(network.linear(rows, f"{name}.intermediate.dense", DIMENSIONS, INNER))
        output = network.linear(inner, f"{name}.output.dense", INNER, DIMENSIONS)
        rows = network.normalized(network.add("Add", output, rows), f"{name}.output")
    by_text = network.add("Concat", shape, network.constant([DIMENSIONS]), axis=0)
    first = network.constant([1])
    total = network.add("MatMul", network.add("Unsqueeze", MASK, first), network.add("Reshape", rows, by_text))
    vectors = network.add("LpNormalization", network.add("Squeeze", total, first), axis=1, p=2)
    network.nodes.append(helper.make_node("Identity", [vectors], [VECTORS]))
    graph = helper.make_graph(
        network.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info(TOKENS, TensorProto.INT64, ["texts", "tokens_of_longest"]),
            helper.make_tensor_value_info(MASK, TensorProto.FLOAT, ["texts", "tokens_of_longest"]),
        ],
        [helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["texts", DIMENSIONS])],
        network.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _embedded(network: _Network, shape: str) -> str:
    """Add up the vectors of words, positions and the type of a first text."""
    zero, one = network.constant([0]), network.constant([1])
    length = network.add("Squeeze", network.add("Gather", shape, one))
    positions = network.add("Range", network.add("Squeeze", zero), length, network.add("Squeeze", one))
    words = network.add("Gather", network.weight("embeddings.word_embeddings.weight", WORDS, DIMENSIONS), TOKENS)
    places = network.add(
        "Gather", network.weight("embeddings.position_embeddings.weight", POSITIONS, DIMENSIONS), positions
    )
    kind = network.add("Gather", network.weight("embeddings.token_type_embeddings.weight", TYPES, DIMENSIONS), zero)
    return network.add("Add", words, network.add("Add", places, kind))


def _attended(network: _Network, rows: str, name: str, in_heads: str, unseen: str) -> str:
    """Add the attention of a layer, all heads at once, of shape (texts, tokens, heads, dimensions of a head)."""

    def projected(part: str, order: list[int]) -> str:
        linear = network.linear(rows, f"{name}.attention.self.{part}", DIMENSIONS, DIMENSIONS)
        return network.add("Transpose", network.add("Reshape", linear, in_heads), perm=order)

    query, key, value = (
        projected("query", [0, 2, 1, 3]),
        projected("key", [0, 2, 3, 1]),
        projected("value", [0, 2, 1, 3]),
    )
    scale = network.constant(float((DIMENSIONS // HEADS) ** -0.5))
    scores = network.add("Mul", network.add("MatMul", query, key), scale)
    shares = network.add("Softmax", network.add("Add", scores, unseen), axis=-1)
    return network.add("Transpose", network.add("MatMul", shares, value), perm=[0, 2, 1, 3])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    package = Path(__file__).resolve().parent.parent / "langgraph_engram" / "embeddings"
    parser = ArgumentParser(description="Write the graph of all-MiniLM-L6-v2, without its weights.")
    parser.add_argument("--out", type=Path, default=package)
    path = parser.parse_args(arguments).out / GRAPH_FILE
    save_model(build(), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
