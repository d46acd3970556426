"""T16: a package that can change by itself is not taken from others without a word of the person, and a changed one not at all."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from tests.cli.machine import Machine
from tests.registry.bundles import MANIFEST, packed
from tests.servers.registry import Registry, entry, serve
from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.cli.main import main
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.model.server import StdioLaunch

# Known already, so that nothing is started to learn it.
TOOL = {"name": "find", "inputSchema": {"type": "object"}}


def proposed(*args: str) -> str:
    """What an agent proposed; its id."""
    request = ProposalRequest(name="atlas", launch=StdioLaunch("npx", args), source="agent", definitions=(TOOL,))
    with read_capabilities(load_settings()) as capabilities:
        return capabilities.review.propose(request, "agent").id


def configured() -> list[str]:
    return [server.name for server in load_settings().servers]


@pytest.mark.parametrize("package", ["@acme/atlas", "@acme/atlas@latest", "github:acme/atlas"])
def test_t16_an_unpinned_package_needs_a_word_of_the_person(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    request = proposed("-y", package)

    assert main(["approvals", "approve", request, "--yes"]) != 0
    assert f"{package} has no exact version" in " ".join(capsys.readouterr().err.split())
    assert configured() == []


def test_t16_with_that_word_or_a_version_it_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    file = Paths.of(os.environ).config_file
    main(["approvals", "approve", proposed("-y", "@acme/atlas@1.2.0"), "--yes", "--json"])
    assert json.loads(capsys.readouterr().out)["success"] is True
    assert "@acme/atlas@1.2.0" in file.read_text(encoding="utf-8")


def test_t16_adding_an_unpinned_package_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", "atlas", "--", "npx", "-y", "@acme/atlas"]) == 0
    assert "@acme/atlas has no exact version" in " ".join(capsys.readouterr().err.split())
    assert main(["add", "other", "--", "npx", "-y", "@acme/atlas@1.2.0"]) == 0
    assert "exact version" not in capsys.readouterr().err


def test_t16_a_bundle_that_is_not_the_one_its_entry_names_is_not_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine, file = Machine(capsys), tmp_path / "atlas.mcpb"
    named = packed({"manifest.json": MANIFEST, "server/index.js": "serve()"})
    sha256 = hashlib.sha256(named).hexdigest()
    package = {"registryType": "mcpb", "identifier": "https://code.example/atlas.mcpb", "fileSha256": sha256}
    command = ("registry", "show", "io.github.acme/atlas", "--bundle", str(file))
    with serve(Registry([entry("io.github.acme/atlas", packages=[package])])) as registry:
        machine.configure(f"registry: {{urls: ['{registry.url}'], rate: 1000}}\nmaxRetries: 0\nservers: {{}}\n")

        file.write_bytes(packed({"manifest.json": MANIFEST, "server/index.js": "steal()"}))
        refused = machine.run(*command)
        assert refused.code != 0
        assert "its SHA-256 differs" in " ".join((refused.out + refused.err).split())
        assert not machine.paths.bundles_dir.exists()

        file.write_bytes(named)
        assert machine.run(*command).code == 0
        assert [one.read_text("utf-8") for one in machine.paths.bundles_dir.rglob("*.js")] == ["serve()"]
