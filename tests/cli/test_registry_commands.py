"""registry search, show and sync against a registry over HTTP."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.machine import Machine
from tests.registry.bundles import packed
from tests.servers.registry import Fault, Registry, entry, npm, serve
from tests.test_public_names import PROTOCOL_STACK, modules_after
from toolcrib.config.load import load_settings


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serve(Registry()) as running:
        yield running


@pytest.fixture
def shop(machine: Machine, registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine that knows the registry, with npx installed and nothing else."""
    machine.configure(f"registry: {{urls: ['{registry.url}'], rate: 1000}}\nmaxRetries: 0\nservers: {{}}\n")
    npx = tmp_path / ("npx.cmd" if sys.platform == "win32" else "npx")
    npx.write_text("", "utf-8")
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return machine


def test_a_search_without_a_copy_asks_the_registry_and_says_so(shop: Machine, registry: Registry) -> None:
    ran = shop.run("registry", "search", "maps", "and", "geocoding")

    assert ran.code == 0
    assert 'Servers for "maps and geocoding" (1 found, asked just now):' in ran.out
    assert "1. io.github.acme/atlas" in ran.out
    assert "Maps, routes and geocoding for agents" in ran.out
    assert "toolcrib registry show NAME" in ran.out


def test_after_a_sync_the_copy_is_searched_and_nobody_is_asked(shop: Machine, registry: Registry) -> None:
    synced = shop.run("registry", "sync")
    registry.requests.clear()

    ran = shop.run("registry", "search", "bookkeeping", "--json")

    assert synced.code == 0
    assert "4 servers can be searched without network" in synced.out
    assert registry.requests == []
    assert ran.json["source"] == "mirror"
    assert ran.json["readAt"]
    (hit,) = ran.json["results"]
    assert (hit["name"], hit["status"], hit["trust"]) == ("io.github.acme/ledger", "deprecated", "unknown")
    assert shop.run("registry", "search", "bookkeeping", "--live", "--json").json["source"] == "live"
    assert "copy of just now" in shop.run("registry", "search", "bookkeeping").out


def test_the_copy_can_be_switched_off(shop: Machine, registry: Registry) -> None:
    shop.run("registry", "sync", "-q")
    shop.configure(f"registry: {{urls: ['{registry.url}'], mirror: false}}\n")

    assert shop.run("registry", "search", "maps", "--json").json["source"] == "live"


def test_looking_into_the_copy_needs_no_protocol_stack(shop: Machine, registry: Registry) -> None:
    shop.run("registry", "sync", "-q")

    loaded = modules_after(
        "import contextlib, io\nfrom toolcrib.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n    assert main(['registry', 'search', 'maps']) == 0"
    )

    assert not loaded & set(PROTOCOL_STACK)


def test_a_server_is_shown_with_its_launch_and_what_it_needs(shop: Machine) -> None:
    ran = shop.run("registry", "show", "io.github.acme/atlas")

    assert ran.code == 0
    assert "Server: io.github.acme/atlas 1.2.0" in ran.out
    assert "As a package (npm) (proposed)" in ran.out
    assert "  npx -y @acme/atlas@1.2.0 --units metric\n" in ran.out
    assert "ATLAS_KEY (required, secret): an environment variable. Key from the Atlas console" in ran.out
    assert "At an address\n  https://atlas.example/mcp" in ran.out
    assert "Nobody has checked what this server does." in ran.out


