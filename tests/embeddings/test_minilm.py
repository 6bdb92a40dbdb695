"""Where all-MiniLM-L6-v2 comes from, what is said where it cannot be had, and what holds for every backend.

One file, so that one process of a parallel run loads it.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from langgraph_engram.embeddings import minilm
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.embeddings.minilm import (
    BATCH,
    FILES,
    NO_TELEMETRY,
    REVISION,
    TOKENIZER,
    WEIGHTS,
    OnnxMiniLM,
    TorchMiniLM,
)
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


@pytest.mark.parametrize("kind", [TorchMiniLM, OnnxMiniLM])
@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_lacks_a_file_or_has_another_is_refused(
    is_there: bool, name: str, kind: type[OnnxMiniLM | TorchMiniLM], tmp_path: Path, packaged_weights: Path
) -> None:
    """Other weights or tokens would give other vectors under the same name; the error says what can be done."""
    folder = copy_of(packaged_weights, tmp_path / "weights", name)
    if is_there:
        (folder / name).write_bytes((packaged_weights / name).read_bytes() + b" ")

    problem = rf"{name}.* SHA-256 .* not .*langgraph-engram\[offline\]" if is_there else rf"no {name}"
    with pytest.raises(EncoderUnavailable, match=problem):
        kind(folder).encode(["hello"])


def test_a_changed_configuration_is_found_out(tmp_path: Path, packaged_weights: Path) -> None:
    """The right weights in a network of another shape give other vectors; the network that we ship is what it is."""
    folder = copy_of(packaged_weights, tmp_path / "weights", "config.json")
    configuration = (packaged_weights / "config.json").read_text()
    (folder / "config.json").write_text(configuration.replace('"num_hidden_layers": 6', '"num_hidden_layers": 5'))

    assert OnnxMiniLM(folder).encode(["hello"]).shape == (1, 384)
    with pytest.raises(EncoderUnavailable, match="does not give the vectors"):
        TorchMiniLM(folder).encode(["hello"])


@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize("kind", [OnnxMiniLM, TorchMiniLM])
def test_where_nothing_can_be_had_the_error_says_what_to_install(kind: type[OnnxMiniLM | TorchMiniLM]) -> None:
    """No package, no hub: building the encoder is free, and its first use tells."""
    encoder = kind()

    with pytest.raises(EncoderUnavailable, match=r"pip install \"langgraph-engram\[offline\]\""):
        encoder.encode(["hello"])


def test_where_onnx_runtime_is_missing_the_error_names_the_other_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """One import away."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(EncoderUnavailable, match=r"`pip install onnxruntime.*minilm:torch"):
        OnnxMiniLM().encode(["hello"])


@pytest.mark.usefixtures("no_weights")
def test_what_the_hub_left_here_before_is_used(
    empty_hub: Path, packaged_weights: Path, onnx_encoder: OnnxMiniLM
) -> None:
    """Weights that another program fetched serve as well as the package's; so does a folder, or its path as text."""
    snapshot = empty_hub / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / REVISION
    copy_of(packaged_weights, snapshot)

    assert minilm.find_weights(None) == snapshot
    for encoder in (OnnxMiniLM(), open_encoder(packaged_weights), open_encoder(str(packaged_weights))):
        assert encoder.name == "all-MiniLM-L6-v2-53aa5117"
        assert np.allclose(encoder.encode(["hello"]), onnx_encoder.encode(["hello"]), atol=1e-6)


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


def test_rows_are_float32_of_length_one(encoder: Encoder) -> None:
    """Whatever the text, so that a dot product is a cosine; no texts give no rows of as many dimensions."""
    vectors = encoder.encode(TEXTS)

    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    assert encoder.encode([]).shape == (0, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_order_is_kept(encoder: Encoder) -> None:
    """A text's row does not depend on the texts around it, though batches are sorted by length."""
    texts = [f"{'very ' * (number * 7 % 23)}happy person number {number}" for number in range(3 * BATCH + 1)]

    together = encoder.encode(texts)

    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() <= 1e-5


def test_what_follows_256_tokens_is_cut_off(encoder: Encoder) -> None:
    """254 words of one token are read, and the two markers."""
    read = " ".join(["dog"] * 254)

    vectors = encoder.encode([read, f"{read} violin sunset", " ".join(["dog"] * 253)])

    assert np.abs(vectors[0] - vectors[1]).max() <= 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-6
