"""An extractor learns from the recorded answers of a stronger model that can be used."""

import json

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from engram_lab.replay import ReplayModel
from engram_lab.training.extractor import Training, encode, examples, main, train
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.testing import FakeModel
from tests.conftest import make_turn

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "


@pytest.fixture
def recording(tmp_path):
    """What a teacher answered to six questions of two sentences: two as asked, and those with faults."""
    answers = [[[1], [2]], [[1, 2]], [], [[]], [[3]], [[1], [7]]]
    extracted = [
        Extraction(records=[RecordDraft(sources=sources, content="Ana moved.") for sources in given])
        for given in answers
    ]
    questions = [ExtractRecords((make_turn(number, f"I moved to town {number}. It rains."),)) for number in range(6)]
    ReplayModel(tmp_path / "teacher.jsonl", FakeModel(extracted)).ask_all(questions)
    return tmp_path / "teacher.jsonl"


@pytest.fixture
def small(tmp_path):
    """The folder of a small untrained causal model that reads characters."""
    characters = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {character: number for number, character in enumerate(["</s>", *sorted(characters)])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    kept = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", chat_template=TEMPLATE)
    kept.save_pretrained(tmp_path / "small")
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "initializer_range": 0.1,
    }
    LlamaForCausalLM(LlamaConfig(vocab_size=len(vocabulary), **sizes)).save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def test_only_records_that_rest_on_their_prompt_are_learned(recording):
    """Not those of no sentence, or of one that was not shown; answers of which nothing is left are left out."""
    found = list(examples(recording))

    roles = [[message["role"] for message in example["messages"]] for example in found]
    answers = [json.loads(example["messages"][-1]["content"]) for example in found]
    assert roles == [["system", "user", "assistant"]] * 3
    assert [[draft["sources"] for draft in answer["records"]] for answer in answers] == [[[1], [2]], [[1, 2]], [[1]]]


def test_the_loss_falls_and_the_adapters_are_merged(recording, small, tmp_path):
    """The answer alone is learned; what is saved is a model like the one before, with other weights."""
    chats = list(examples(recording))

    losses = train(small, chats, tmp_path / "trained", Training(epochs=6, accumulated=1, rate=0.02))

    before, after = (LlamaForCausalLM.from_pretrained(at).state_dict() for at in (small, tmp_path / "trained"))
    tokenizer = PreTrainedTokenizerFast.from_pretrained(small)
    _, labels = encode(tokenizer, chats[0])
    changed = {name for name, weight in after.items() if not torch.equal(weight, before[name])}
    assert losses[-1] < losses[0] - 1
    assert before.keys() == after.keys()
    assert "model.layers.0.mlp.up_proj.weight" in changed
    assert "lm_head.weight" not in changed
    assert tokenizer.decode([label for label in labels if label >= 0]) == chats[0]["messages"][-1]["content"] + "</s>"


def test_a_command_writes_the_examples(recording, tmp_path, capsys):
    """JSON lines, without a model."""
    main([str(recording), "--out", str(tmp_path / "examples.jsonl")])

    lines = (tmp_path / "examples.jsonl").read_text().splitlines()
    assert [list(json.loads(line)) for line in lines] == [["messages"]] * 3
    assert capsys.readouterr().out.startswith("3 examples")
