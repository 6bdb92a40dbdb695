"""LLMLingua-2 leaves out words, but none that a reader needs."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_lab.compression import ESSENTIAL, CompressorUnavailable, LLMLingua2, shorten
from tests.tiny_networks import save_network

SAID = "we camped by the small lake with our dog and it was really very nice"
LONG = " ".join(f"then we walked along the river {number}" for number in range(20))
WORDS = st.sampled_from("really the lake we camped by Oslo 7 [12] 2023-05-08 June not don't NASA cold?".split())


def save_classifier(folder, labels=2):
    return save_network(folder, "BertForTokenClassification", labels)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return str(save_classifier(tmp_path_factory.mktemp("tiny")))


@given(st.lists(st.tuples(WORDS, st.floats(0, 1)), min_size=1, max_size=40), st.floats(0.01, 1))
def test_the_likeliest_and_the_essential_are_kept_in_order(said, rate):
    """A share of the words, or what must stay; none left out is likelier than one kept for its likelihood."""
    words, likely = [word for word, _ in said], [chance for _, chance in said]

    kept = shorten(" ".join(words), likely, rate).split()

    essential = [word for word in words if ESSENTIAL.search(word)]
    rest = iter(words)
    assert all(word in rest for word in kept)
    assert [word for word in kept if ESSENTIAL.search(word)] == essential
    assert len(kept) == max(ceil(rate * len(words)), len(essential))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("we met Will there", "Will"),
        ("we saw it (8 June 2024) there", "(8 June 2024)"),
        ("it was never like that", "never"),
        ("we couldn’t see it", "couldn’t"),
        ("was it cold?", "cold?"),
        ("the lake was nice", "the"),
        ("  ", "  "),
    ],
)
def test_at_the_lowest_rate_essential_words_are_left(text, kept):
    """Without an essential word one word stays, and white space as it is."""
    assert shorten(text, [0.5] * len(text.split()), 0.001) == kept


def test_texts_keep_their_share_and_do_not_touch_one_another(tiny):
    """A text reads the same alone and among others, empty, long and odd ones too, and is read to its end."""
    texts = [SAID, "", LONG, "…", "\ud83d is half a sign", f"we saw {'ab' * 40} there"]
    compressor = LLMLingua2(0.6, tiny)

    together = compressor.compress(texts)

    assert together == [compressor.compress([text])[0] for text in texts]
    assert len(together[0].split()) == 9
    assert together[1] == ""
    assert [word for word in together[2].split() if word.isdigit()] == [str(number) for number in range(20)]
    assert len(together[2].split()) == ceil(0.6 * len(LONG.split()))


def test_what_is_no_compressor_is_named(tiny, tmp_path):
    """No weights, damaged ones, or a model of another kind: the error says what to do."""
    damaged = save_classifier(tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"these are no weights")
    for folder in (tmp_path / "nothing", damaged):
        with pytest.raises(CompressorUnavailable, match=r"cannot read.*give its folder"):
            LLMLingua2(0.5, str(folder)).compress([SAID])
    others = [save_classifier(tmp_path / "names", labels=9), save_network(tmp_path / "plain", "BertModel", labels=2)]
    for folder in others:
        with pytest.raises(CompressorUnavailable, match="no LLMLingua-2 model"):
            LLMLingua2(0.5, str(folder)).compress([SAID])
