from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers.cards import GARAGE, KITCHEN, NOW, STRANGER, card_of, definition
from toolcrib.errors import PeerRefused
from toolcrib.model.peer import AgentCard
from toolcrib.model.tool import Tool
from toolcrib.peers.card import MOST_BYTES, MOST_TOOLS, own_card, read_card, signed_card
from toolcrib.peers.identity import Identity
from toolcrib.peers.signatures import canonical, signature_of, to_base64

RICH = {
    **definition(
        "notes__add", "Add a note.", text={"type": "string"}, tags={"type": "array", "items": {"type": "string"}}
    ),
    "title": "Add",
    "outputSchema": {"type": "object", "properties": {"id": {"type": "number", "minimum": 1.0}}},
    "annotations": {"readOnlyHint": False},
}


def read(body: bytes, **more: Any) -> AgentCard:
    return read_card(body, **{"now": NOW, "certificate_hash": "sha256-abc", **more})


def reason(body: bytes, **more: Any) -> str:
    with pytest.raises(PeerRefused) as refused:
        read(body, **more)
    return refused.value.reason


def signed(document: dict[str, Any], by: Identity = KITCHEN, kind: str = "agent-card+jws") -> bytes:
    return canonical({**document, "signatures": [signature_of(document, by, kind)]})


def plain(card: AgentCard) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(signed_card(card, KITCHEN))
    del document["signatures"]
    return document


def test_a_card_names_only_what_we_have_and_all_schemas() -> None:
    card = card_of(KITCHEN, "kitchen", [RICH])
    sent = json.loads(signed_card(card, KITCHEN))

    assert sent["capabilities"] == ["mcp", "p2p"]
    assert (sent["name"], sent["version"], sent["peerId"], sent["timestamp"]) == (
        "kitchen",
        "1.0",
        KITCHEN.peer_id,
        NOW,
    )
    assert sent["tools"][0]["parameters"] == RICH["inputSchema"]
    assert sent["tools"][0]["outputSchema"] == RICH["outputSchema"]