def test_the_words_it_gives_add_the_server(shop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = shop.run("registry", "show", "io.github.acme/atlas", "--json").json["plans"]
    assert [plan["proposed"] for plan in plans] == [True, False]
    assert plans[0]["entry"] == {
        "command": "npx",
        "args": ["-y", "@acme/atlas@1.2.0", "--units", "metric"],
        "env": {"ATLAS_KEY": "${ATLAS_KEY}", "ATLAS_REGION": "${ATLAS_REGION:-eu}"},
    }

    assert shop.run(*plans[0]["add"][1:]).code == 0

    (added,) = load_settings().servers
    assert added.name == "atlas"
    assert added.launch.command == "npx"  # type: ignore[union-attr]
    assert added.launch.env == plans[0]["entry"]["env"]  # type: ignore[union-attr]


def test_a_way_that_cannot_be_used_says_why(shop: Machine, registry: Registry) -> None:
    registry.entries.append(
        entry(
            "io.github.acme/odd",
            packages=[
                npm("--evil"),
                {"registryType": "mcpb", "identifier": "https://code.example/odd.mcpb", "fileSha256": "ab" * 32},
                {"registryType": "oci", "identifier": "acme/odd"},
            ],
        )
    )

    ran = shop.run("registry", "show", "io.github.acme/odd")
    shown = shop.run("registry", "show", "io.github.acme/odd", "--json").json

    assert "can't be used: '--evil' is not the name of an npm package" in ran.out
    assert "its SHA-256 must be abab" in ran.out
    assert "docker is not installed on this machine" in ran.out
    assert "Mind: no exact version is named" in ran.out
    assert shown["launchable"] is True
    assert [sorted(plan)[:1] for plan in shown["plans"]] == [["kind"], ["download"], ["add"]]
    assert shop.run("registry", "show", "org.example/brochure", "--json").json["launchable"] is False
    assert "No way to run it" in shop.run("registry", "show", "org.example/brochure").out


def test_a_downloaded_bundle_is_checked_and_unpacked(shop: Machine, registry: Registry, tmp_path: Path) -> None:
    manifest = {"server": {"mcp_config": {"command": "node", "args": ["${__dirname}/index.js"]}}}
    (tmp_path / "odd.mcpb").write_bytes(packed({"manifest.json": manifest, "index.js": ""}))
    sha256 = hashlib.sha256((tmp_path / "odd.mcpb").read_bytes()).hexdigest()
    package = {"registryType": "mcpb", "identifier": "https://code.example/odd.mcpb", "fileSha256": sha256}
    registry.entries.append(entry("io.github.acme/odd", packages=[package]))
    command = ["registry", "show", "io.github.acme/odd", "--bundle"]

    ran = shop.run(*command, str(tmp_path / "odd.mcpb"), "--json")

    assert ran.json["entry"]["args"] == [f"{shop.paths.bundles_dir / 'odd-1.0.0'}/index.js"]
    assert "To add it: toolcrib add odd -- node" in shop.run(*command, str(tmp_path / "odd.mcpb")).out
    (tmp_path / "odd.mcpb").write_bytes(b"something else")
    assert shop.run(*command, str(tmp_path / "odd.mcpb")).code == 1
    assert shop.run(*command, str(tmp_path / "missing")).code == 1
    assert shop.run("registry", "show", "com.example/post", "--bundle", "x").code == 1


def test_an_older_transport_is_shown_as_an_entry(shop: Machine) -> None:
    ran = shop.run("registry", "show", "com.example/post")

    assert "write into servers of your file: post: {'type': 'sse', 'url': 'https://post.example/sse'}" in ran.out


def test_a_deprecated_server_says_what_its_publisher_says(shop: Machine) -> None:
    assert "Status: deprecated. use ledger2" in shop.run("registry", "show", "io.github.acme/ledger").out


def test_versions_are_listed(shop: Machine) -> None:
    assert shop.run("registry", "show", "io.github.acme/atlas", "--versions").out.splitlines()[1].startswith("1.2.0")
    shown = shop.run("registry", "show", "io.github.acme/atlas", "--versions", "--json").json
    assert [one["version"] for one in shown["versions"]] == ["1.2.0", "1.1.0"]
    assert shop.run("registry", "show", "io.github.acme/none", "--versions").code == 2


def test_foreign_text_does_nothing_to_the_terminal(shop: Machine, registry: Registry) -> None:
    registry.entries.append(
        entry(
            "io.github.acme/escape",
            "maps \x1b[2J\x1b]0;owned\x07 \u202e",
            version="1\x1b[0m",
            packages=[npm("escape", packageArguments=[{"type": "positional", "value": "a'b; rm -rf ~"}])],
        )
    )

    found = shop.run("registry", "search", "maps")
    shown = shop.run("registry", "show", "io.github.acme/escape")

    assert "\x1b" not in found.out + shown.out
    assert "\u202e" not in found.out + shown.out
    line = next(line for line in shown.out.splitlines() if "npx" in line and "add" not in line)
    assert shlex.split(line) == ["npx", "-y", "escape@1.0.0", "a'b; rm -rf ~"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["registry"], 1),
        (["registry", "search"], 1),
        (["registry", "search", " "], 1),
        (["registry", "search", "maps", "--limit", "0"], 1),
        (["registry", "search", "xyzzyplugh"], 2),
        (["registry", "show"], 1),
        (["registry", "show", "io.github.acme/nothing"], 2),
    ],
)
def test_the_exit_code_tells_what_went_wrong(shop: Machine, arguments: list[str], code: int) -> None:
    ran = shop.run(*arguments)

    assert ran.code == code
    assert ran.err


