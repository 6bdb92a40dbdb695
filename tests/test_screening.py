"""Secrets are known by their shape, and by policy neither stored nor saved."""

import json
from pathlib import Path

import pytest
from langgraph.store.base import PutOp

from langgraph_engram.errors import InvalidInput
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.screening import MASK, is_card_number, mask_secrets
from langgraph_engram.settings import ReceiveSettings, Settings

BODY = "aB3" * 12
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----"
KEYS = [
    f"sk-proj-{BODY}",
    f"sk-ant-api03-{BODY}_x-9",
    "AKIA" + "Q7" * 8,
    f"ghp_{BODY}",
    f"github_pat_{BODY}",
    f"glpat-{BODY}",
    f"xoxb-123456789012-{BODY}",
    "AIza" + "x9-_z" * 7,
    f"sk_live_{BODY}",
    f"hf_{BODY}",
    f"eyJ{BODY}.eyJ{BODY}.{BODY}",
    PEM,
    PEM.replace("RSA ", ""),
    "-----BEGIN OPENSSH PRIVATE KEY-----\n" + BODY,
]
CARDS = ["4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005", "6011111111111117", "2223003122003222"]
HARMLESS = [
    "4111 1111 1111 1112 has a wrong check digit.",
    "Call me on +49 151 2345 6789, or 0151 23456789.",
    "The ISBN is 978-3-16-148410-0.",
    "It was 1683544800000 milliseconds, and 41111111.11111111 seconds.",
    "sk-learn-has-many-classifiers-to-choose-from, ask-me-anything-2024-edition-now.",
    "We met at 12:30 on 2024-03-05, row 4111-1.",
    "A public key: -----BEGIN PUBLIC KEY----- abc -----END PUBLIC KEY-----",
    "eyJust.kidding.now",
]


@pytest.mark.parametrize("secret", [*KEYS, *CARDS])
def test_a_secret_is_masked_and_the_words_around_it_stay(secret):
    """Whatever mark stands beside it; twice is two."""
    text = f'Mine is "{secret}" (or {secret}, if that fails' if not secret.endswith(BODY) else f"Mine is {secret}"

    masked, count = mask_secrets(text)

    assert secret not in masked
    assert BODY not in masked
    assert masked.startswith("Mine is ")
    assert count == text.count(secret) == masked.count(MASK)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_numbers_and_words_stay(text):
    """Telephone numbers, dates, numbers of books and names in code are no secrets."""
    assert mask_secrets(text) == (text, 0)


def test_a_check_digit_is_right_for_one_digit_in_ten():
    """Of the ten last digits, one fits."""
    fitting = [digit for digit in range(10) if is_card_number(f"7992739871{digit}")]

    assert fitting == [3]


def test_masked_messages_are_known_when_they_are_sent_again(store, scope, to_remember):
    """What is stored is masked, captions too, and the request that the state keeps; each call counts."""
    receive = Receive(store, settings=ReceiveSettings(secrets="mask"))
    message = to_remember(f"My key is {KEYS[0]}, my card {CARDS[0]}.", "I ski.").messages
    shown = message[1].model_copy(update={"captions": [f"a card, {CARDS[1]}"]})

    first, again = (receive({"request": to_remember(message[0], shown)}) for _ in range(2))

    turns = store.index(scope).session_turns("s1")
    assert [turn.text for turn in turns] == [f"My key is {MASK}, my card {MASK}.", "I ski."]
    assert turns[1].captions == [f"a card, {MASK}"]
    assert [len(update["turns"]) for update in (first, again)] == [2, 0]
    assert [update["request"].masked for update in (first, again)] == [3, 3]
    assert KEYS[0] not in first["request"].model_dump_json()


def test_a_refused_message_leaves_the_others(store, scope, to_remember):
    """The message that holds a secret is not stored; what is said around it is, once."""
    receive = Receive(store, settings=ReceiveSettings(secrets="refuse"))
    said = ("Hi!", f"My key is {KEYS[0]}.", "I ski.")

    first, again = (receive({"request": to_remember(*said)}) for _ in range(2))

    assert [turn.text for turn in store.index(scope).session_turns("s1")] == ["Hi!", "I ski."]
    assert [(update["request"].refused, update["known_turns"]) for update in (first, again)] == [(1, 0), (1, 2)]


