"""A real token classifier of random weights is loaded from a folder, as one of the hub's would be, and asked."""

import subprocess
import sys

import pytest
import torch
from huggingface_hub import constants

from langgraph_engram.compression import llmlingua2
from langgraph_engram.compression.llmlingua2 import LLMLingua2, load_classifier
from langgraph_engram.errors import CompressorUnavailable, EngramError, InvalidSetting

SAID = "we camped by the small lake with our dog and it was really very nice"
LONG = " ".join(f"then we walked along the river {place}" for place in range(20))


@pytest.fixture(scope="module")
def classifier(tiny):
    return load_classifier(str(tiny), "cpu")


@pytest.fixture
def no_hub(tmp_path, monkeypatch):
    """A hub that cannot be reached and left nothing here before."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def test_a_text_keeps_its_share_of_words(tiny):
    """Nine of fifteen words are left, in their order."""
    (read,) = LLMLingua2(0.6, tiny).compress([SAID])

    words = iter(SAID.split())
    assert len(read.split()) == 9
    assert all(word in words for word in read.split())


def test_the_likeliest_words_are_those_the_network_names(tiny, classifier):
    """A word's probability is the mean of its tokens', by the second label, whatever stands beside it in a batch."""
    words = SAID.split()
    tokens = [classifier.tokenizer.convert_tokens_to_ids(classifier.tokenizer.tokenize(one)) for one in words]
    row = [
        classifier.tokenizer.cls_token_id,
        *(one for word in tokens for one in word),
        classifier.tokenizer.sep_token_id,
    ]
    with torch.inference_mode():
        logits = classifier.network(input_ids=torch.tensor([row])).logits[0]
    kept = iter((logits[:, 1].exp() / logits.exp().sum(dim=1)).tolist()[1:])
    expected = [sum(next(kept) for _ in word) / len(word) for word in tokens]

    found, _ = classifier.probabilities([words, ["lake"] * 8])

    assert found == pytest.approx(expected, abs=1e-5)
    assert len({round(one, 3) for one in expected}) > 5


def test_texts_do_not_touch_one_another(tiny):
    """A text reads the same alone and among others, empty and long ones too."""
    texts = [SAID, "", LONG, "  ", "nice", SAID]
    compressor = LLMLingua2(0.5, tiny)

    together = compressor.compress(texts)

    assert together == [compressor.compress([one])[0] for one in texts]
    assert together[1] == ""
    assert together[3] == "  "
    assert together[0] == together[5]


def test_many_texts_are_read_in_batches(tiny, monkeypatch):
    """What does not fit into one batch is read in further ones, and nothing changes."""
    texts = [f"{SAID} {place}" for place in range(7)]
    whole = LLMLingua2(0.5, tiny).compress(texts)
    monkeypatch.setattr(llmlingua2, "BATCH", 2)

    assert LLMLingua2(0.5, tiny).compress(texts) == whole


def test_a_long_text_is_read_to_its_end(tiny, classifier):
    """A text of four times the positions is cut at word ends, and shortened to the rate all the same."""
    (read,) = LLMLingua2(0.5, tiny).compress([LONG])

    assert len(classifier.chunks(LONG.split())) > 4
    assert len(read.split()) == len(LONG.split()) // 2
    assert [word for word in read.split() if word.isdigit()] == [str(place) for place in range(20)]


def test_a_word_longer_than_the_positions_is_read(tiny):
    """One word alone does not fit: its first tokens count, and nothing breaks."""
    (read,) = LLMLingua2(0.5, tiny).compress([f"we saw {'ab' * 40} there"])

    assert len(read.split()) == 2


def test_signs_no_tokenizer_knows_do_not_stop_it(tiny):
    """Half characters, signs that give no token, and other scripts pass through."""
    texts = ["\ud83d is half a sign", "a \u200b b \x07 c", "今日は とても いい 天気", "…"]

    read = LLMLingua2(0.9, tiny).compress(texts)

    assert all(one.strip() for one in read)
    assert read[0].startswith("\ud83d") or "\ud83d" not in read[0]


def test_the_number_of_threads_is_left_as_it_was(tiny, monkeypatch):
    """Torch's own setting is another's business."""
    before = torch.get_num_threads()
    set_to = []
    keep = torch.set_num_threads
    monkeypatch.setattr(torch, "set_num_threads", lambda count: (set_to.append(count), keep(count)))

    LLMLingua2(0.5, tiny).compress([SAID])

    assert set_to == [1, before]
    assert torch.get_num_threads() == before


def test_building_one_is_free():
    """Nothing heavy is imported, and nothing looked for, before the first text."""
    code = (
        "import sys; from langgraph_engram.compression.llmlingua2 import LLMLingua2; LLMLingua2(0.5, 'no/such');"
        "print({'torch', 'transformers', 'safetensors'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("rate", [0, -0.1, 1.01])
def test_a_rate_has_bounds(rate):
    """A share of nothing, or of more than all, is refused at once."""
    with pytest.raises(InvalidSetting, match="out of bounds"):
        LLMLingua2(rate)


@pytest.mark.parametrize("package", ["transformers", "torch"])
def test_a_missing_package_is_named(tiny, package, monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(CompressorUnavailable, match=rf"{package}.*langgraph-engram\[compress\]"):
        LLMLingua2(0.5, tiny).compress([SAID])


@pytest.mark.parametrize("name", ["no-such-owner/no-such-model", "./no-such-folder"])
def test_a_hub_out_of_reach_is_said(name, no_hub):
    """Where neither this machine nor the hub has the model, the error says how to go on."""
    with pytest.raises(EngramError, match=rf"cannot read the compressor '{name}'.*extract.compress_model") as told:
        LLMLingua2(0.5, name).compress([SAID])

    assert isinstance(told.value, CompressorUnavailable)


def test_a_damaged_file_is_said(save, tmp_path):
    """Weights that cannot be read are an error of ours."""
    folder = save(tmp_path / "damaged")
    (folder / "model.safetensors").write_bytes(b"these are no weights")

    with pytest.raises(CompressorUnavailable, match="cannot read"):
        LLMLingua2(0.5, folder).compress([SAID])


def test_a_classifier_of_other_labels_is_refused(save, tmp_path):
    """A model that finds names instead would leave out the wrong words."""
    with pytest.raises(CompressorUnavailable, match="it has 9 labels"):
        LLMLingua2(0.5, save(tmp_path / "names", labels=9)).compress([SAID])


def test_a_model_without_a_trained_head_is_refused(classifier, tiny, tmp_path):
    """Weights of a plain BERT would be completed at random, and are not taken."""
    classifier.network.bert.save_pretrained(tmp_path)
    classifier.tokenizer.save_pretrained(tmp_path)

    with pytest.raises(CompressorUnavailable, match=r"no weights for .*classifier"):
        LLMLingua2(0.5, tmp_path).compress([SAID])
