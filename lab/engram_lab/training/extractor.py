"""Learn an extractor from what a stronger model extracted (DimMem section 3.5, Eq. 10).

A recording (`engram_lab.replay`) becomes chat examples: the rules, the numbered sentences, the teacher's records. As in
the paper, what is malformed, empty or at odds with the schema is left out; so is a record of a sentence that was not
shown. The lines (`messages`) are what trainers of chat models take. A causal model of Hugging Face is trained on
them where one is named: low-rank adapters on its linear layers, merged into it at the end.

    python -m engram_lab.training.extractor RECORDING --out examples.jsonl
    python -m engram_lab.training.extractor RECORDING --out examples.jsonl --model FOLDER --to FOLDER
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, JsonValue, ValidationError
from torch import Tensor, nn
from torch.nn.utils import parametrize

from engram_lab.replay import RecordedAnswer, read_recording
from langgraph_engram.errors import InvalidInput
from langgraph_engram.extraction.extractor import Reading
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import ExtractLasting, ExtractRecords
from langgraph_engram.prompts.extract_relations import ExtractRelations

QUESTIONS = (ExtractRecords, ExtractLasting, ExtractFacts, ExtractRelations, ExtractKeySentences)
SHAPES: Mapping[str, type[Reading]] = {question.__name__: question.answer_type() for question in QUESTIONS}
"""The answers that records are made of, by the name of their question."""
NUMBER = re.compile(r"\[(\d+)\]")
IGNORED = -100
"""The label of a token that is not learned: what stands in the prompt."""
Example = dict[str, list[dict[str, JsonValue]]]


@dataclass(frozen=True)
class Training:
    """How an extractor is trained; the defaults are DimMem's (Table 11)."""

    epochs: int = 2
    accumulated: int = 2
    """Examples of one step."""
    rate: float = 5e-5
    rank: int = 16
    alpha: float = 32
    most_tokens: int = 12_288
    """Longer examples are left out."""


class LowRank(nn.Module):
    """Add a matrix of low rank to a weight that stays as it is (LoRA)."""

    def __init__(self, weight: Tensor, training: Training) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.down = nn.Parameter(torch.randn(training.rank, columns, device=weight.device) / sqrt(columns))
        self.up = nn.Parameter(torch.zeros(rows, training.rank, device=weight.device))
        self.scale = training.alpha / training.rank

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight that is used."""
        return weight + (self.scale * self.up @ self.down).to(weight.dtype)


def examples(recording: Path) -> Iterator[Example]:
    """Yield a chat example for each answer that has records which can be learned."""
    for line in read_recording(recording):
        if line.prompt and (drafts := sound_drafts(line)):
            (name,) = SHAPES[line.question].model_fields
            answer = json.dumps({name: [draft.model_dump(mode="json") for draft in drafts]}, ensure_ascii=False)
            yield {"messages": [*line.prompt, {"role": "assistant", "content": answer}]}


def sound_drafts(line: RecordedAnswer) -> list[BaseModel]:
    """Return the records of an answer that rest on sentences of its prompt; none of what is no answer of records."""
    shown = {int(number) for number in NUMBER.findall(str(line.prompt[-1]["content"]))}
    try:
        drafts = SHAPES[line.question].model_validate(line.answer).drafts
    except (KeyError, ValidationError):
        return []
    return [draft for draft in drafts if draft.sources and shown.issuperset(draft.sources)]


def train(model: Path, chats: Sequence[Example], to: Path, training: Training = Training()) -> list[float]:
    """Train a causal language model on chats, and save it; return the mean loss of each epoch."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(model)
    network: Any = AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
    network.to(device)
    adapted = adapt(network, training)
    encoded = [pair for chat in chats if len((pair := encode(tokenizer, chat))[0]) <= training.most_tokens]
    if not encoded:
        raise InvalidInput(f"nothing to learn from: no example of at most {training.most_tokens} tokens")
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer, order, losses = torch.optim.AdamW(learned, lr=training.rate), random.Random(0), []
    network.train()
    for _ in range(training.epochs):
        order.shuffle(encoded)
        total = 0.0
        for number, (tokens, labels) in enumerate(encoded, start=1):
            given = torch.tensor([tokens, labels], device=device)
            loss = network(input_ids=given[:1], labels=given[1:]).loss
            (loss / training.accumulated).backward()
            total += float(loss.detach())
            if number % training.accumulated == 0 or number == len(encoded):
                optimizer.step()
                optimizer.zero_grad()
        losses.append(total / len(encoded))
    for layer in adapted:
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
    network.save_pretrained(to)
    tokenizer.save_pretrained(to)
    return losses


def adapt(network: Any, training: Training) -> list[nn.Module]:
    """Freeze a model, and put adapters on its linear layers but the one that chooses the next token; return these."""
    network.requires_grad_(False)
    if network.device.type == "cuda":  # a window is long: what can be computed again is not kept
        network.gradient_checkpointing_enable({"use_reentrant": False})
    last = network.get_output_embeddings()
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear) and layer is not last]
    for layer in layers:
        parametrize.register_parametrization(layer, "weight", LowRank(layer.weight, training))
    return [*layers]


def encode(tokenizer: Any, chat: Example) -> tuple[list[int], list[int]]:
    """Return the tokens of a chat and their labels: the answer alone is learned."""
    *prompt, answer = chat["messages"]
    options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
    asked = tokenizer(tokenizer.apply_chat_template(prompt, **options), add_special_tokens=False).input_ids
    said = tokenizer(f"{answer['content']}{tokenizer.eos_token}", add_special_tokens=False).input_ids
    return [*asked, *said], [*[IGNORED] * len(asked), *said]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the examples of recordings, and train a model on them where one is named."""
    parser = argparse.ArgumentParser(description="Learn an extractor from recordings of a stronger model.")
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True, help="the file of the examples")
    parser.add_argument("--model", type=Path, help="the folder of the causal model to train")
    parser.add_argument("--to", type=Path, default=Path("extractor"), help="the folder of the trained one")
    chosen = parser.parse_args(arguments)
    chats = [example for recording in chosen.recordings for example in examples(recording)]
    chosen.out.write_text("".join(json.dumps(chat, ensure_ascii=False) + "\n" for chat in chats), encoding="utf-8")
    print(f"{len(chats)} examples in {chosen.out}")
    if chosen.model:
        losses = train(chosen.model, chats, chosen.to)
        print(f"loss by epoch: {', '.join(f'{loss:.3f}' for loss in losses)}; the model is in {chosen.to}")


if __name__ == "__main__":
    main()
