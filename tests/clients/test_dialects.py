from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.clients import dialects
from toolcrib.clients.dialects import dialect, hidden, literal, reference
from toolcrib.config.secret_refs import UnresolvedReference, resolve

TRICKY = st.text(st.sampled_from("${}A:-a/( )$"), max_size=24) | st.text(max_size=24)
ENVIRONMENT = {"A": "1", "word": "2", "HOME": "/h", "USERPROFILE": "/h"}


@given(TRICKY)
def test_literal_text_means_itself_whatever_is_in_it(text):
    assert resolve(literal(text), ENVIRONMENT) == text


@given(TRICKY, TRICKY)
def test_hidden_text_means_itself_beside_other_text(before, after):
    assert resolve(f"{hidden(before)}{reference('A')}{hidden(after)}", ENVIRONMENT) == f"{before}1{after}"


@given(TRICKY, TRICKY)
def test_the_text_around_a_clients_reference_is_kept(before, after):
    percent = dialect("%A%", lambda _: "${A}")
    assert resolve(percent(f"{before}%A%{after}"), ENVIRONMENT) == f"{before}1{after}"


@given(TRICKY)
def test_no_text_breaks_a_dialect(text):
    for name in ("BRACES", "SHOUTED_BRACES", "EDITOR", "ENV_BRACES", "BARE_OR_BRACES", "SHELL", "DOUBLE_BRACES"):
        translated = getattr(dialects, name)(text)
        if "$" not in text:
            assert translated == text


@pytest.mark.parametrize(
    ("name", "text", "meaning"),
    [
        ("BRACES", "${A}-${B:-x}-$A-${C.d}", "1-x-$A-${C.d}"),
        ("SHOUTED_BRACES", "${A} ${word} ${A:-9}", "1 ${word} 1"),
        ("EDITOR", "${userHome}${/}x ${env:A} ${word} ${amount}", "/h/x 1 ${word} ${amount}"),
        ("ENV_BRACES", "${env:A} ${A}", "1 ${A}"),
        ("BARE_OR_BRACES", "$A ${A} $word $nothing 5$", "1 1 2 $nothing 5$"),
        ("SHELL", "$A-${A}", "1-1"),
        ("DOUBLE_BRACES", "${A}", "${A}"),
    ],
)
def test_each_dialect_means_what_its_client_means(name, text, meaning):
    assert resolve(getattr(dialects, name)(text), ENVIRONMENT) == meaning


@pytest.mark.parametrize(
    ("name", "text", "needs"),
    [
        ("EDITOR", "${input:pin}", "input:pin"),
        ("EDITOR", "${command:git.branch}", "command:git.branch"),
        ("EDITOR", "${workspaceFolder}/x", "workspaceFolder"),
        ("EDITOR", "${config:editor.x}", "config:editor.x"),
        ("EDITOR", "${file:~/none}", "file:~/none"),
        ("EDITOR", "${env:UNSET}", "UNSET"),
        ("DOUBLE_BRACES", "Bearer ${{ secrets.KEY }}", "secrets.KEY"),
        ("BARE_OR_BRACES", "Bearer $UNSET", "UNSET"),
        ("SHELL", "Bearer $(cat /run/hunter2)", "command:shell"),
    ],
)
def test_what_only_the_client_could_provide_is_a_named_need(name, text, needs):
    with pytest.raises(UnresolvedReference) as missing:
        resolve(getattr(dialects, name)(text), {})
    assert missing.value.names == (needs,)
    assert "hunter2" not in str(missing.value)
