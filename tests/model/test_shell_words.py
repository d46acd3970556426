from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.model.shell_words import shell_word


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/home/ada/toolcrib.yaml", "/home/ada/toolcrib.yaml"),
        ("/home/ada/my files/x.yaml", "'/home/ada/my files/x.yaml'"),
        ("/tmp/$(reboot)/x", "'/tmp/$(reboot)/x'"),
        ("a\nb", "$'a\\x0ab'"),
        ("it's\x1b[2J", "$'it\\'s\\x1b[2J'"),
        ("\u202egnp", "$'\\xe2\\x80\\xaegnp'"),
        ("", "''"),
    ],
)
def test_a_word_is_quoted_where_it_needs_to_be(text: str, word: str) -> None:
    assert shell_word(text) == word


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
def test_a_shell_reads_back_what_was_written(text: str) -> None:
    ran = subprocess.run(["bash", "-c", f"printf %s {shell_word(text)}"], capture_output=True, timeout=10, check=True)

    assert ran.stdout == text.encode()
    assert shell_word(text).isprintable()
