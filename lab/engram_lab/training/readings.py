"""Learn the readings of all-MiniLM-L6-v2, and write them where the package ships them.

    python -m engram_lab.training.readings message|statement [--locomo FILE] [--longmemeval FILE ...] [--beam FILE ...]

The network is changed by matrices of low rank (LoRA, Hu et al. 2021), which are learned with a linear regression of
each label. Under `message` a message is also nearer to a statement that bears on it than to all others (InfoNCE, van
den Oord et al. 2018, Eq. 4); statements keep their plain vectors. The files give the questions and sentences that are
labelled in `engram_lab.cases`. Nobody who is held out is learned from. Each takes about twenty minutes on two cores.
"""

import argparse
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize
from torch.nn.utils import parametrize

from engram_lab.cases import read_bearing, read_pairs, read_people, sentences_of
from engram_lab.datasets import Conversation, read_beam, read_locomo, read_longmemeval
from engram_lab.training import SHIPPED
from engram_lab.training.extractor import LowRank, Training
from engram_lab.training.logistic import write
from engram_lab.training.minilm_graph import UPDATED
from engram_lab.training.sentences import Labelled, breadths, sorts, statements, voices
from langgraph_engram.embeddings.base import Reading
from langgraph_engram.embeddings.minilm import find_weights
from langgraph_engram.embeddings.readings import DOWN, RANK, UP
from langgraph_engram.extraction import lasting
from langgraph_engram.retrieval import queries

LOW_RANK = Training(rank=RANK, alpha=2 * RANK)
BATCH, RATE, WARM_UP, SEED = 32, 1e-3, 30, 0
"""Texts of a step; the rate of learning, and the steps in which it rises; then it falls to nothing."""
SORTED = 8
"""Batches among whose texts those of a like length stand together."""
MOST_TOKENS = 128
EPOCHS: dict[Reading, int] = {"message": 4, "statement": 3}
HEAD_RATE, HEAD_SCALE = 3e-3, 10.0
"""The regressions learn faster than the matrices, over vectors of this length."""
TEMPERATURE = 0.05
MOST_OTHERS = 4000
"""Sentences on which no message bears, beside the statements."""
BESIDE_WEIGHT = 0.3
"""The weight of a sentence that is only near to a message, among all with which its own statement is compared."""
PREFIXES: dict[Reading, tuple[str, ...]] = {"message": ("",), "statement": ("user: ", "Ana: ")}
"""What stands before a text: a name, as records have one."""
KINDS_WEIGHT, QUERIES_WEIGHT = 0.3, 0.5
"""The weights of the kinds of what lasts, and of queries beside what bears on them."""
DIGITS = 4


