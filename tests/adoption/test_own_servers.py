from __future__ import annotations

import json
import stat
import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.diagnostics import Findings
from toolcrib.config.load import load_settings
from toolcrib.config.servers import read_servers
from toolcrib.config.written_entry import entry_of
from toolcrib.model.server import DeclaredTool, Origin, RemoteLaunch, ServerSpec, StdioLaunch


def test_a_fresh_machine_gets_a_file_that_also_asks_for_all_clients(home, capsys):
    answer = home.answer(capsys, "add", "notes", "--env", "A=b=c", "--", "npx", "-y", "notes-mcp", "--json")
    assert (answer["exit"], answer["name"], answer["config"]) == (0, "notes", str(home.own))
    document = yaml.safe_load(home.own.read_text(encoding="utf-8"))["discovery"]
    entry = {"command": "npx", "args": ["-y", "notes-mcp", "--json"], "env": {"A": "b=c"}}
    assert document == {"sources": "auto", "servers": {"notes": entry}}
    assert stat.S_IMODE(home.own.stat().st_mode) == 0o600
    assert [spec.launch for spec in load_settings().servers] == [
        StdioLaunch("npx", ("-y", "notes-mcp", "--json"), {"A": "b=c"})
    ]


@pytest.mark.parametrize("words", [("--share", "never", "notes"), ("notes", "--share", "never")])
def test_an_added_server_can_be_one_that_clients_do_not_share(home, words):
    assert home.run("add", *words, "--", "notes-mcp", "--share", "x") == 0
    (spec,) = load_settings().servers
    assert (spec.share, spec.launch) == ("never", StdioLaunch("notes-mcp", ("--share", "x")))


def test_a_remote_server_is_added_by_its_address(home):
    assert home.run("add", "--header", "X-Key: ${KEY}", "wiki", "https://wiki.example.com/mcp", "--header", "B:c") == 0
    (spec,) = load_settings().servers
    assert spec.launch == RemoteLaunch("https://wiki.example.com/mcp", {"X-Key": "${KEY}", "B": "c"})


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("notes",),
        ("notes", "--"),
        ("notes", "https://x.example/mcp", "--", "both"),
        ("notes", "one", "two"),
        ("notes", "ftp://x.example"),
        ("notes", "--env", "A=b", "https://x.example/mcp"),
        ("notes", "--header", "A:b", "--", "x"),
        ("notes", "--env", "novalue", "--", "x"),
        ("notes", "--header", ":v", "https://x.example/mcp"),
        ("notes", "--wrong", "--", "x"),
        ("notes", "--share", "sometimes", "--", "x"),
        ("no spaces", "--", "x"),
        ("..", "--", "x"),
        ("toolcrib", "--", "x"),
        ("Toolcrib", "--", "x"),
        ("x" * 65, "--", "x"),
    ],
)
def test_what_cannot_be_a_server_is_refused_and_nothing_is_written(home, capsys, words):
    assert home.run("add", *words) == 1
    assert capsys.readouterr().err
    assert not home.own.exists()


def test_a_value_that_does_not_fit_is_not_repeated(home, capsys):
    home.run("add", "notes", "--env", "s3cret-without-a-name", "--", "x")
    assert "s3cret" not in capsys.readouterr().err


def test_json_is_answered_wherever_the_option_stands(home, capsys):
    assert home.run("add", "notes", "--json", "--env", "novalue", "--", "x") == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "VALIDATION_ERROR"
    assert home.run("add", "notes", "--json", "--", "x") == 0
    assert json.loads(capsys.readouterr().out)["success"] is True


def test_a_name_that_is_taken_is_refused(home, capsys):
    assert home.run("add", "notes", "--", "x") == 0
    before = home.own.read_bytes()
    answer = home.answer(capsys, "add", "notes", "--", "y")
    assert (answer["exit"], "remove notes" in answer["error"]["hint"]) == (1, True)
    assert home.own.read_bytes() == before


