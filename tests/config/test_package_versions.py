from __future__ import annotations

import pytest

from toolcrib.config.package_versions import unpinned_packages
from toolcrib.model.server import RemoteLaunch, StdioLaunch


@pytest.mark.parametrize(
    ("line", "unpinned"),
    [
        ("npx -y @acme/atlas", ["@acme/atlas"]),
        ("npx -y @acme/atlas@1.2.0", []),
        ("npx -y @acme/atlas@1.2.0-beta.1 --units metric", []),
        ("npx -y atlas@latest", ["atlas@latest"]),
        ("npx -y atlas@next", ["atlas@next"]),
        ("npx -y atlas@^1.2.0", ["atlas@^1.2.0"]),
        ("npx -y atlas@1.x", ["atlas@1.x"]),
        ("npx --package=atlas atlas-server", ["atlas"]),
        ("npx -y github:acme/atlas", ["github:acme/atlas"]),
        (f"npx -y github:acme/atlas#{'a' * 40}", []),
        ("npx ./local", []),
        ("pnpm dlx atlas", ["atlas"]),
        ("bunx atlas@2.0.1", []),
        ("uvx atlas", ["atlas"]),
        ("uvx atlas@0.3.1", []),
        ("uvx --from atlas==0.3.1 atlas-server", []),
        ("uvx --from atlas>=0.3 atlas-server", ["atlas>=0.3"]),
        ("uvx --from git+https://example.com/acme/atlas atlas", ["git+https://example.com/acme/atlas"]),
        (f"uvx --from git+https://example.com/acme/atlas@{'a' * 40} atlas", []),
        ("uvx --from /opt/atlas atlas", []),
        ("docker run -i --rm acme/atlas", ["acme/atlas"]),
        ("docker run -i --rm acme/atlas:latest", ["acme/atlas:latest"]),
        ("docker run -i --rm registry.example:5000/acme/atlas:1.4.2", []),
        (f"docker run -i --rm acme/atlas@sha256:{'a' * 64}", []),
        ("docker exec -i atlas server", []),
        ("sh -c 'exec npx -y atlas'", ["atlas"]),
        ("node /opt/atlas/index.js", []),
        ("atlas-server", []),
        ("npx", []),
    ],
)
def test_packages_without_an_exact_version_are_named(line: str, unpinned: list[str]) -> None:
    words = line.split(" ") if "'" not in line else ["sh", "-c", "exec npx -y atlas"]
    assert unpinned_packages(StdioLaunch(words[0], tuple(words[1:]))) == unpinned


def test_an_address_has_no_packages() -> None:
    assert unpinned_packages(RemoteLaunch("https://a.example/npx")) == []
