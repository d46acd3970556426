from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.names import nearest, slug
from toolcrib.model.server import SERVER_NAME


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("github", "github"),
        ("my.server_1-x", "my.server_1-x"),
        ("My Server", "My-Server"),
        ("io.github/acme", "io.github-acme"),
        ("  café ☕ ", "cafe"),
        ("a///b", "a-b"),
    ],
)
def test_a_name_becomes_safe_and_stays_recognisable(name, safe):
    assert slug(name) == safe


def test_names_without_a_letter_or_digit_get_one():
    assert slug("..").startswith("server-")
    assert slug("日本") != slug("中国")


def test_long_names_that_differ_stay_different():
    assert slug("x" * 70 + "a") != slug("x" * 70 + "b")


@given(st.text())
def test_a_slug_always_fits_and_is_stable(name):
    safe = slug(name)
    assert SERVER_NAME.fullmatch(safe)
    assert slug(safe) == safe
    assert slug(name) == safe


@given(st.from_regex(r"[A-Za-z0-9._-]*[A-Za-z0-9][A-Za-z0-9._-]*", fullmatch=True).filter(lambda name: len(name) <= 64))
def test_a_name_that_fits_is_kept(name):
    assert slug(name) == name


def test_the_nearest_name_ignores_case_and_gives_up_on_strangers():
    assert nearest("calltimeout", ["callTimeout", "idleStop"]) == "callTimeout"
    assert nearest("zzz", ["callTimeout"]) is None
    assert nearest("clock", ["slack"]) is None
    assert nearest("tll", ["ttl"]) == "ttl"
