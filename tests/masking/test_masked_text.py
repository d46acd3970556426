"""Secrets nobody told us of, in running text: found by shape and by name, and ordinary text stays as it is."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.masking.entries import masked_entry
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.texts import mask_text

ALPHANUMERIC = string.ascii_letters + string.digits
surroundings = st.text(max_size=60)
# What a machine makes up; the digit makes sure that it is no word.
made_up = st.text(ALPHANUMERIC, min_size=11, max_size=40).map(lambda text: f"{text}7")

LENGTHS = {
    "ghp_": 36,
    "github_pat_": 60,
    "glpat-": 20,
    "xoxb-": 40,
    "sk-ant-": 40,
    "sk_live_": 24,
    "AIza": 35,
    "ntn_": 46,
    "hf_": 34,
    "npm_": 36,
    "lin_api_": 40,
}
keys = st.sampled_from(sorted(LENGTHS)).flatmap(
    lambda start: st.text(ALPHANUMERIC, min_size=LENGTHS[start], max_size=LENGTHS[start]).map(
        lambda rest: f"{start}1{rest[1:]}"
    )
)
NAMES = """
    token TOKEN GITHUB_TOKEN accessToken password db.password PGPASSWORD client-secret apiKey api_key X-Api-Key
    AWS_SECRET_ACCESS_KEY passphrase credentials private_key jwt
"""
names = st.sampled_from(NAMES.split())
WAYS_TO_NAME = [
    "{name}={value}",
    "{name} = '{value}'",
    "{name}: {value}",
    '"{name}": "{value}"',
    "{{'{name}': '{value}'}}",
    '{{\\"{name}\\":\\"{value}\\"}}',
    "--{name}={value}",
    "--{name} {value}",
    "https://example.com/x?a=1&{name}={value}&b=2",
    "using {name} {value} now",
    "error: {name}={value}; giving up",
]


@given(
    keys, st.sampled_from(["", " ", '"', "\n", "(", ": ", "=", "/"]), st.sampled_from(["", " ", '"', ")", ".", "/x"])
)
def test_a_key_of_a_well_known_service_is_recognised_by_its_shape(key, before, after):
    assert key[12:] not in mask_text(f"before {before}{key}{after} after")


@given(st.text("0123456789abcdef", min_size=10, max_size=10), st.text(ALPHANUMERIC + "_-", min_size=43, max_size=43))
def test_a_token_of_our_own_is_recognised_by_its_shape(id, rest):
    assert rest not in mask_text(f"before tc_{id}_{rest} after")


@given(made_up, names, st.sampled_from(WAYS_TO_NAME), surroundings)
def test_a_value_is_recognised_by_the_name_before_it(value, name, way, around):
    assert value not in mask_text(f"{around}\n{way.format(name=name, value=value)}\n{around}")


@given(made_up, st.sampled_from(["Bearer", "Basic", "bearer"]))
def test_what_signs_a_request_is_recognised(value, scheme):
    for text in (f"Authorization: {scheme} {value}", f"'authorization': '{scheme} {value}'", f"sent {scheme} {value}!"):
        assert value not in mask_text(text)


@given(made_up, st.sampled_from(["postgresql", "https", "mongodb+srv", "redis", "amqps"]))
def test_who_signs_in_is_not_in_an_address(value, scheme):
    for user in (f"me:{value}", f":{value}", value, f"me:a/{value}", f"me:a?{value}#"):
        assert value not in mask_text(f"can't reach {scheme}://{user}@db.example.com:5432/x today")


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH "])
def test_a_private_key_is_covered_from_its_first_line_to_its_last(kind):
    key = f"-----BEGIN {kind}PRIVATE KEY-----\nMIIEabc\ndef\n-----END {kind}PRIVATE KEY-----"
    assert mask_text(f"key file:\n{key}\nread") == "key file:\n***\nread"


FRAGMENTS = (
    *"token = : \" ' \\ *** ${X} password Authorization :// @ a:b ? &key= 1234567890 x=1;y=2 { } < > , ;".split(),
    *"eyJhbGciOi.eyJzdWIi.abc postgres user:pass host/db secret".split(),
    *(" ", "\n", "Bearer ", "cookie: ", "--api-key ", "ghp_" + "a1" * 18),
)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
def test_masking_twice_is_masking_once(text):
    once = mask_text(text)
    assert mask_text(once) == once


ORDINARY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "at 3f78685",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "session 550e8400-e29b-41d4-a716-446655440000 ended",
    "/usr/lib/node_modules/@modelcontextprotocol/server-github/dist/index.js:12:5",
    "C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
    "npx -y @modelcontextprotocol/server-github@2025.4.8",
    "uvx mcp-server-git==2025.9.25 --repository .",
    "git+https://github.com/owner/repo@v1.2.3",
    "git+ssh://git@github.com/owner/repo.git",
    "https://example.com/mcp?page=2&sort=name",
    "http://127.0.0.1:8665/mcp",
    "http://[::1]:8080/@scope/name",
    "Error: ENOENT: no such file or directory, open '/etc/app/tokens.json'",
    "token: expired",
    "token=invalid",
    "SyntaxError: Unexpected token: 12345 in JSON at position 7",
    "the API key is missing",
    "API key: required",
    "Incorrect password: please try again",
    "max_tokens=4096, total tokens: 512",
    "Bearer authentication is needed",
    "Basic authentication",
    "Basic type/status filtering: Basic information: name",
    "xsec_token: 笔记",
    "Authorization: required",
    "key: value",
    "primary_key=user_id",
    "keyboard: us-intl",
    "author: Jane Doe <jane@example.com>",
    "12 passed, 3 failed in 1.23s",
    "claude-sonnet-4-20250514",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
    "TypeError: Cannot read properties of undefined (reading 'token')",
    "set GITHUB_TOKEN=${GITHUB_TOKEN} and start again",
    "--token <your token>",
    "Use `--secrets keep`.",
    "tokenizer: o200k_base",
    "2026-11-15T12:00:00.123Z INFO toolcrib.engine.open_gateway: configuration reloaded: 12 servers",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_readable(text):
    assert mask_text(text) == text


@given(st.lists(st.sampled_from([*ORDINARY, "s3cr3t-value"]), max_size=4).map("\n".join))
def test_a_known_secret_takes_nothing_ordinary_with_it(text):
    shown = Masker(KnownSecrets({"s3cr3t-value": "${NAME}"}))(text)
    assert shown == text.replace("s3cr3t-value", "${NAME}")


HOSTILE = (
    *'a token token= :// ://a: a:b@ eyJ glpat- cookie: ?a= "token":"\\\\ secret_ x.token authorization: sk- ${'.split(),
    *("-----BEGIN PRIVATE KEY-----", "api key ", "bearer ", "'password'="),
)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_takes_no_longer_than_its_length(piece):
    text = piece * (200_000 // len(piece))
    assert isinstance(mask_text(text), str)
    assert isinstance(masked_entry({"args": [text]}), dict)