@pytest.mark.parametrize(("policy", "counts"), [("keep", (1, 0, 0)), ("mask", (1, 1, 0)), ("refuse", (0, 0, 1))])
def test_a_receipt_says_what_was_done_and_no_file_holds_the_secret(tmp_path, policy, counts):
    """Neither the store nor a checkpoint, unless secrets are kept."""
    settings = Settings(receive=ReceiveSettings(secrets=policy))
    with Memory(tmp_path / "store", "rules", encoder="hashing", settings=settings) as memory:
        receipt = memory.remember([{"speaker": "Ana", "text": f"My key is {KEYS[0]}."}], user_id="ana", session_id="s1")

    assert (receipt.stored_turns, receipt.masked, receipt.refused) == counts
    # A vector index that was never written begins with whatever was in the memory of the process.
    written = [path for path in Path(tmp_path).rglob("*") if path.is_file() and path.suffix != ".bin"]
    held = any(KEYS[0].encode() in path.read_bytes() for path in written)
    assert held == (policy == "keep")


@pytest.mark.parametrize("policy", ["keep", "mask", "refuse"])
def test_an_edit_is_screened_as_a_message_is(tmp_path, policy):
    """A secret in the new text of a record is kept, masked and counted, or refused with the record as it was."""
    settings = Settings(receive=ReceiveSettings(secrets=policy))
    with Memory(tmp_path / "s", "rules", encoder="hashing", settings=settings) as memory:
        memory.remember([{"speaker": "Ana", "text": "I keep bees."}], user_id="ana")
        (record,) = memory.show("records", "ana")
        if policy == "refuse":
            with pytest.raises(InvalidInput, match=r"receive\.secrets"):
                memory.update(record.record_id, f"My key is {KEYS[0]}.", user_id="ana")
            assert memory.show("records", "ana") == [record]
        else:
            receipt = memory.update(record.record_id, f"My key is {KEYS[0]}.", user_id="ana")
            assert receipt.masked == (policy == "mask")
            assert receipt.record.content == f"My key is {MASK if policy == 'mask' else KEYS[0]}."
    files = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert (KEYS[0].encode() in files) == (policy == "keep")


@pytest.mark.parametrize("policy", ["keep", "mask", "refuse"])
def test_values_of_the_store_are_screened_as_messages_are(tmp_path, monkeypatch, policy):
    """At any depth; of a batch with a refused value nothing is written, and the names of fields stay."""
    monkeypatch.setenv("ENGRAM_SETTINGS", json.dumps({"receive": {"secrets": policy}}))
    value = {"note": f"My key is {KEYS[0]}.", "cards": [{"number": CARDS[0], "tries": 3}]}
    with EngramStore(tmp_path / "s", encoder="hashing") as store:
        if policy == "refuse":
            with pytest.raises(InvalidInput, match=r"receive\.secrets"):
                store.batch([PutOp(("n",), "b", {"text": "harmless"}), PutOp(("n",), "a", value)])
            assert store.search(("n",)) == []
        else:
            store.put(("n",), "a", value)
            masked = {"note": f"My key is {MASK}.", "cards": [{"number": MASK, "tries": 3}]}
            assert store.get(("n",), "a").value == (value if policy == "keep" else masked)
    files = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert (KEYS[0].encode() in files) == (policy == "keep")


def test_what_is_masked_in_values_is_logged_with_its_count(monkeypatch, caplog):
    """A put has no receipt; nothing is logged where nothing was masked."""
    monkeypatch.setenv("ENGRAM_SETTINGS", json.dumps({"receive": {"secrets": "mask"}}))
    with EngramStore("memory:", encoder="hashing") as store:
        store.put(("n",), "a", {"note": "harmless"})
        assert caplog.messages == []
        store.put(("n",), "b", {"note": KEYS[0], "cards": [{"number": CARDS[0]}]})

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("2 secrets")
    assert KEYS[0] not in caplog.text


@pytest.mark.parametrize("secrets", ["mask", "refuse"])
def test_metadata_is_screened_as_well(secrets):
    """A key that a caller gives along is neither stored nor saved; what is no secret stays."""
    settings = Settings(receive=ReceiveSettings(secrets=secrets))
    with Memory("memory:", "rules", encoder="hashing", settings=settings) as memory:
        said = [{"role": "user", "content": "I ski."}]
        receipt = memory.remember(said, user_id="ana", metadata={"key": KEYS[0], "project": "atlas"})
        (turn,) = memory.show("turns", "ana")

    assert turn.metadata == {"key": MASK, "project": "atlas"}
    assert receipt.masked == 1
