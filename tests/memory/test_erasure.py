"""Of a user who is forgotten no file holds a word, in whatever encoding, and the memories of others are as they were.

The words are planted wherever a caller can put one, and everything that the package itself writes is searched: the
store, its vector indexes, snapshots and checkpoints.
"""

import base64
import gzip
import io
import json
import zipfile
import zlib

import pytest

from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.memory import Memory
from langgraph_engram.settings import Settings, UpdateSettings
from langgraph_engram.stores import snapshots
from tests.failing import Failing

OTHERS = [f"user{number}" for number in range(4)]
STEMS = ("Quillhaven", "Brontavia", "Zephyrmoor", "Mistelgau", "Vesperine", "Oxlorne", "Tambrick", "Yarrowdel")
PLANTED = [f"{STEMS[number % 8][:4]}{number:02}{STEMS[number % 8][4:]}" for number in range(50)]
"""Words that occur nowhere else. Each stands in one place."""
QUESTIONS = ("Where do I live?", "What do I keep?", "What did I buy?", "Who is my neighbour?")


def remember_other(memory, user):
    number = OTHERS.index(user)
    said = [f"I live in Town{number}.", f"I keep {number + 2} goats.", f"I bought a kettle for {number + 20} euros."]
    messages = [{"speaker": user, "text": text} for text in [*said, f"My neighbour Kim{number} plays the cello."]]
    memory.remember(messages, user_id=user, session_id="s1", close_session=True)


def remember_planted(memory, encoder):
    """Put each word somewhere else: texts, names, ids, captions, code, tables, edits, questions, what is unfinished."""
    words = iter(PLANTED)
    for day in range(1, 9):
        said = [
            {"speaker": "Ana", "text": f"I live in {next(words)} now.", "said_at": f"2024-03-{day:02}T09:00:00Z"},
            {"speaker": f"Ben {next(words)}", "text": f"My neighbour {next(words)} plays the cello. é"},
        ]
        memory.remember(said, user_id="ana", session_id=f"day-{day}", close_session=True)
    odd = [
        {"speaker": "Ana", "text": "Look!", "captions": [f"a photo of {next(words)}"], "external_id": next(words)},
        {"role": "assistant", "content": f"# {next(words)}\n\n| a | b |\n|---|---|\n| {next(words)} | 2 |\n" * 40},
        {"role": "user", "content": f"```python\n{next(words)} = 1\n```\n\n" + "Some prose about it all. " * 60},
        {"role": "system", "content": f"You are {next(words)}."},
        {"role": "tool", "content": json.dumps({"found": next(words)})},
    ]
    memory.remember(odd, user_id="ana", session_id=next(words), close_session=True)
    for record in [record for record in memory.show("records", "ana") if record.status == "active"][:4]:
        if not record.is_chunk:
            memory.update(record.record_id, f"I live in {next(words)} now.", user_id="ana")
    for _ in range(3):
        memory.recall(f"Who is {next(words)}?", user_id="ana")
    memory.forget(user_id="ana", session_id="day-2")
    encoder.down = True
    with pytest.raises(EncoderUnavailable):
        memory.remember([{"speaker": "Ana", "text": f"My dog is {next(words)}."}], user_id="ana", session_id="x")
    encoder.down = False
    rest = " and ".join(words)
    memory.remember([{"speaker": "Ana", "text": f"I bought {rest}."}], user_id="ana", session_id="rest")


def contents(folder):
    """Yield the name of each file and its content: as it is, and as whatever compresses it holds."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield from unpacked(str(path.relative_to(folder)), path.read_bytes())


def unpacked(name, content):
    yield name, content
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                yield from unpacked(f"{name}/{member}", archive.read(member))
    if content[:2] == b"\x1f\x8b":
        yield from unpacked(f"{name}/unzipped", gzip.decompress(content))
    start = -1
    while (start := content.find(b"\x78", start + 1)) >= 0:  # a stream of zlib may begin anywhere
        if content[start + 1 : start + 2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
            try:
                yield f"{name}/zlib", zlib.decompressobj().decompress(content[start:])
            except zlib.error:
                continue


def forms(word):
    """Return a word as it may be written: in encodings, in Base64 at each of three offsets, and backwards in bytes."""
    plain = word.encode()
    shifted = [base64.b64encode(b"\0" * offset + plain)[4 if offset else 0 : -4] for offset in range(3)]
    return [plain, word.encode("utf-16-le"), word.encode("utf-16-be"), plain.hex().encode(), *shifted]


def found_in(folder):
    """Return which planted words are in which files."""
    sought = {form: word for word in PLANTED for form in forms(word)}
    found = []
    for name, content in contents(folder):
        found += [(word, name) for form, word in sought.items() if form in content]
    return found


def answers(memory):
    """Return what the others are answered, without what differs from run to run."""
    left_out = {"run_id", "usage", "step_seconds"}
    return [
        ask(question, user_id=user).model_dump_json(exclude=left_out)
        for user in OTHERS
        for question in QUESTIONS
        for ask in (memory.search, memory.recall)
    ]


@pytest.mark.parametrize("approve", [[], ["SUPERSEDE", "MERGE", "CONFLICT"]], ids=["done", "waiting, reopened"])
def test_of_a_forgotten_user_no_file_holds_a_word(tmp_path, monkeypatch, approve):
    """Fifty words are in files before and none is after, while the memory is open, closed, and written to again."""
    monkeypatch.setattr(snapshots, "MIN_ITEMS", 1)
    home, encoder = tmp_path / "home", Failing()

    def opened():
        return Memory(home / "s", "rules", encoder=encoder, settings=Settings(update=UpdateSettings(approve=approve)))

    def forget(memory):
        return answers(memory), found_in(home), memory.forget(user_id="ana"), found_in(home)

    with opened() as memory:
        for user in OTHERS[:2]:
            remember_other(memory, user)
        remember_planted(memory, encoder)
        for user in OTHERS[2:]:
            remember_other(memory, user)
        if not approve:
            before, planted, receipt, open_after = forget(memory)
    if approve:
        with opened() as memory:
            before, planted, receipt, open_after = forget(memory)
    closed_after = found_in(home)
    with opened() as memory:
        after = answers(memory)
        for number in range(12):
            memory.remember([{"speaker": "Kim", "text": f"I read page {number}."}], user_id="user0", session_id="more")
        findings = memory.doctor().findings

    assert len({word for word, _ in planted}) >= 40
    assert receipt.residue == []
    assert (open_after, closed_after, found_in(home)) == ([], [], [])
    assert after == before
    assert findings == []


def test_the_search_finds_what_is_hidden(tmp_path):
    """The test above can fail: a word is found in every form that it looks for."""
    word = PLANTED[0]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", word)
    written = [
        word.encode(), word.encode("utf-16"), base64.b64encode(f"a{word}bc".encode()), packed.getvalue(),
        gzip.compress(word.encode()), b"page" + zlib.compress(word.encode()) + b"rest",
    ]  # fmt: skip

    for number, content in enumerate(written):
        (tmp_path / "a").write_bytes(content)
        assert {found for found, _ in found_in(tmp_path)} == {word}, number
