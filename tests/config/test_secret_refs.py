from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolving import resolve_launch
from toolcrib.config.secret_refs import (
    UnresolvedReference,
    bearer_for,
    child_environment,
    resolve,
)
from toolcrib.errors import NeedsConfiguration
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch

CANARY = "canary-hunter2"


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("plain", "plain"),
        ("${A}", "1"),
        ("${env:A}", "1"),
        ("x-${A}-${B}-y", "x-1--y"),
        ("${NONE:-fallback}", "fallback"),
        ("${NONE:-}", ""),
        ("${B:-fallback}", "fallback"),
        ("${A:-fallback}", "1"),
        ("${NONE:-a:-$b{c}", "a:-$b{c"),
        ("$A", "$A"),
        ("pa$$word", "pa$$word"),
        ("$${A}", "$${A}"),
        ("${REF}", "${A}"),
        ("${x%y} ${/} ${}", "${x%y} ${/} ${}"),
        ("{}", "{}"),
        ("${$}{A} ${$}${A} a${$}", "${A} $1 a$"),
    ],
)
def test_references_are_replaced_once_and_other_text_is_kept(text, resolved):
    assert resolve(text, {"A": "1", "B": "", "REF": "${A}"}) == resolved


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("${A}", ("A",)),
        ("${A}${B}${A}", ("A", "B")),
        ("${env:A}", ("A",)),
        ("${input:pin}", ("input:pin",)),
        ("${{ secrets.KEY }}", ("secrets.KEY",)),
        ("${user_config.KEY}", ("user_config.KEY",)),
        (f"${{A:={CANARY}}}", ("A",)),
        (f"${{A:-${{B:-{CANARY}}}}}", ("A",)),
    ],
)
def test_what_has_no_value_is_named(text, names):
    with pytest.raises(UnresolvedReference) as missing:
        resolve(text, {})
    assert missing.value.names == names
    assert CANARY not in str(missing.value)


def test_a_file_of_one_value_is_read_when_the_server_starts(tmp_path):
    (tmp_path / "key").write_text(f"{CANARY}\r\n")
    assert resolve(f"Bearer ${{file:{tmp_path}/key}}", {}) == f"Bearer {CANARY}"
    assert resolve("${file:~/key}", {"HOME": str(tmp_path)}) == CANARY


@pytest.mark.parametrize("content", [None, b"\xff\xfea", b"x" * 70_000, "folder"])
def test_a_file_that_gives_no_value_is_a_need(tmp_path, content):
    file = tmp_path / "key"
    if content == "folder":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    with pytest.raises(UnresolvedReference, match=f"file:{file}"):
        resolve(f"${{file:{file}}}", {})


def test_a_relative_file_is_a_need_because_nobody_knows_from_where():
    with pytest.raises(UnresolvedReference, match="file:key"):
        resolve("${file:key}", {})


@given(st.text(), st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True), st.text(), max_size=4))
def test_any_text_resolves_or_names_what_is_missing(text, env):
    with suppress(UnresolvedReference):
        assert isinstance(resolve(text, env), str)


@given(st.text().filter(lambda text: "$" not in text), st.text(), st.text().filter(lambda text: "$" not in text))
def test_the_text_around_a_reference_is_kept_and_the_value_is_not_looked_into(before, value, after):
    assert resolve(f"{before}${{A}}{after}", {"A": value}) == before + value + after


@given(st.text().filter(lambda text: "${" not in text))
def test_a_text_without_references_is_kept(text):
    assert resolve(text, {}) == text


def test_every_part_of_a_local_launch_is_resolved():
    launch = StdioLaunch("~/bin/${P}", ("--key=${K}",), {"KEY": "${K}"}, "~/${P}.env", ("PASS",), "~/work")
    resolved = resolve_launch(launch, {"HOME": "/h", "P": "p", "K": CANARY}, server="s")
    assert resolved.command == "/h/bin/p"
    assert resolved.args == (f"--key={CANARY}",)
    assert resolved.env == {"KEY": CANARY}
    assert (resolved.env_file, resolved.pass_env, resolved.cwd) == ("/h/p.env", ("PASS",), "/h/work")


def test_every_part_of_a_remote_launch_is_resolved():
    launch = RemoteLaunch("${BASE}/mcp", {"Authorization": "Bearer ${K}"}, "sse")
    resolved = resolve_launch(launch, {"BASE": "https://a.example", "K": CANARY}, server="s")
    assert (resolved.url, resolved.headers, resolved.transport) == (
        "https://a.example/mcp",
        {"Authorization": f"Bearer {CANARY}"},
        "sse",
    )


def test_a_resolved_launch_does_not_show_its_values():
    stdio = resolve_launch(StdioLaunch("${K}", ("${K}",), {"A": "${K}"}), {"K": CANARY}, server="s")
    remote = resolve_launch(RemoteLaunch("http://a.example/${K}", {"A": "${K}"}), {"K": CANARY}, server="s")
    assert CANARY not in repr(stdio) + str(stdio) + repr(remote) + str(remote)
    assert isinstance(stdio, StdioLaunch)
    assert isinstance(remote, RemoteLaunch)