class Network:
    """all-MiniLM-L6-v2 in torch, with updates of its linear layers that can be learned."""

    def __init__(self) -> None:
        transformer = SentenceTransformer(str(find_weights(None)), device="cpu", local_files_only=True)
        self.tokenizer: Any = transformer.tokenizer
        self.layers: Any = transformer[0].auto_model
        self.updates: dict[str, LowRank] = {}

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors of shape (len(texts), 384)."""
        tokens = self.tokenizer(list(texts), padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
        is_token = tokens["attention_mask"].unsqueeze(-1)
        return normalize((self.layers(**tokens).last_hidden_state * is_token).sum(1), dim=1)

    def plain(self, texts: Sequence[str]) -> Tensor:
        """Return what `encode` does, of many texts, before anything is learned."""
        with torch.no_grad():
            return torch.cat([self.encode(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])

    def adapt(self) -> None:
        """Freeze the network, and add an update to the layers that readings change."""
        torch.manual_seed(SEED)
        self.layers.requires_grad_(False)
        for name, layer in list(self.layers.named_modules()):
            if name.startswith("encoder.layer.") and name.split(".", 3)[-1] in UPDATED:
                self.updates[name] = LowRank(layer.weight, LOW_RANK)
                parametrize.register_parametrization(layer, "weight", self.updates[name])
        self.layers.train()

    def factors(self) -> dict[str, np.ndarray]:
        """Return the factors of the updates, as the package reads them."""
        found: dict[str, np.ndarray] = {}
        for name, update in self.updates.items():
            found[name + DOWN] = (update.scale * update.down).detach().numpy().astype(np.float16)
            found[name + UP] = update.up.detach().numpy().astype(np.float16)
        return found


def learn(steps: Sequence[Callable[[], Tensor]], parameters: Sequence[dict[str, Any]]) -> None:
    """Take one step down each loss, in order."""
    optimizer = torch.optim.AdamW(parameters)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARM_UP) * (1 - step / len(steps))
    )
    losses = []
    for number, loss_of in enumerate(steps, start=1):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if number % 100 == 0:
            print(f"step {number} of {len(steps)}: loss {np.mean(losses[-100:]):.3f}", flush=True)


def batches(texts: Sequence[str], order: random.Random) -> Iterator[list[int]]:
    """Yield the indices of texts in batches, in a new order each time, with those of a like length together."""
    shuffled = order.sample(range(len(texts)), len(texts))
    for start in range(0, len(texts), BATCH * SORTED):
        near = sorted(shuffled[start : start + BATCH * SORTED], key=lambda at: len(texts[at]))
        yield from (near[at : at + BATCH] for at in range(0, len(near), BATCH))


class Heads:
    """A regression of each label, over the vectors of a network."""

    def __init__(self, network: Network, reading: Reading, labels: Iterable[str]) -> None:
        self.network, self.prefixes, self.order = network, PREFIXES[reading], random.Random(SEED)
        self.columns = {label: column for column, label in enumerate(labels)}
        self.linear = nn.Linear(network.layers.config.hidden_size, len(self.columns))

    def loss(self, examples: Sequence[Labelled]) -> Tensor:
        """Return the loss of a batch, summed over the groups of labels."""
        texts = [f"{self.order.choice(self.prefixes)}{example.text}" for example in examples]
        given = self.linear(HEAD_SCALE * self.network.encode(texts))
        losses = []
        for group in dict.fromkeys(chain.from_iterable(example.labels for example in examples)):
            known = [(at, example) for at, example in enumerate(examples) if group in example.labels]
            rows = given[[at for at, _ in known]][:, [self.columns[label] for label in group]]
            if len(group) == 1:
                has = torch.tensor([float(example.labels[group] in group) for _, example in known])
                each = binary_cross_entropy_with_logits(rows[:, 0], has, reduction="none")
            else:
                true = torch.tensor([group.index(example.labels[group]) for _, example in known])
                each = cross_entropy(rows, true, reduction="none") * GROUP_WEIGHTS.get(group, 1.0)
            losses.append((each * torch.tensor([example.weight for _, example in known])).sum() / len(examples))
        return torch.stack(losses).sum()

    def stored(self) -> dict[str, object]:
        """Return the regressions as the package reads them."""
        weights = HEAD_SCALE * self.linear.weight.detach().double().numpy()
        return {
            label: {
                "intercept": round(self.linear.bias[column].item(), DIGITS),
                "weights": [round(float(value), DIGITS) for value in weights[column]],
            }
            for label, column in self.columns.items()
        }


GROUP_WEIGHTS: dict[tuple[str, ...], float] = {
    queries.SORTS: QUERIES_WEIGHT,
    queries.BREADTHS: QUERIES_WEIGHT,
    lasting.LABELS[1:]: KINDS_WEIGHT,
}
LABELS: dict[Reading, tuple[str, ...]] = {
    "message": (*queries.SORTS, *queries.BREADTHS),
    "statement": (*lasting.LABELS, lasting.LASTS, lasting.PASSED_ON),
}
FILES: dict[Reading, str] = {
    "message": f"retrieval/{queries.WEIGHTS_FILE}",
    "statement": f"extraction/{lasting.WEIGHTS_FILE}",
}


def learn_reading(
    reading: Reading,
    examples: Sequence[Sequence[Labelled]],
    pairs: Sequence[tuple[str, str]] = (),
    near: Iterable[str] = (),
    others: Iterable[str] = (),
) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """Learn a reading; return the factors of its updates, and its regressions.

    Args:
        reading: Which one.
        examples: Labelled texts, each sequence in batches of its own.
        pairs: A message and a statement that bears on it.
        near: Sentences that are near to one of these messages, and do not bear on it.
        others: Sentences on which none bears.
    """
    network, order = Network(), random.Random(SEED)
    said = dict.fromkeys(statement for _, statement in pairs)
    beside = [text for text in dict.fromkeys(near) if text not in said]
    targets = [*said, *beside, *(text for text in dict.fromkeys(others) if text not in said)]
    vectors = network.plain(targets) if targets else None
    weights = torch.zeros(len(targets))
    weights[len(said) : len(said) + len(beside)] = float(np.log(BESIDE_WEIGHT))
    position = {statement: at for at, statement in enumerate(said)}
    network.adapt()
    heads = Heads(network, reading, LABELS[reading])

    def bearing(batch: Sequence[int]) -> Tensor:
        assert vectors is not None
        similar = network.encode([pairs[at][0] for at in batch]) @ vectors.T / TEMPERATURE + weights
        return cross_entropy(similar, torch.tensor([position[pairs[at][1]] for at in batch]))

    steps: list[Callable[[], Tensor]] = []
    for _ in range(EPOCHS[reading]):
        epoch = [partial(bearing, batch) for batch in batches([message for message, _ in pairs], order)]
        for group in examples:
            chosen = batches([example.text for example in group], order)
            epoch += [partial(heads.loss, [group[at] for at in batch]) for batch in chosen]
        steps += order.sample(epoch, len(epoch))
    updated = chain.from_iterable(update.parameters() for update in network.updates.values())
    learn(steps, [{"params": [*updated], "lr": RATE}, {"params": [*heads.linear.parameters()], "lr": HEAD_RATE}])
    return network.factors(), heads.stored()


def message_pairs() -> list[tuple[str, str]]:
    """Return messages with a statement that bears on each, of the pairs alone: what ranks is fitted to people."""
    pairs = [(pair["message"], pair["fact"]) for pair in read_pairs()]
    return pairs + [(message["text"], case["fact"]) for case in read_bearing() for message in case["messages"]]


def other_sentences() -> list[str]:
    """Return sentences of people on which no message bears."""
    said = [said.text for person in read_people("fit") for said in sentences_of(person)]
    return random.Random(SEED).sample(said, min(MOST_OTHERS, len(said)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Learn a reading of all-MiniLM-L6-v2.")
    parser.add_argument("reading", choices=EPOCHS)
    parser.add_argument("--locomo", type=Path, default=None)
    parser.add_argument("--longmemeval", type=Path, nargs="*", default=[])
    parser.add_argument("--beam", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=SHIPPED)
    chosen = parser.parse_args(arguments)
    talks: list[Conversation[Any]] = [*(read_locomo(chosen.locomo) if chosen.locomo else [])]
    talks += chain(*map(read_longmemeval, chosen.longmemeval))
    if chosen.reading == "message":
        asked = [asked.question for talk in chain(talks, *map(read_beam, chosen.beam)) for asked in talk.questions]
        near = [sentence for case in read_bearing() for sentence in case.get("beside", [])]
        factors, heads = learn_reading(
            "message", [[*sorts()], [*breadths(asked)]], message_pairs(), near, other_sentences()
        )
    else:
        sessions = [session for talk in talks for session in talk.sessions]
        factors, heads = learn_reading("statement", [[*statements(sessions)], [*voices()]])
    write(heads, chosen.out / FILES[chosen.reading], indent=0)
    with (chosen.out / "embeddings" / f"{chosen.reading}.npz").open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **factors)


if __name__ == "__main__":
    main()