def test_what_is_read_is_what_was_signed_with_the_same_fingerprints() -> None:
    card = card_of(KITCHEN, "kitchen", [definition("b"), RICH, {"name": "a", "inputSchema": {"type": "object"}}])

    found = read(signed_card(card, KITCHEN))

    assert found == card
    assert [one["name"] for one in found.definitions] == ["a", "b", "notes__add"]
    assert Tool.from_mcp("x", found.definitions[2]).fingerprint == Tool.from_mcp("x", RICH).fingerprint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_schema_comes_through_as_it_is(schema: dict[str, Any]) -> None:
    card = card_of(KITCHEN, "kitchen", [{"name": "a", "inputSchema": schema}])
    expected = 1 if all(_is_utf8(text) for text in _texts(schema)) else 0
    assert len(card.definitions) == expected
    assert read(signed_card(card, KITCHEN)) == card


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (key, *_texts(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def test_a_card_holds_no_more_than_it_may() -> None:
    many = card_of(KITCHEN, "kitchen", [definition(f"tool{number:04}") for number in range(1_000)])
    large = card_of(KITCHEN, "kitchen", [definition(f"tool{number}", "x" * 60_000) for number in range(10)])

    assert (len(many.definitions), many.tool_count) == (MOST_TOOLS, 1_000)
    assert (len(large.definitions), large.tool_count) == (4, 10)
    for card in (many, large):
        body = signed_card(card, KITCHEN)
        assert len(body) <= MOST_BYTES
        assert read(body) == card


def test_a_tool_that_is_nested_too_deep_costs_only_itself() -> None:
    schema: dict[str, Any] = {}
    for _ in range(70):
        schema = {"properties": schema}
    card = card_of(KITCHEN, "kitchen", [{"name": "deep", "inputSchema": schema}, definition("flat")])

    assert [one["name"] for one in read(signed_card(card, KITCHEN)).definitions] == ["flat"]


def test_the_etag_changes_with_the_tools_and_not_with_the_time() -> None:
    tags = [card_of(KITCHEN, "kitchen", tools, now=now).etag for tools, now in (([], 1.0), ([], 2.0), ([RICH], 1.0))]
    assert tags[0] == tags[1] != tags[2]


CARD = card_of(KITCHEN, "kitchen", [RICH])
BODY = signed_card(CARD, KITCHEN)
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "changed after it was signed": (lambda: BODY.replace(b"Add a note", b"Add a goat"), "signature"),
    "signed by somebody else": (lambda: signed(plain(CARD), STRANGER), "signature"),
    "signed as something else": (lambda: signed(plain(CARD), KITCHEN, "peer-call+jws"), "unsigned"),
    "unsigned": (lambda: canonical(plain(CARD)), "unsigned"),
    "signed twice": (lambda: canonical({**plain(CARD), "signatures": json.loads(BODY)["signatures"] * 2}), "unsigned"),
    "without a signature in the list": (lambda: canonical({**plain(CARD), "signatures": []}), "unsigned"),
    "an algorithm of nobody": (
        lambda: _with_head({"alg": "none", "typ": "agent-card+jws", "kid": KITCHEN.peer_id}),
        "unsigned",
    ),
    "a key brought along": (
        lambda: _with_head({"alg": "EdDSA", "typ": "agent-card+jws", "kid": KITCHEN.peer_id, "jwk": {}}),
        "unsigned",
    ),
    "oversize": (lambda: BODY + b" " * MOST_BYTES, "oversize"),
    "a member given twice": (
        lambda: BODY.replace(b'{"capabilities"', b'{"name":"garage","capabilities"'),
        "unreadable",
    ),
    "not JSON": (lambda: b"\xff\xfe{", "unreadable"),
    "a list": (lambda: b"[]", "unreadable"),
    "nested without end": (lambda: b'{"a":' * 40_000, "unreadable"),
    "nested too deep": (lambda: signed({**plain(CARD), "x": json.loads("[" * 80 + "]" * 80)}), "unreadable"),
    "infinite": (lambda: signed({**plain(CARD)}).replace(b'"toolCount":1', b'"toolCount":1e999'), "unreadable"),
    "a time without end": (lambda: signed({**plain(CARD), "timestamp": 10**18}), "unreadable"),
    "too many tools": (
        lambda: signed({**plain(CARD), "tools": [{"name": f"t{number}"} for number in range(MOST_TOOLS + 1)]}),
        "unreadable",
    ),
    "a tool without a name": (lambda: signed({**plain(CARD), "tools": [{"description": "x"}]}), "unreadable"),
    "an odd path": (lambda: signed({**plain(CARD), "endpoint": {"port": 1, "path": "/../@evil"}}), "unreadable"),
    "an id that is none": (lambda: signed({**plain(CARD), "peerId": "kitchen"}), "signature"),
    "half a character": (lambda: BODY.replace(b"Add a note", b"\\ud800"), "unreadable"),
}


def _with_head(head: dict[str, Any]) -> bytes:
    protected = to_base64(canonical(head))
    signature = to_base64(KITCHEN.sign(f"{protected}.{to_base64(canonical(plain(CARD)))}".encode()))
    return canonical({**plain(CARD), "signatures": [{"protected": protected, "signature": signature}]})


@pytest.mark.parametrize(("body", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_a_card_that_can_not_be_believed_is_refused(body: Callable[[], bytes], expected: str) -> None:
    assert reason(body()) == expected


def test_a_card_that_was_changed_unsigned_oversize_old_or_replayed_is_refused() -> None:
    assert reason(BODY, now=NOW + 301) == "clock"
    assert reason(BODY, now=NOW - 301) == "clock"
    assert reason(BODY, newer_than=int(NOW) + 1) == "replayed"
    assert reason(BODY, certificate_hash="sha256-other") == "certificate"
    assert reason(BODY, own_id=KITCHEN.peer_id) == "ourselves"
    assert reason(BODY, max_bytes=100) == "oversize"
    assert read(BODY, newer_than=int(NOW), now=NOW + 299) == CARD
    assert read(BODY, certificate_hash=None) == CARD


def test_how_far_the_clocks_are_apart_is_told() -> None:
    with pytest.raises(PeerRefused, match="signed 400 seconds ago") as refused:
        read(BODY, now=NOW + 400)
    assert "clocks" in refused.value.hint


def test_a_signature_is_written_in_one_way_only() -> None:
    (given_signature,) = json.loads(BODY)["signatures"]
    last = given_signature["signature"][-1]
    # The last character holds four bits that mean nothing.
    alike = chr(ord(last) + 1).encode()
    assert reason(BODY.replace(f'{last}"}}]'.encode(), alike + b'"}]')) in {"unsigned", "signature"}


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with pytest.raises(PeerRefused):
        read(body)


@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_no_byte_of_a_card_can_be_changed(at: int, by: int) -> None:
    changed = bytearray(BODY)
    changed[at] ^= by
    with pytest.raises(PeerRefused):
        read(bytes(changed))


def test_a_card_in_the_older_spelling_is_read() -> None:
    document = {
        "name": "old agent",
        "version": "0.9",
        "peer_id": GARAGE.peer_id,
        "capabilities": ["mcp", "dsl", "workflow", "p2p"],
        "tools": [
            {
                "name": "grep",
                "description": "Find text.",
                "parameters": [
                    {"name": "pattern", "type": "string", "description": "What to find", "required": True},
                    {"name": "path", "type": "string"},
                ],
            }
        ],
        "timestamp": int(NOW),
    }

    found = read(signed(document, GARAGE), certificate_hash=None)

    assert (found.peer_id, found.port, found.tool_count) == (GARAGE.peer_id, 0, 1)
    assert found.definitions[0]["inputSchema"] == {
        "type": "object",
        "properties": {"pattern": {"type": "string", "description": "What to find"}, "path": {"type": "string"}},
        "required": ["pattern"],
    }


def test_our_card_is_made_of_what_is_given() -> None:
    card = own_card(KITCHEN, name="a", version="1", definitions=[], port=0, tls="", now=5.9)
    assert (card.timestamp, card.port, card.peer_id, card.definitions) == (5, 0, KITCHEN.peer_id, ())