def test_an_unknown_server_comes_with_the_nearest_names(shop: Machine) -> None:
    ran = shop.run("registry", "show", "io.github.acme/atlaz", "--json")

    assert ran.json["error"]["code"] == "NOT_IN_REGISTRY"
    ran = shop.run("registry", "show", "io.github.acne/atlas")
    assert "Did you mean: io.github.acme/atlas" in ran.err


def test_a_registry_that_fails_is_reported_and_the_others_are_copied(shop: Machine, registry: Registry) -> None:
    shop.configure(
        f"registry: {{urls: ['http://127.0.0.1:9', '{registry.url}/'], rate: 1000}}\nmaxRetries: 0\nservers: {{}}\n"
    )

    ran = shop.run("registry", "sync", "--json")

    assert ran.code == 3
    assert [one["registry"] for one in ran.json["synced"]] == [registry.url]
    assert [one["code"] for one in ran.json["failed"]] == ["SERVER_CONNECTION_ERROR"]
    assert ran.json["servers"] == 4
    found = shop.run("registry", "search", "maps", "--json")
    assert found.json["source"] == "live"
    assert "not asked" in found.err


def test_a_registry_that_cannot_be_reached_is_explained_once_with_what_to_do_next(machine: Machine) -> None:
    machine.configure("registry: {urls: ['http://127.0.0.1:9'], rate: 1000}\nmaxRetries: 0\nservers: {}\n")

    ran = machine.run("registry", "sync")

    assert ran.code == 3
    assert ran.out == "No server can be searched without network yet.\n"
    assert ran.err.count("refused") == 1
    assert ran.err.splitlines()[-1].startswith("Run `toolcrib registry sync` again")
    assert machine.run("registry", "sync", "--json").json["failed"][0]["hint"]


def test_a_sync_that_is_interrupted_goes_on_next_time(shop: Machine, registry: Registry) -> None:
    registry.page_size = 2
    shop.run("registry", "sync", "-q")
    registry.requests.clear()
    registry.faults.append(Fault(500, b"broken"))

    assert shop.run("registry", "sync", "--full").code == 3
    again = shop.run("registry", "sync", "--full", "--json")

    assert again.code == 0
    assert again.json["synced"][0]["full"] is True


@pytest.mark.parametrize(
    "urls", ["[]", "['ftp://registry.example']", "['https://me:pw@registry.example']", "['nonsense']"]
)
def test_addresses_that_cannot_be_used_are_a_configuration_error(machine: Machine, urls: str) -> None:
    machine.configure(f"registry: {{urls: {urls}}}\n")

    ran = machine.run("registry", "search", "maps")

    assert ran.code == 2
    assert "registry.urls" in ran.err
    assert "pw" not in ran.err


def test_a_missing_capability_is_looked_for_in_the_copy_and_live_only_when_asked(
    shop: Machine, registry: Registry
) -> None:
    alone = shop.run("capabilities", "resolve", "maps", "and", "geocoding")
    assert (alone.code, registry.requests) == (2, [])
    assert "registries were not searched" in alone.err

    live = shop.run("capabilities", "resolve", "maps", "and", "geocoding", "--live", "--json")
    assert [(one["id"], one["place"]) for one in live.json["candidates"]] == [("io.github.acme/atlas", "registry")]

    shop.run("registry", "sync")
    registry.requests.clear()
    copied = shop.run("capabilities", "resolve", "mcp.maps.geocoding", "--json")
    assert copied.json["candidates"][0]["id"] == "io.github.acme/atlas"
    assert "toolcrib registry show io.github.acme/atlas" in copied.json["candidates"][0]["next_step"]
    assert registry.requests == []
