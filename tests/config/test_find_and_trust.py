from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.config.conftest import write
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import StdioLaunch

ONE = "servers: {one: {command: x}}"
PROJECT_FILES = [".anygpt/mcp-discovery.config.yaml", "toolcrib.yml", "anygpt.config.yaml"]


def test_a_named_file_is_used(machine):
    file = write(machine.cwd / "any.yaml", ONE)
    assert machine.load(file).file == file
    assert machine.load(Path("any.yaml")).file == file
    assert machine.load(TOOLCRIB_CONFIG=str(file)).file == file


def test_the_argument_wins_over_the_variable(machine):
    first, second = write(machine.cwd / "1.yaml", ONE), write(machine.cwd / "2.yaml", ONE)
    assert machine.load(first, TOOLCRIB_CONFIG=str(second)).file == first


@pytest.mark.parametrize("content", [None, "{", "- 1"])
def test_a_named_file_that_is_missing_or_broken_is_an_error(machine, content):
    file = machine.cwd / "any.yaml"
    if content is not None:
        write(file, content)
    with pytest.raises(ConfigurationError) as refusal:
        machine.load(file)
    assert refusal.value.problems[0].source == str(file)
    with pytest.raises(ConfigurationError):
        machine.load(TOOLCRIB_CONFIG=str(file))


@pytest.mark.parametrize("extension", [".ts", ".js"])
def test_a_script_that_exports_plain_data_is_read_and_never_run(machine, extension):
    text = "import { config } from '@anygpt/config'\nexport default config({ servers: { one: { command: 'x' } } })"
    settings = machine.load(write(machine.cwd / f"any{extension}", text))
    assert [spec.name for spec in settings.servers] == ["one"]


def test_a_script_that_would_have_to_be_run_is_an_error_with_its_place(machine):
    with pytest.raises(ConfigurationError) as refusal:
        machine.load(write(machine.cwd / "any.ts", "export default {\n  servers: load() }"))
    assert refusal.value.problems[0].where == "line 2, column 12"


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_a_file_of_the_working_directory_is_used_only_once_trusted(machine, name):
    file = write(machine.cwd / name, f"discovery: {{{ONE}}}")
    own = write(machine.paths.config_dir / "toolcrib.yaml", "servers: {mine: {command: y}}")
    before = machine.load()
    assert before.file == own
    assert [spec.name for spec in before.servers] == ["mine"]
    assert any(str(file) in warning and "toolcrib trust" in warning for warning in before.warnings)
    assert file in before.watched_files

    machine.trusted.trust(file)
    after = machine.load()
    assert after.file == file
    assert after.warnings == ()


def test_an_edited_file_must_be_trusted_again(machine):
    file = write(machine.cwd / "toolcrib.yaml", ONE)
    machine.trusted.trust(file)
    write(file, "servers: {one: {command: evil}}")
    settings = machine.load()
    assert settings.file is None
    assert settings.servers == ()


@pytest.mark.parametrize("content", ["{", "x" * 11_000_000])
def test_an_untrusted_file_cannot_stop_the_gateway(machine, content):
    write(machine.cwd / "toolcrib.yaml", content)
    assert machine.load().file is None


def test_a_pipe_in_the_working_directory_delays_nobody(machine):
    os.mkfifo(machine.cwd / "toolcrib.yaml")
    assert machine.load().file is None


def test_the_first_place_in_the_order_wins(machine):
    order = [
        machine.cwd / ".anygpt/mcp-discovery.config.json",
        machine.cwd / "toolcrib.toml",
        machine.cwd / "anygpt.config.json",
        machine.home / ".anygpt/mcp-discovery.config.yaml",
        machine.paths.config_dir / "toolcrib.yml",
    ]
    for file in order:
        write(file, "" if file.suffix == ".toml" else '{"discovery": {}}')
        machine.trusted.trust(file)
    for file in order:
        assert machine.load().file == file
        file.unlink()
    assert machine.load().file is None


def test_extensions_are_tried_in_their_order(machine):
    folder = machine.paths.config_dir
    for extension in (".toml", ".json", ".yml", ".yaml"):
        file = write(folder / f"toolcrib{extension}", "" if extension == ".toml" else "{}")
        assert machine.load().file == file


def test_an_anygpt_file_without_our_section_is_passed_over(machine):
    file = write(machine.cwd / "anygpt.config.yaml", "providers: {}")
    machine.trusted.trust(file)
    assert machine.load().file is None


def test_a_script_is_found_after_the_plain_formats(machine):
    script = write(machine.home / ".anygpt/mcp-discovery.config.ts", "export default {}")
    assert machine.load().file == script
    plain = write(machine.home / ".anygpt/mcp-discovery.config.toml", "")
    assert machine.load().file == plain


def test_at_home_the_users_own_file_needs_no_trust(machine):
    file = write(machine.home / ".anygpt/mcp-discovery.config.yaml", ONE)
    machine.cwd = machine.home
    assert machine.load().file == file


def test_a_source_beside_a_trusted_project_file_needs_trust_of_its_own(machine):
    config = write(machine.cwd / "toolcrib.yaml", "sources: [{type: custom, path: ./more.yaml}]")
    more = write(machine.cwd / "more.yaml", ONE)
    machine.trusted.trust(config)
    before = machine.load()
    assert before.servers == ()
    assert before.source_states[0].state == "untrusted"
    assert any(str(more) in warning for warning in before.warnings)
    machine.trusted.trust(more)
    assert [spec.name for spec in machine.load().servers] == ["one"]


