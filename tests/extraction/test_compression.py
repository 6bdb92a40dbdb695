"""What an extraction model reads may be shortened; what is stored and cited is not."""

import string
import sys
from types import SimpleNamespace

import pytest

from langgraph_engram.errors import MissingExtra
from langgraph_engram.memory import Memory
from langgraph_engram.presets import changed, preset
from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.schema import Scope
from langgraph_engram.testing import FakeModel

SAID = ("I moved to Oslo because my sister Anna lives there. Yes. It rains a lot, and I like it!", "Do you miss Rome?")
STAND_IN = """
class PromptCompressor:
    def __init__(self, name, device_map, model_config, use_llmlingua2):
        assert model_config == {"trust_remote_code": False}

    def compress_prompt(self, context, rate, use_context_level_filter, force_tokens):
        assert rate == 0.5
        return {"compressed_prompt_list": ["\\n".join(map(half, text.split("\\n"))) for text in context]}

def half(sentence):
    return " ".join(sentence.split()[::2]) if " " in sentence else "."
"""
"""A library that leaves out every second word, and all of a sentence of one word."""


@pytest.fixture(params=["stand-in", "library"])
def weights(request, monkeypatch, tmp_path):
    """The folder of a small untrained model, and the library that reads it where it is installed; else a stand-in."""
    folder = tmp_path / "bert-base-multilingual-cased"
    if request.param == "stand-in":
        monkeypatch.delitem(sys.modules, "llmlingua", raising=False)
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "llmlingua.py").write_text(STAND_IN)
        yield str(folder)
        sys.modules.pop("llmlingua", None)
        return
    pytest.importorskip("llmlingua")
    import tiktoken
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

    marks = [*string.ascii_letters, *string.punctuation]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *marks, *(f"##{mark}" for mark in marks)]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(vocabulary), num_labels=2, initializer_range=1.0, **sizes)
    BertForTokenClassification(config).save_pretrained(folder)
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda name: SimpleNamespace(encode=str.split))
    yield str(folder)


@pytest.mark.filterwarnings("default")
def test_a_model_reads_fewer_words_and_cites_whole_sentences(weights):
    """Sentences keep their numbers, turns their words; a sentence of which nothing is left is read as it was said."""
    facts = SourcedSentences(sentences=[SourcedSentence(sources=[1], content="Ana lives in Oslo.")])
    model = FakeModel([facts, SourcedSentences(sentences=[]), "Ana lives in Oslo."])
    settings = changed(preset("structmem"), "paper", compression=0.5, compression_model=weights)

    with Memory("memory:", model, encoder="hashing", settings=settings) as memory:
        memory.remember([{"speaker": "Ana", "text": text} for text in SAID], user_id="ana", close_session=True)
        stored = [turn.text for turn in memory.show("turns", "ana")]
        (record,) = memory.show("records", "ana")
        whole = memory.store.index(Scope(user_id="ana")).turns.get(record.source_turn_ids[0])

    read = model.asked[0].render()[-1].text
    assert all(f"[{number}]" in read for number in (1, 2, 3, 4))
    assert "[2] Yes." in read
    assert "I moved to Oslo because my sister Anna lives there." not in read
    assert stored == list(SAID)
    assert record.content == "Ana lives in Oslo."
    assert whole.text == SAID[0]


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    """When the memory is opened, not at its first message."""
    monkeypatch.setitem(sys.modules, "llmlingua", None)

    with pytest.raises(MissingExtra, match=r"langgraph-engram\[compression\]"):
        Memory("memory:", "rules", settings=changed(preset("dimmem"), "paper", compression=0.8))