def test_all_missing_variables_are_named_at_once_and_no_value_is():
    launch = StdioLaunch("x", ("${A}", "${K}"), {"B": "${B}"}, cwd="${A}")
    with pytest.raises(NeedsConfiguration) as needs:
        resolve_launch(launch, {"K": CANARY}, server="notes")
    assert needs.value.server == "notes"
    assert needs.value.details["needs"] == ["A", "B"]
    assert "needs A, B" in needs.value.message
    assert CANARY not in f"{needs.value} {needs.value.details} {needs.value.hint}"


@pytest.mark.parametrize(
    "launch",
    [
        RemoteLaunch("${K}"),
        RemoteLaunch("https://a.example", {"A": "${LINES}"}),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused_unseen(launch):
    with pytest.raises(NeedsConfiguration) as needs:
        resolve_launch(launch, {"K": CANARY, "LINES": f"{CANARY}\r\nX: y"}, server="s")
    assert CANARY not in str(needs.value)


def test_a_child_sees_harmless_variables_and_what_its_entry_declares(tmp_path):
    file = tmp_path / ".env"
    file.write_text("FROM_FILE=1\nBOTH=file\n")
    env = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "https_proxy": "p",
        "SystemRoot": "w",
        "AWS_SECRET_ACCESS_KEY": CANARY,
        "PASSED": "2",
    }
    launch = StdioLaunch("x", (), {"BOTH": "entry", "PATH": "/mine"}, str(file), ("PASSED", "NOT_SET"))
    assert child_environment(launch, env, server="s") == {
        "PATH": "/mine",
        "HOME": "/h",
        "LC_ALL": "C",
        "https_proxy": "p",
        "SystemRoot": "w",
        "PASSED": "2",
        "FROM_FILE": "1",
        "BOTH": "entry",
    }


def test_a_child_without_declarations_sees_only_harmless_variables():
    assert child_environment(StdioLaunch("x"), {"LANG": "C", "TOKEN": CANARY}, server="s") == {"LANG": "C"}


def test_env_files_are_read_as_people_write_them(tmp_path):
    file = tmp_path / ".env"
    file.write_text(
        "\ufeff# comment\n\nexport A=1\nB = two words # note\nC='it is # this'\n"
        'D="line\\nbreak \\"q\\""\nE=\nF=a#b\nG=x=y\n',
        encoding="utf-8",
    )
    assert child_environment(StdioLaunch("x", env_file=str(file)), {}, server="s") == {
        "A": "1",
        "B": "two words",
        "C": "it is # this",
        "D": 'line\nbreak "q"',
        "E": "",
        "F": "a#b",
        "G": "x=y",
    }


@pytest.mark.parametrize("content", [None, f"{CANARY}\n", f'A="{CANARY}\n', b"\xff\xfe"])
def test_an_env_file_that_cannot_be_read_is_named_without_its_content(tmp_path, content):
    file = tmp_path / "some.env"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content:
        file.write_text(content)
    with pytest.raises(NeedsConfiguration) as needs:
        child_environment(StdioLaunch("x", env_file=str(file)), {}, server="s")
    assert "some.env" in str(needs.value)
    assert CANARY not in str(needs.value)


def remote(name, title="", **headers):
    return ServerSpec(name, RemoteLaunch("https://a.example", headers), title=title)


@pytest.mark.parametrize(
    ("spec", "env", "token"),
    [
        (remote("notes"), {"NOTES_MCP_TOKEN": "n", "MCP_AUTH_TOKEN": "m"}, "n"),
        (remote("my-notes"), {"MY_NOTES_MCP_TOKEN": "n"}, "n"),
        (remote("notes"), {"NOTES_MCP_TOKEN": " ", "MCP_AUTH_TOKEN": "m"}, "m"),
        (remote("notes"), {}, None),
        (remote("acme-notes", "acme/notes"), {"ACME_MCP_TOKEN": "a", "NOTES_MCP_TOKEN": "n"}, "a"),
        (remote("acme-notes", "acme/notes"), {"NOTES_MCP_TOKEN": "n"}, "n"),
        (remote("mcp-github", "mcp/github"), {"GITHUB_MCP_TOKEN": "g", "GITHUB_PAT": "p"}, "g"),
        (remote("github"), {"GITHUB_PAT": "p", "GITHUB_TOKEN": "t"}, "p"),
        (remote("github"), {"GITHUB_TOKEN": "t", "MCP_AUTH_TOKEN": "m"}, "t"),
        (remote("notes"), {"GITHUB_TOKEN": "t"}, None),
        (remote("notes", authorization="Bearer x"), {"NOTES_MCP_TOKEN": "n"}, None),
        (ServerSpec("notes", StdioLaunch("x")), {"NOTES_MCP_TOKEN": "n"}, None),
    ],
)
def test_a_token_of_the_environment_is_found_by_the_servers_name(spec, env, token):
    assert bearer_for(spec, env) == token
