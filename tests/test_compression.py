"""LLMLingua-2 leaves out words, and a memory whose settings name a rate asks a model about the others alone."""

import subprocess
import sys
from itertools import pairwise
from math import ceil
from pathlib import Path
from string import ascii_lowercase, digits

import pytest
from huggingface_hub import constants
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_engram import compression as llmlingua2
from langgraph_engram.compression import LLMLingua2, kept_indices, load_classifier, must_stay, shorten, split_at_words
from langgraph_engram.config import resolve_compressor
from langgraph_engram.errors import CompressorUnavailable, EngramError, InvalidSetting
from langgraph_engram.formats.messages import Session
from langgraph_engram.memory import Memory
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.settings import ExtractSettings, Settings
from langgraph_engram.state import Message, RememberRequest, WriteState
from langgraph_engram.testing import FakeModel

POSITIONS = 64


def save_classifier(folder: Path, labels: int = 2) -> Path:
    """Save a tiny BERT that predicts for each token whether it is kept, as the hub would give it."""
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast
    from transformers.utils import logging as progress

    progress.disable_progress_bar()
    pieces = [*ascii_lowercase, *digits, *".,?!'()[]"]
    markers = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = [*markers, *pieces, *(f"##{piece}" for piece in pieces)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=POSITIONS, num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = BertForTokenClassification(config)
    network.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    progress.enable_progress_bar()
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny classifier, which reads 64 tokens at once."""
    return save_classifier(tmp_path_factory.mktemp("tiny"))


FILLERS = st.sampled_from("really the lake and quite we camped by our tent i think it was nice".split())
ESSENTIAL = st.sampled_from("Oslo 7 [12] 2023-05-08 June friday not don't seven NASA Runa's cold?".split())
LIKELY = st.floats(0, 1)
RATES = st.floats(0.01, 1)


@st.composite
def texts(draw, words=FILLERS):
    """Words, and how likely each is to be kept."""
    said = draw(st.lists(words, max_size=40))
    return said, draw(st.lists(LIKELY, min_size=len(said), max_size=len(said)))


@given(texts(FILLERS | ESSENTIAL), RATES)
def test_what_is_kept_stands_in_order(said, rate):
    """The result is a subsequence of the words, and no larger than the rate and what must stay allow."""
    words, likely = said

    kept = kept_indices(words, likely, rate)

    assert kept == sorted(set(kept))
    assert set(kept) <= set(range(len(words)))
    assert len(kept) == max(ceil(rate * len(words)), sum(must_stay(words)))


@given(texts(), RATES)
def test_the_share_is_the_rate_up_to_one_word(said, rate):
    """Where no word must stay, at most one word more than the share is kept."""
    words, likely = said

    kept = kept_indices(words, likely, rate)

    assert rate * len(words) <= len(kept) < rate * len(words) + 1


@given(texts(), RATES)
def test_the_likeliest_are_kept(said, rate):
    """No word is left out that is likelier than one that is kept."""
    words, likely = said

    kept = kept_indices(words, likely, rate)

    left_out = set(range(len(words))) - set(kept)
    assert not kept or max((likely[index] for index in left_out), default=0) <= min(likely[index] for index in kept)


@given(texts(FILLERS | ESSENTIAL), RATES)
def test_essential_words_always_stay(said, rate):
    """Numbers, numbers in brackets, dates, names, negations and questions survive any rate."""
    words, likely = said
    essential = [
        word for word in words if not word.isalpha() or not word.islower() or word in ("not", "seven", "friday")
    ]

    read = shorten(" ".join(words), likely, rate).split()

    assert [word for word in read if word in essential] == essential


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Maren moved there", "Maren"),
        ("we met Will there", "Will"),
        ("Will moved there", "Will"),
        ("the US team won", "US"),
        ("we saw it last weekend (the weekend of 8 June 2024) there", "(the weekend of 8 June 2024)"),
        ("I never did like it", "never"),
        ("we couldn’t see it", "couldn’t"),
        ("it has (really quite) a few", "it"),
        ("was it cold?", "cold?"),
        ("The lake was nice", "The"),
    ],
)
def test_at_the_lowest_rate_essential_words_are_left(text, kept):
    """Without an essential word one word stays; a capital at the start of the text alone is no name."""
    likely = [0.5] * len(text.split())

    assert shorten(text, likely, 0.001) == kept


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_words_stays_as_it_is(text):
    """White space is not touched."""
    assert shorten(text, [], 0.5) == text


def test_a_text_that_would_say_nothing_stays_whole():
    """Where only a dash would be left, what was said is read."""
    assert shorten("well - then", [0.1, 0.9, 0.1], 0.3) == "well - then"


def test_each_word_needs_a_probability():
    """Probabilities of another text are refused."""
    with pytest.raises(ValueError, match="3 words have 2"):
        kept_indices(["a", "b", "c"], [0.1, 0.2], 0.5)


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 20))
def test_each_word_is_in_one_chunk_that_fits(sizes, limit):
    """Chunks follow one another, hold every word once, and fit unless a single word does not."""
    chunks = [list(range(len(sizes)))[part] for part in split_at_words(sizes, limit)]

    assert [index for chunk in chunks for index in chunk] == list(range(len(sizes)))
    assert all(chunks)
    for chunk in chunks:
        assert sum(sizes[index] for index in chunk) <= limit or len(chunk) == 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 20))
def test_a_chunk_ends_only_where_it_is_full(sizes, limit):
    """The first word of a chunk would not have fitted into the one before."""
    chunks = [list(range(len(sizes)))[part] for part in split_at_words(sizes, limit)]

    assert all(sum(sizes[index] for index in before) + sizes[after[0]] > limit for before, after in pairwise(chunks))


SAID = "we camped by the small lake with our dog and it was really very nice"

LONG = " ".join(f"then we walked along the river {number}" for number in range(20))


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
    import torch

    words = SAID.split()
    tokens = [classifier.tokenizer.convert_tokens_to_ids(classifier.tokenizer.tokenize(word)) for word in words]
    row = [
        classifier.tokenizer.cls_token_id,
        *(token for word in tokens for token in word),
        classifier.tokenizer.sep_token_id,
    ]
    with torch.inference_mode():
        logits = classifier.network(input_ids=torch.tensor([row])).logits[0]
    kept = iter((logits[:, 1].exp() / logits.exp().sum(dim=1)).tolist()[1:])
    expected = [sum(next(kept) for _ in word) / len(word) for word in tokens]

    found, _ = classifier.probabilities([words, ["lake"] * 8])

    assert found == pytest.approx(expected, abs=1e-5)
    assert len({round(value, 3) for value in expected}) > 5


def test_texts_do_not_touch_one_another(tiny):
    """A text reads the same alone and among others, empty and long ones too."""
    texts = [SAID, "", LONG, "  ", "nice", SAID]
    compressor = LLMLingua2(0.5, tiny)

    together = compressor.compress(texts)

    assert together == [compressor.compress([text])[0] for text in texts]
    assert together[1] == ""
    assert together[3] == "  "
    assert together[0] == together[5]


def test_many_texts_are_read_in_batches(tiny, monkeypatch):
    """What does not fit into one batch is read in further ones, and nothing changes."""
    texts = [f"{SAID} {number}" for number in range(7)]
    whole = LLMLingua2(0.5, tiny).compress(texts)
    monkeypatch.setattr(llmlingua2, "BATCH", 2)

    assert LLMLingua2(0.5, tiny).compress(texts) == whole


def test_a_long_text_is_read_to_its_end(tiny, classifier):
    """A text of four times the positions is cut at word ends, and shortened to the rate all the same."""
    (read,) = LLMLingua2(0.5, tiny).compress([LONG])

    assert len(classifier.chunks(LONG.split())) > 4
    assert len(read.split()) == len(LONG.split()) // 2
    assert [word for word in read.split() if word.isdigit()] == [str(number) for number in range(20)]


def test_a_word_longer_than_the_positions_is_read(tiny):
    """One word alone does not fit: its first tokens count, and nothing breaks."""
    (read,) = LLMLingua2(0.5, tiny).compress([f"we saw {'ab' * 40} there"])

    assert len(read.split()) == 2


def test_signs_no_tokenizer_knows_do_not_stop_it(tiny):
    """Lone surrogates, signs that give no token, and other scripts pass through."""
    texts = ["\ud83d is half a sign", "a \u200b b \x07 c", "今日は とても いい 天気", "…"]

    read = LLMLingua2(0.9, tiny).compress(texts)

    assert all(text.strip() for text in read)
    assert read[0].startswith("\ud83d") or "\ud83d" not in read[0]


def test_the_number_of_threads_is_left_as_it_was(tiny, monkeypatch):
    """Torch's global setting is restored."""
    import torch

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
        "import sys; from langgraph_engram.compression import LLMLingua2; LLMLingua2(0.5, 'no/such');"
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
    with pytest.raises(EngramError, match=rf"cannot read the compressor '{name}'.*extract.compress_model") as raised:
        LLMLingua2(0.5, name).compress([SAID])

    assert isinstance(raised.value, CompressorUnavailable)


def test_a_damaged_file_is_said(tmp_path):
    """Weights that cannot be read are an error of ours."""
    folder = save_classifier(tmp_path / "damaged")
    (folder / "model.safetensors").write_bytes(b"these are no weights")

    with pytest.raises(CompressorUnavailable, match="cannot read"):
        LLMLingua2(0.5, folder).compress([SAID])


def test_a_classifier_of_other_labels_is_refused(tmp_path):
    """A model that finds names instead would leave out the wrong words."""
    with pytest.raises(CompressorUnavailable, match="it has 9 labels"):
        LLMLingua2(0.5, save_classifier(tmp_path / "names", labels=9)).compress([SAID])


def test_a_model_without_a_trained_head_is_refused(classifier, tiny, tmp_path):
    """Weights of a plain BERT would be completed at random, and are not taken."""
    classifier.network.bert.save_pretrained(tmp_path)
    classifier.tokenizer.save_pretrained(tmp_path)

    with pytest.raises(CompressorUnavailable, match=r"no weights for .*classifier"):
        LLMLingua2(0.5, tmp_path).compress([SAID])


MESSAGES = [
    {"speaker": "Ana", "text": "We camped by the small lake and it was really very nice indeed."},
    {"speaker": "Ben", "text": "Our old house has a garden, and that is where we keep the bees."},
]


@pytest.fixture
def model():
    return FakeModel([lambda question: RULES[type(question)](question)] * 50)


@pytest.fixture
def compressing_memory(model):
    """Open a memory that compresses, to half of the words, by the model of a folder."""

    def opened(folder):
        extract = ExtractSettings(compress_rate=0.5, compress_model=str(folder))
        return Memory(store="memory:", encoder="hashing", model=model, settings=Settings(extract=extract))

    return opened


def test_what_is_asked_about_is_shorter_and_what_is_kept_is_not(compressing_memory, model, tiny):
    """The question holds half of the words; the turns and the records hold all of them."""
    with compressing_memory(tiny) as memory:
        memory.remember(MESSAGES, user_id="ana", session_id="s")

        (asked,) = [question for question in model.asked if question.name == "ExtractEvents"]
        text = str(asked.render()[-1].text)
        assert [len(text.split()) for text in asked.shown] == [7, 7]
        assert all(shown in text for shown in asked.shown)
        assert not any(message["text"] in text for message in MESSAGES)
        assert [turn.text for turn in memory.show("turns", "ana")] == [message["text"] for message in MESSAGES]
        assert MESSAGES[0]["text"] in memory.show("records", "ana")[0].content


def test_without_a_model_nothing_is_asked_and_nothing_lost(compressing_memory, model, tmp_path):
    """Turns are stored and pending when the compressor fails; once it is there, a retry does the rest."""
    with compressing_memory(tmp_path) as memory:
        with pytest.raises(CompressorUnavailable, match="cannot read"):
            memory.remember(MESSAGES, user_id="ana", session_id="s")
        assert (model.asked, memory.status("ana").turns) == ([], 2)
        assert memory.status("ana").pending

        save_classifier(tmp_path)
        receipt = memory.retry(user_id="ana")

        assert (receipt.pending, receipt.records) == (0, 2)
        assert not memory.status("ana").pending


def test_a_session_that_cannot_be_written_is_named(compressing_memory, tmp_path):
    """The error says which of the conversations it was."""
    session = Session("monday", [Message.model_validate(message) for message in MESSAGES])
    with (
        compressing_memory(tmp_path) as memory,
        pytest.raises(CompressorUnavailable, match=r"^session 'monday': .*cannot read"),
    ):
        memory.remember_sessions([session], user_id="ana")


def test_an_embedded_run_without_an_id_is_the_same_run_once_resumed(compressing_memory, tmp_path):
    """The graph around it stops where the compressor is missing, and goes on from there when it is there."""
    messages = [Message.model_validate(message) for message in MESSAGES]
    request = RememberRequest(messages=messages, user_id="ana", session_id="s")
    thread = {"configurable": {"thread_id": "a"}}
    with compressing_memory(tmp_path) as memory:
        graph = StateGraph(WriteState).add_node("remember", memory.write_graph).add_edge(START, "remember")
        app = graph.compile(checkpointer=InMemorySaver())
        with pytest.raises(CompressorUnavailable):
            app.invoke({"request": request}, thread)
        save_classifier(tmp_path)

        state = app.invoke(None, thread)

        assert (state["receipt"].stored_turns, state["receipt"].records) == (2, 2)
        assert not memory.status("ana").pending


def test_a_second_run_without_an_id_is_another_run(compressing_memory, tmp_path):
    """Two requests on one thread have two ids: the second does not take the turns of the first for its own."""
    save_classifier(tmp_path)
    thread = {"configurable": {"thread_id": "a"}}
    requests = [
        RememberRequest(messages=[Message.model_validate(message)], user_id="ana", session_id="s")
        for message in MESSAGES
    ]
    with compressing_memory(tmp_path) as memory:
        graph = StateGraph(WriteState).add_node("remember", memory.write_graph).add_edge(START, "remember")
        app = graph.compile(checkpointer=InMemorySaver())

        receipts = [app.invoke({"request": request}, thread)["receipt"] for request in requests]

    assert len({receipt.run_id for receipt in receipts}) == 2


@pytest.mark.parametrize("extract", [ExtractSettings(), ExtractSettings(strategy="none", compress_rate=0.8)])
def test_where_nothing_is_to_be_compressed_nothing_is_opened(extract):
    """Without a rate, or without a question, there is no compressor."""
    assert resolve_compressor(extract) is None