@pytest.mark.parametrize("place", ["elsewhere", "home"])
def test_a_source_anywhere_else_needs_trust_as_well(machine, tmp_path, place):
    folder = tmp_path / "elsewhere" if place == "elsewhere" else machine.home
    more = write(folder / "mcp.json", '{"mcpServers": {"extra": {"command": "evil"}}}')
    named = str(more) if place == "elsewhere" else "~/mcp.json"
    config = write(machine.cwd / "toolcrib.yaml", f"sources: [{{type: mcp-json, path: '{named}'}}]")
    machine.trusted.trust(config)
    before = machine.load()
    assert before.servers == ()
    assert before.source_states[0].state == "untrusted"
    assert any(f"toolcrib trust {more}" in warning for warning in before.warnings)
    machine.trusted.trust(more)
    assert [server.name for server in machine.load().servers] == ["extra"]
    write(more, '{"mcpServers": {"extra": {"command": "worse"}}}')
    assert machine.load().servers == ()


def test_a_project_may_name_the_users_own_files_of_a_client(machine):
    write(machine.home / ".cursor" / "mcp.json", '{"mcpServers": {"mine": {"command": "x"}}}')
    config = write(machine.cwd / "toolcrib.yaml", "sources: [{type: cursor, path: ~/.cursor/mcp.json}]")
    machine.trusted.trust(config)
    assert [server.name for server in machine.load().servers] == ["mine"]


def test_a_source_that_the_users_own_file_names_needs_no_trust(machine, tmp_path):
    more = write(tmp_path / "mcp.json", '{"mcpServers": {"extra": {"command": "x"}}}')
    write(machine.paths.config_file, f"sources: [{{type: mcp-json, path: '{more}'}}]")
    assert [server.name for server in machine.load().servers] == ["extra"]


def test_trust_is_kept_for_the_owner_alone(machine):
    machine.trusted.trust(write(machine.cwd / "toolcrib.yaml", ONE))
    mode = machine.paths.trusted_files.stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert sorted(path.name for path in machine.paths.state_dir.iterdir()) == ["trusted.json"]


def test_trust_follows_the_real_path(machine):
    file = write(machine.cwd / "real.yaml", ONE)
    link = machine.cwd / "link.yaml"
    link.symlink_to(file)
    machine.trusted.trust(link)
    assert machine.trusted.is_trusted(file)
    assert machine.trusted.paths() == (file.resolve(),)


def test_forgotten_files_are_no_longer_trusted(machine):
    file = write(machine.cwd / "a.yaml", ONE)
    machine.trusted.trust(file)
    assert machine.trusted.forget(file)
    assert not machine.trusted.forget(file)
    assert not machine.trusted.is_trusted(file)


def test_a_trusted_file_that_is_gone_is_not_trusted(machine):
    file = write(machine.cwd / "a.yaml", ONE)
    machine.trusted.trust(file)
    file.unlink()
    assert not machine.trusted.is_trusted(file)


@pytest.mark.parametrize("record", ["", "[]", "{", '{"a": 1}', "\x00"])
def test_a_record_that_cannot_be_read_trusts_nothing(machine, record):
    file = write(machine.cwd / "a.yaml", ONE)
    write(machine.paths.trusted_files, record)
    assert not machine.trusted.is_trusted(file)
    machine.trusted.trust(file)
    assert machine.trusted.is_trusted(file)


def test_a_file_that_is_not_there_cannot_be_trusted(machine):
    with pytest.raises(ConfigurationError):
        machine.trusted.trust(machine.cwd / "none.yaml")


def test_a_failed_write_leaves_the_record_as_it_was(machine, monkeypatch):
    first, second = write(machine.cwd / "a.yaml", ONE), write(machine.cwd / "b.yaml", ONE)
    machine.trusted.trust(first)

    def full_disk(_handle: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(ConfigurationError, match="cannot be written: no space left"):
        machine.trusted.trust(second)
    assert machine.trusted.paths() == (first.resolve(),)
    assert [path.name for path in machine.paths.state_dir.iterdir()] == ["trusted.json"]


CONFIG_SCRIPT = """
import { config } from '@anygpt/config';

export default config({
  providers: { local: {} }, // none of ours
  discovery: {
    enabled: true,
    servers: [
      {
        name: 'github',
        description: 'Issues and pull requests',
        connection: { type: 'stdio', command: 'npx', args: ['-y', 'server-github'] },
      },
    ],
  },
});
"""


DISCOVERY_SCRIPT = """
export default {
  discovery: {
    sources: [{ type: 'custom', path: './my-mcp-servers.yaml' }],
    toolRules: [{ pattern: ['*delete*', '*remove*'], enabled: false, tags: ['dangerous'] }],
  },
};
"""


def test_servers_in_a_trusted_anygpt_config_script_are_read_as_data(machine):
    file = write(machine.cwd / "anygpt.config.ts", CONFIG_SCRIPT)
    machine.trusted.trust(file)

    settings = machine.load()

    assert (settings.file, settings.problems) == (file, ())
    (server,) = settings.servers
    assert (server.name, server.description) == ("github", "Issues and pull requests")
    assert server.launch == StdioLaunch("npx", ("-y", "server-github"))


def test_a_trusted_discovery_script_brings_its_own_sources_and_rules(machine):
    file = write(machine.cwd / ".anygpt" / "mcp-discovery.config.ts", DISCOVERY_SCRIPT)
    source = write(machine.cwd / ".anygpt" / "my-mcp-servers.yaml", "servers: {wiki: {command: wiki-mcp}}")
    machine.trusted.trust(file)
    machine.trusted.trust(source)

    settings = machine.load()

    assert (settings.file, settings.problems) == (file, ())
    assert [server.name for server in settings.servers] == ["wiki"]
    assert [(rule.pattern, rule.enabled, rule.tags) for rule in settings.tool_rules] == [
        (("*delete*", "*remove*"), False, ("dangerous",))
    ]
