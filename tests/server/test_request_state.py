"""States that clients bring back, as an attacker would: bent, cut, old, and taken from elsewhere."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Clock
from toolcrib.server.request_state import PREFIX, STATE_SECONDS, SealedStates, binding_of
from toolcrib.wire.jsonrpc import RpcError

KEY = b"a key that nobody knows"
HERE = binding_of("stdio:agent s-1", "launch", "files", "read")
TEXTS = st.text(max_size=40)


def states(clock: Clock | None = None, key: bytes = KEY) -> SealedStates:
    return SealedStates(lambda: key, clock or Clock())


def refusal(sealed: SealedStates, text: object, binding: bytes = HERE) -> tuple[int, str]:
    with pytest.raises(RpcError) as refused:
        sealed.open(text, binding)
    return refused.value.code, refused.value.message


@given(st.one_of(st.none(), st.text()), st.lists(TEXTS, max_size=5))
def test_what_was_sealed_is_opened_as_it_was(value: str | None, parts: list[str]) -> None:
    sealed, binding = states(), binding_of(*parts)

    opened = sealed.open(sealed.seal("relayed", value, binding), binding)

    assert (opened.kind, opened.value) == ("relayed", value)


@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, max_size=5))
def test_a_state_is_good_for_one_caller_server_and_tool(one: list[str], other: list[str]) -> None:
    sealed = states()
    text = sealed.seal("parked", "handle", binding_of(*one))

    if one == other:
        assert sealed.open(text, binding_of(*other)).value == "handle"
    else:
        refusal(sealed, text, binding_of(*other))


@given(st.data())
def test_no_changed_character_passes(data: st.DataObject) -> None:
    sealed = states()
    text = sealed.seal("relayed", "state of the server", HERE)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(exclude_characters=text[place]))

    refusal(sealed, text[:place] + other + text[place + 1 :])


@given(st.data())
def test_no_cut_or_longer_text_passes(data: st.DataObject) -> None:
    sealed = states()
    text = sealed.seal("relayed", "state of the server", HERE)

    refusal(sealed, text[: data.draw(st.integers(0, len(text) - 1))])
    refusal(sealed, text + data.draw(st.text(min_size=1)))


@given(st.one_of(st.text(), st.integers(), st.none(), st.binary(), st.lists(st.text())))
def test_nothing_else_passes(text: object) -> None:
    refusal(states(), text)
    if isinstance(text, str):
        refusal(states(), PREFIX + text)


def test_a_changed_old_or_foreign_state_is_refused_alike() -> None:
    clock = Clock()
    sealed = states(clock)
    text = sealed.seal("parked", "handle", HERE)
    foreign = states(clock, b"another key").seal("parked", "handle", HERE)
    unsigned = PREFIX + base64.urlsafe_b64encode(bytes(32) + b'["parked","handle",9e99]').decode()

    heard = {refusal(sealed, one) for one in (text[:-4] + "AAAA", foreign, unsigned, "", 7)}
    heard.add(refusal(sealed, text, binding_of("somebody else")))
    clock.advance(STATE_SECONDS + 1)
    heard.add(refusal(sealed, text))

    assert len(heard) == 1
    assert heard.pop()[0] == -32602


def test_another_text_for_the_same_bytes_is_refused() -> None:
    sealed = states()
    text = sealed.seal("relayed", "ab", HERE)

    refusal(sealed, text + "=")
    refusal(sealed, text.replace(PREFIX, PREFIX + " "))
    refusal(sealed, text + "\n")