FILES = {
    "toolcrib.yaml": "# mine\nservers: # all\n  - name: a # first\n    command: x\n  - name: b\n    command: y\n# end\n",
    "toolcrib.yml": "# mine\ndiscovery:\n  servers:\n    a: # first\n      command: x\n    b: {command: y} # b\n  # end\n",
    "toolcrib.json": '{\n  // mine\n  "mcpServers": {\n    "a": {"command": "x"}, // first\n    "b": {"command": "y"}\n  }\n}\n',
    "toolcrib.toml": '# mine\n[servers.a] # first\ncommand = "x"\n\n[servers.b]\ncommand = "y"\n# end\n',
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_our_file_is_edited_with_its_comments_kept(home, name):
    file = home.site.paths.config_dir / name
    file.parent.mkdir(parents=True)
    file.write_text(FILES[name], encoding="utf-8")
    assert home.run("add", "c", "--env", "K=v", "--", "z", "1") == 0
    assert home.run("disable", "b") == 0
    enabled = {spec.name: spec.enabled for spec in load_settings().servers}
    assert enabled == {"a": True, "b": False, "c": True}
    assert home.run("enable", "b") == 0
    assert all(spec.enabled for spec in load_settings().servers)
    assert home.run("remove", "c") == 0
    assert home.run("remove", "b") == 0
    assert [spec.name for spec in load_settings().servers] == ["a"]
    text = file.read_text(encoding="utf-8")
    assert "mine" in text
    assert "first" in text
    assert ("end" in text) == ("end" in FILES[name])


def test_adding_and_removing_leaves_no_trace(home):
    file = home.site.paths.config_dir / "toolcrib.yaml"
    file.parent.mkdir(parents=True)
    file.write_bytes(FILES["toolcrib.yml"].encode())
    assert home.run("add", "c", "--", "z") == 0
    assert home.run("remove", "c") == 0
    assert file.read_bytes() == FILES["toolcrib.yml"].encode()


@pytest.mark.parametrize(("before", "entry"), [("disabled: true", {}), ("enabled: false", {"enabled": True})])
def test_enabling_undoes_either_way_of_disabling(home, before, entry):
    home.own.parent.mkdir(parents=True)
    home.own.write_text(f"servers:\n  a:\n    command: x\n    {before}\n", encoding="utf-8")
    assert home.run("enable", "a") == 0
    assert yaml.safe_load(home.own.read_text(encoding="utf-8")) == {"servers": {"a": {"command": "x", **entry}}}


def test_a_server_written_as_one_text_can_be_disabled(home):
    home.own.parent.mkdir(parents=True)
    home.own.write_text("servers:\n  a: docker://box # a box\n", encoding="utf-8")
    assert home.run("disable", "a") == 0
    (spec,) = load_settings().servers
    assert (spec.enabled, spec.launch.command) == (False, "docker")


@pytest.mark.parametrize("command", ["remove", "enable", "disable"])
def test_an_unknown_server_is_named_with_the_nearest_known_one(home, capsys, command):
    assert home.run("add", "notes", "--", "x") == 0
    before = home.own.read_bytes()
    answer = home.answer(capsys, command, "note")
    assert (answer["exit"], answer["error"]["code"]) == (2, "SERVER_NOT_FOUND")
    assert answer["error"]["nearest"] == ["notes"]
    assert home.own.read_bytes() == before


@pytest.mark.parametrize("name", ["toolcrib.yaml", "toolcrib.json", "toolcrib.toml"])
def test_a_broken_file_of_ours_is_not_written(home, capsys, name):
    file = home.site.paths.config_dir / name
    file.parent.mkdir(parents=True)
    file.write_text("a: [1", encoding="utf-8")
    assert home.answer(capsys, "add", "x", "--", "y")["exit"] == 2
    assert file.read_text(encoding="utf-8") == "a: [1"


def test_a_read_only_file_of_ours_is_not_written(home, capsys):
    assert home.run("add", "a", "--", "x") == 0
    home.own.chmod(0o444)
    before = home.own.read_bytes()
    assert home.answer(capsys, "remove", "a")["exit"] == 2
    assert home.own.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "parse"), [("o.json", json.loads), ("o.toml", tomllib.loads), ("o.yml", yaml.safe_load)]
)
def test_a_named_file_is_made_in_its_own_format(home, tmp_path, name, parse):
    file = tmp_path / "deep" / name
    assert home.run("add", "--config", str(file), "a", "--", "x") == 0
    expected = {"discovery": {"sources": "auto", "servers": {"a": {"command": "x"}}}}
    assert parse(file.read_text(encoding="utf-8")) == expected


def test_a_file_that_can_only_be_read_is_refused(home, tmp_path, capsys):
    answer = home.answer(capsys, "add", "--config", str(tmp_path / "toolcrib.ts"), "a", "--", "x")
    assert (answer["exit"], ".yaml" in answer["error"]["message"]) == (2, True)


def test_the_environment_can_name_the_file(home, tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLCRIB_CONFIG", str(tmp_path / "named.yaml"))
    assert home.run("add", "a", "--", "x") == 0
    assert [spec.name for spec in load_settings().servers] == ["a"]


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\n\r", exclude_categories=("Cs",)), max_size=8)
NAMES = st.from_regex(r"[A-Z][A-Z_]{0,5}", fullmatch=True)
LAUNCHES = st.builds(
    StdioLaunch,
    st.from_regex(r"[a-z]{1,6}", fullmatch=True),
    st.lists(TEXTS, max_size=3).map(tuple),
    st.dictionaries(NAMES, TEXTS, max_size=2),
    st.none() | st.just("/etc/some.env"),
    st.lists(NAMES, max_size=2).map(tuple),
    st.none() | st.just("/srv"),
) | st.builds(
    RemoteLaunch,
    st.just("https://x.example/mcp"),
    st.dictionaries(NAMES, TEXTS, max_size=2),
    st.sampled_from(["http", "sse"]),
)
SPECS = st.builds(
    ServerSpec,
    st.just("s"),
    LAUNCHES,
    title=st.sampled_from(["", "My Server"]),
    description=TEXTS,
    enabled=st.booleans(),
    timeout_seconds=st.sampled_from([None, 5.0, 0.5]),
    startup_timeout_seconds=st.sampled_from([None, 60.0]),
    call_rate=st.sampled_from([None, 2.0, 0.5]),
    discovery_rate=st.sampled_from([None, 2.0]),
    discovery_burst=st.sampled_from([None, 3]),
    allow_tools=st.sampled_from([None, (), ("a*",)]),
    deny_tools=st.sampled_from([(), ("b",)]),
    prefix=st.sampled_from(["", "p_"]),
    share=st.sampled_from(["auto", "always", "never"]),
    declared_tools=st.sampled_from(
        [(), (DeclaredTool("t"), DeclaredTool("u", "what it does"), DeclaredTool("v", "", {"type": "object"}))]
    ),
)


@given(SPECS)
def test_an_entry_of_ours_is_read_back_as_the_same_server(spec):
    findings = Findings()
    (read,) = read_servers({"s": entry_of(spec)}, "servers", Origin(), findings)
    assert (read, findings.problems) == (spec, [])
