"""Tokens lead to principals, and no incomplete configuration lets anybody in."""

import hmac
import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.errors import InvalidSetting
from langgraph_engram.integrations.identity import Principal, principal_of
from langgraph_engram.server.auth import identity_of, owner_of, store_label
from langgraph_engram.server.credentials import is_local_request, is_loopback, read_credentials

NAMES = st.text(min_size=1, max_size=12)
PRINCIPALS = st.builds(Principal, tenant=NAMES, user_id=NAMES)
SECRET = "a secret that is long enough for HS256"
ANA = Principal(user_id="ana")


def signed(key=SECRET, algorithm="HS256", **claims):
    return jwt.encode({"exp": datetime.now(UTC) + timedelta(minutes=5), "sub": "ana", **claims}, key, algorithm)


def test_a_table_names_users_and_their_tenants():
    """As a name alone, or with the tenant; without one, the server accepts requests from this machine only."""
    table = {"one": "ana", "two": {"user_id": "ben", "tenant": "acme"}}

    known = read_credentials({"ENGRAM_TOKENS": json.dumps(table)})

    assert known.configured
    assert not read_credentials({"ENGRAM_TOKENS": "", "ENGRAM_JWT_SECRET": ""}).configured
    assert known.principal("one") == ANA
    assert known.principal("two") == Principal(user_id="ben", tenant="acme")
    assert [known.principal(token) for token in ("three", "", "on", "one ", "\udcff")] == [None] * 5


def test_a_token_of_any_size_costs_little():
    """What is longer than any token is not looked at, though it may be signed."""
    known = read_credentials({"ENGRAM_JWT_SECRET": SECRET})

    assert known.principal(signed(note="x" * 1000)) == ANA
    assert known.principal(signed(note="x" * 200_000)) is None


@pytest.mark.parametrize(
    "environment",
    [
        {"ENGRAM_TOKENS": "ana"},
        {"ENGRAM_TOKENS": "{}"},
        {"ENGRAM_TOKENS": '["ana"]'},
        {"ENGRAM_TOKENS": '{"": "ana"}'},
        {"ENGRAM_TOKENS": '{"one": ""}'},
        {"ENGRAM_TOKENS": '{"one": 1}'},
        {"ENGRAM_TOKENS": '{"one": {"tenant": "acme"}}'},
        {"ENGRAM_JWT_SECRET": SECRET, "ENGRAM_JWT_PUBLIC_KEY": "x"},
        {"ENGRAM_JWT_PUBLIC_KEY": "/nowhere/key.pem"},
    ],
)
def test_an_incomplete_configuration_is_refused(environment):
    """A server that should have tokens never starts without them."""
    with pytest.raises(InvalidSetting, match=r"ENGRAM_"):
        read_credentials(environment)


def test_json_web_tokens_need_the_configured_audience_and_issuer():
    """Tokens for others, or of others, are refused."""
    known = read_credentials({"ENGRAM_JWT_SECRET": SECRET, "ENGRAM_JWT_AUDIENCE": "engram", "ENGRAM_JWT_ISSUER": "us"})

    assert known.principal(signed(aud="engram", iss="us", tenant="acme")) == Principal(user_id="ana", tenant="acme")
    assert known.principal(signed(aud="other", iss="us")) is None
    assert known.principal(signed(aud="engram", iss="them")) is None
    assert known.principal(signed()) is None
    assert known.principal("no token at all") is None


@pytest.mark.parametrize(
    "token",
    [
        signed(exp=1_000_000_000),
        signed("another secret that is long enough for HS256"),
        signed(sub=""),
        jwt.encode({"exp": 9_999_999_999}, SECRET, "HS256"),
        jwt.encode({"sub": "ana", "exp": 9_999_999_999}, None, algorithm="none"),
    ],
    ids=["expired", "of another", "empty", "of nobody", "unsigned"],
)
def test_a_json_web_token_that_is_not_valid_is_nobody_s(token):
    assert read_credentials({"ENGRAM_JWT_SECRET": SECRET}).principal(token) is None


def test_a_public_key_is_no_secret():
    """What was signed with the public key as a secret is worth nothing."""
    private = ec.generate_private_key(ec.SECP256R1())
    encoding, kind = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    public = private.public_key().public_bytes(encoding, kind).decode()
    header, claims = ('{"alg":"HS256"}', '{"sub":"ana","exp":9999999999}')
    signing = b".".join(urlsafe_b64encode(part.encode()).rstrip(b"=") for part in (header, claims))
    forged = signing + b"." + urlsafe_b64encode(hmac.digest(public.encode(), signing, "sha256")).rstrip(b"=")

    known = read_credentials({"ENGRAM_JWT_PUBLIC_KEY": public})

    assert known.principal(signed(private, "ES256")) == ANA
    assert known.principal(signed(SECRET)) is None
    assert known.principal(forged.decode()) is None


@given(first=PRINCIPALS, second=PRINCIPALS)
def test_principals_have_unique_keys_labels_and_identities(first, second):
    """And a label is valid in a namespace."""
    same = first == second

    assert (owner_of(first) == owner_of(second)) == same
    assert (store_label(first) == store_label(second)) == same
    assert (identity_of(first) == identity_of(second)) == same
    assert "." not in store_label(first)
    assert store_label(first)


def test_a_user_of_another_handler_is_known_by_identity():
    """Whoever brings a handler of their own needs no fields of ours."""
    assert principal_of(SimpleNamespace(identity="ana", is_authenticated=True)) == ANA
    assert principal_of(None) is None
    assert identity_of(Principal(user_id="ana", tenant="acme")) == "acme/ana"


def test_which_hosts_are_this_machine():
    own = ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"]
    others = ["0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com", ""]

    assert [is_loopback(host) for host in (*own, *others)] == [True] * len(own) + [False] * len(others)


@pytest.mark.parametrize(
    ("client", "host", "origin", "accepted"),
    [
        ("127.0.0.1", "127.0.0.1:2024", None, True),
        ("127.0.0.1", "localhost", "http://localhost:3000", True),
        ("::1", "[::1]:2024", None, True),
        ("127.0.0.1", "127.0.0.1", "https://smith.langchain.com", True),
        ("10.0.0.7", "127.0.0.1", None, False),
        ("127.0.0.1", "memory.example.com", None, False),
        ("127.0.0.1", "", None, False),
        ("127.0.0.1", "127.0.0.1", "https://example.com", False),
        ("127.0.0.1", "127.0.0.1", "http://smith.langchain.com", False),
        ("127.0.0.1", "127.0.0.1", "null", False),
    ],
)
def test_which_requests_count_as_local(client, host, origin, accepted):
    """This machine, called by its own name, by a program, its own pages or Studio's."""
    headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])]

    assert is_local_request({"client": (client, 1), "headers": headers}) == accepted
