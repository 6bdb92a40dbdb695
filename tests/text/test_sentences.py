"""Where the sentences of a chat end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_engram.text.sentences import (
    MOST_CHARACTERS,
    MOST_SENTENCES,
    ends_asking,
    question_at_end,
    split_sentences,
)

CASES = """
I read Dr. Seuss to Mrs. Lee. She smiled. | I read Dr. Seuss to Mrs. Lee. / She smiled.
See you at 7 p.m. I will cook. | See you at 7 p.m. / I will cook.
It costs $3.50. Really?! Yes. | It costs $3.50. / Really?! / Yes.
Well... maybe... I think so. | Well... maybe... / I think so.
I live in the U.S. and he in the U.K. They moved. | I live in the U.S. and he in the U.K. / They moved.
J. K. Rowling wrote it. J.R.R. Tolkien did not. | J. K. Rowling wrote it. / J.R.R. Tolkien did not.
Look at https://a.example/x?y=1.2. It is cool! | Look at https://a.example/x?y=1.2. / It is cool!
ok. then i slept. it was nice! was it? yes | ok. / then i slept. / it was nice! / was it? / yes
That's great.I'm in!Are you? | That's great. / I'm in! / Are you?
That was fun 😊 I loved it! 🎉🎉 You too? | That was fun 😊 / I loved it! 🎉🎉 / You too?
I ❤️ New York. Same! :) Bye | I ❤️ New York. / Same! :) / Bye
"What?" she asked. "Go!" He went. | "What?" she asked. / "Go!" / He went.
He said (twice!) that it works. (It does.) Good. | He said (twice!) that it works. / (It does.) / Good.
Take bus no. 5 there. No. I walk. | Take bus no. 5 there. / No. / I walk.
We met on the 3. of May. It rained. | We met on the 3. of May. / It rained.
I bought 12. Then we left. The answer is 7. Maybe 8. | I bought 12. / Then we left. / The answer is 7. / Maybe 8.
Wir heiraten am 22. Februar in Ulm. Komm doch! | Wir heiraten am 22. Februar in Ulm. / Komm doch!
Sie wohnt im 3. Stock. Zum 40. Geburtstag gab es Torte. | Sie wohnt im 3. Stock. / Zum 40. Geburtstag gab es Torte.
"""
OTHER_SCRIPTS = """
我住在里斯本。你呢?我很好！真的吗？是。 | 我住在里斯本。 / 你呢?我很好！ / 真的吗？ / 是。
「行こう！」と彼は言った。私は残った。 | 「行こう！」と彼は言った。 / 私は残った。
見て https://a.example/x。終わり。 | 見て https://a.example/x。 / 終わり。
هل أنت بخير؟ نعم. شكرا! | هل أنت بخير؟ / نعم. / شكرا!
कहाँ रहते हो? मैं पुणे में रहता हूँ। ठीक है॥ | कहाँ रहते हो? / मैं पुणे में रहता हूँ। / ठीक है॥
میں لاہور میں ہوں۔ آپ کہاں ہیں؟ | میں لاہور میں ہوں۔ / آپ کہاں ہیں؟
I said ok。Then we left！ | I said ok。 / Then we left！
"""


@pytest.mark.parametrize("text", ["Why?", "为什么？", "لماذا؟ "])
def test_a_question_ends_with_the_question_mark_of_its_script(text):
    """Whoever asks states nothing."""
    stated = text.replace("?", ".").replace("？", "。").replace("؟", ".")

    assert (question_at_end(text), ends_asking(text)) == (text.strip(), True)
    assert (question_at_end(stated), ends_asking(stated)) == ("", False)


@pytest.mark.parametrize("row", (CASES.strip() + OTHER_SCRIPTS).strip().splitlines())
def test_a_sentence_ends_where_it_ends(row):
    """Abbreviations, numbers, ordinals, addresses and initials end nothing; marks, emoji and forgotten spaces do.

    The end marks of other scripts need no space after them.
    """
    text, expected = (cell.strip() for cell in row.split(" | "))

    assert split_sentences(text) == expected.split(" / ")


def test_lines_and_bullets_are_sentences_of_their_own():
    """A list is not one sentence, and its numbers are not sentences."""
    text = "To do:\n1. Buy milk. Then eggs.\n2) Call Ana\n\n- sleep\r\n• eat"

    assert split_sentences(text) == ["To do:", "1. Buy milk.", "Then eggs.", "2) Call Ana", "- sleep", "• eat"]


def test_a_wrapped_line_goes_on():
    """A long line without an end mark continues in a line that starts in lower case."""
    first = "this long line was broken by a mailer in the very middle of what it says and"

    assert split_sentences(f"{first}\ngoes on here. Next one\nlast") == [f"{first} goes on here.", "Next one", "last"]


def test_a_run_on_is_split_where_it_hurts_least():
    """Semicolons first, then commas before a conjunction, and no part is too long."""
    clause = "we walked along the river and looked at the boats that went by without any hurry at all"
    text = f"{clause}; {clause}, and {clause}, {clause}; {clause}, but {clause}"

    parts = split_sentences(text)

    assert [part[-1] for part in parts[:-1]] == [";"] * (len(parts) - 1)
    assert len(parts) > 1
    assert all(len(part) <= MOST_CHARACTERS for part in parts)
    assert " ".join(parts) == text


@pytest.mark.parametrize("part", ["。[1", "Ok! ", "a\n", "- b\n\n", "Yes. No?\r\n"])
def test_a_text_of_very_many_sentences_is_cut_into_longer_ones(part):
    """About as many as may be, each as it was said; a long text of fewer keeps its short ones."""
    text, few = (part * times for times in (MOST_SENTENCES * 6, MOST_SENTENCES // 3))

    sentences = split_sentences(text)

    plain = " ".join(text.split())
    assert MOST_SENTENCES / 3 < len(sentences) < 2 * MOST_SENTENCES
    assert all(" ".join(sentence.split()) in plain for sentence in set(sentences))
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert set(split_sentences(few)) <= {*split_sentences(part * 2), "。"}


@given(st.one_of(st.text(), st.text(alphabet="aB1 .!?…\n\"'()-•😊:;,&@/", max_size=200)))
@settings(max_examples=400)
def test_nothing_is_lost_but_white_space(text):
    """The sentences together are the text, in order; none is empty or has white space around it."""
    sentences = split_sentences(text)

    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)
