"""Export all-MiniLM-L6-v2 from its weights to an ONNX file. Imports torch: import this module only to export.

The graph gives one vector for each token, as the hub's own `onnx/model.onnx` does; `OnnxMiniLM` does the pooling.
"""

import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from langgraph_engram.embeddings.minilm_weights import WEIGHTS

OPSET = 17
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
AXES = {0: "batch", 1: "tokens"}
POSITION_IDS = "embeddings.position_ids"
"""A constant that older releases saved among the weights."""


class _HiddenStates(torch.nn.Module):
    """The encoder stack alone: three inputs by position, one output."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states, of shape (batch, tokens, dimensions)."""
        output = self.bert(input_ids=tokens, attention_mask=mask, token_type_ids=types)
        return torch.as_tensor(output.last_hidden_state)


def export(folder: Path, target: Path) -> None:
    """Write the model in `folder` to the ONNX file `target`: about 1 s after torch is imported.

    Raises:
        ImportError: The package `onnx` is missing.
        OSError: `target` cannot be written.
    """
    example = torch.ones((2, 8), dtype=torch.int64)
    with warnings.catch_warnings(), torch.no_grad():
        # The tracer warns of its age and of branches that these inputs never take; tests compare the file with torch.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _HiddenStates(_load(folder)).eval(),
            (example, example, example),
            str(target),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes=dict.fromkeys((*INPUTS, OUTPUT), AXES),
        )


def _load(folder: Path) -> BertModel:
    config = BertConfig.from_pretrained(folder, attn_implementation="eager")
    bert = BertModel(config)
    weights = load_file(folder / WEIGHTS)
    weights.pop(POSITION_IDS, None)
    bert.load_state_dict(weights)
    return bert
