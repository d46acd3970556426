"""Secrets whose values are known: none of them comes out, whatever stands around it."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.masking.known import KnownSecrets, labelled
from toolcrib.masking.masker import Masker

# Anything a person may use as a password, long enough to be told from ordinary text.
values = st.text(min_size=6, max_size=40).filter(lambda value: len(value.strip()) >= 6 and bool(value.strip("*")))
surroundings = st.text(max_size=60)


def masker_of(*values: str) -> Masker:
    return Masker(KnownSecrets(labelled(("${NAME}", value) for value in values)))


@given(st.lists(values, min_size=1, max_size=3), st.data())
def test_a_known_secret_never_comes_out_whatever_surrounds_it(secrets, data):
    text = data.draw(surroundings)
    for secret in (*secrets, data.draw(st.sampled_from(secrets))):
        text += secret + data.draw(surroundings)
    shown = masker_of(*secrets)(text)
    assert not [secret for secret in secrets if secret in shown]


@given(values, surroundings, surroundings)
def test_a_known_secret_does_not_come_out_in_another_writing_either(secret, before, after):
    masker = masker_of(secret)
    plain = secret.encode("utf-8", "replace").decode()
    written = [json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]]
    written += [quote(plain), quote(plain, safe="")]
    for text in written:
        assert text not in masker(f"{before}{text}{after}")


@given(values, st.binary(max_size=8), st.binary(max_size=8))
def test_a_known_secret_does_not_come_out_in_base64_with_anything_beside_it(secret, before, after):
    plain = secret.encode("utf-8", "replace")
    encoded = base64.b64encode(before + plain + after).decode()
    assert encoded not in masker_of(plain.decode())(encoded)


@given(st.lists(values, max_size=3), st.text())
def test_masking_twice_is_masking_once(secrets, text):
    masker = masker_of(*secrets)
    once = masker(text + "".join(secrets))
    assert masker(once) == once


def test_secrets_that_overlap_leave_no_end_behind():
    assert masker_of("abcdefgh", "efghijkl")("-abcdefghijkl-") == "-***-"


def test_a_value_shorter_than_six_characters_is_left_alone():
    assert masker_of("1234")("port 12345") == "port 12345"


def test_each_line_of_a_key_is_a_secret():
    assert masker_of("first-line-of-it\nsecond-line-of-it\n")("here: second-line-of-it") == "here: ${NAME}"


def test_a_label_never_tells_a_value():
    labels = labelled([("${hunter2hunter2}", "hunter2hunter2"), ("${A}", "other-value")])
    assert labels == {"hunter2hunter2": "***", "other-value": "${A}"}


def test_every_text_of_an_error_is_covered():
    error = OSError(2, "No such file: s3cr3t-value", "/x/s3cr3t-value")
    assert "s3cr3t" not in str(masker_of("s3cr3t-value").error(error))


@given(values, st.recursive(st.text(max_size=20), lambda inner: st.lists(inner, max_size=3), max_leaves=4))
def test_json_without_a_known_secret_is_given_back_as_it_came(secret, document):
    raw, masker = json.dumps(document).encode(), masker_of(secret)
    assert (masker.json(raw) is raw) or masker.known.are_in(raw)


def test_json_with_a_known_secret_is_still_json():
    raw = json.dumps({"tools": [{"name": "x", "description": 'say "s3cr3t-value\\n" and go', "n": 1}]}).encode()
    found = json.loads(masker_of("s3cr3t-value").json(raw))
    assert found == {"tools": [{"name": "x", "description": 'say "${NAME}\\n" and go', "n": 1}]}


def test_what_a_server_says_of_itself_keeps_the_everyday_words_that_are_also_values():
    raw = b'{"description":"Query a postgres database"}'
    assert masker_of("postgres").json(raw) is raw
    assert masker_of("postgres")("no postgres here") == "no ${NAME} here"


def test_a_secret_made_of_digits_is_covered_as_a_number_as_well():
    masker = masker_of("83749283749283")
    written = '{"default":83749283749283,"enum":[-83749283749283,83749283749283.0,"83749283749283"]}'
    covered = {"default": "${NAME}", "enum": ["${NAME}"] * 3}

    assert json.loads(masker.json(written.encode())) == covered
    assert masker.value(json.loads(written)) == covered


def test_a_number_that_only_has_the_digits_of_a_secret_in_it_stays_a_number():
    numbers = [837492, 1837492837492830, 83749283749283.5, 0, 1, True, None, 1e400, -32000]
    masker = masker_of("83749283749283", "123456", "00837492", "9" * 5000)
    assert masker.value(numbers) == numbers
    # A small number is an everyday one: it stays in what a server says of itself, as it does in a text.
    assert json.loads(masker.json(b'{"n":123456,"s":"123456 83749283749283"}')) == {"n": 123456, "s": "123456 ${NAME}"}


@pytest.mark.parametrize("secret", ["Zq7Kx92mPlwCanary4", "qHxWbvLkPzTrYmNc", "3F2B8C1E-9D4A-4F6B-8E2D-1C5A7B9E0F34"])
def test_a_secret_in_the_host_of_an_address_is_covered_in_small_letters_too(secret):
    host = httpx2.URL(f"https://{secret}.example/mcp").host
    assert masker_of(secret)(f"https://{host}/mcp is not known") == "https://${NAME}.example/mcp is not known"


@pytest.mark.parametrize("value", ["Postgres", "EU-WEST-1", "Abc-12", "POSTGRESQL", "/Srv/Files"])
def test_a_word_in_small_letters_stays_readable_though_its_capitals_are_a_secret(value):
    text = f"in {value.lower()} here"
    assert masker_of(value)(text) == text


@pytest.mark.parametrize("before", ["", "u:", "bob:"])
def test_the_shortest_secret_is_covered_in_base64_wherever_it_stands(before):
    encoded = base64.b64encode(f"{before}q7Rt9z".encode()).decode()
    assert encoded not in masker_of("q7Rt9z")(f"sent {encoded} to it")
