"""Sign-ins of mcp-remote, the bridge that many clients use today, become ours."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.machine import Machine, Ran
from tests.signin.house import House
from toolcrib.signin.mcp_remote import bridge_sign_in


@pytest.fixture
def machine(capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(capsys)


def home() -> Path:
    return Path(os.environ["HOME"])


def bridge_signed_in(
    house: House, folder: str = "mcp-remote-v1", *, hashed: str = "", life: float = 3600, **more: Any
) -> tuple[str, str]:
    """The files of the bridge after a sign-in: the tokens in them."""
    access, refresh = house.authority.give("read", house.url)
    place = home() / ".mcp-auth" / folder
    place.mkdir(parents=True, exist_ok=True)
    name = hashlib.md5((hashed or house.url).encode()).hexdigest()
    tokens = {
        "access_token": access,
        "token_type": "Bearer",
        "refresh_token": refresh,
        "expires_in": 3600,
        "expires_at": (time.time() + life) * 1000,
        "scope": "read",
    }
    client = {"client_id": "bridge-client", "redirect_uris": ["http://localhost:3334/oauth/callback"]}
    (place / f"{name}_tokens.json").write_text(json.dumps({**tokens, **more}), "utf-8")
    (place / f"{name}_client_info.json").write_text(json.dumps(client), "utf-8")
    return access, refresh


async def ran(machine: Machine, *arguments: str) -> Ran:
    return await asyncio.to_thread(machine.run_apart, *arguments)


async def test_a_sign_in_of_the_bridge_is_gone_on_with(house: House, machine: Machine) -> None:
    access, refresh = bridge_signed_in(house)
    house.configure()
    login = await ran(machine, "login", "vault", "--from-mcp-remote")
    assert (login.code, login.out.splitlines()[-1]) == (0, "It has 3 tools."), login.err
    assert (house.tokens.access, house.tokens.refresh) == (access, refresh)
    assert house.authority.asked("/authorize") == house.authority.asked("/register") == []


async def test_a_token_of_the_bridge_that_has_run_out_is_renewed_for_its_client(house: House, machine: Machine) -> None:
    bridge_signed_in(house, life=-100)
    house.configure()
    assert (await ran(machine, "login", "vault", "--from-mcp-remote")).code == 0
    [form] = house.authority.asked("/token", "refresh_token")
    assert (form["client_id"], form["resource"]) == ("bridge-client", house.url)


async def test_a_new_sign_in_does_not_use_the_client_of_the_bridge(
    house: House, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge_signed_in(house)
    house.configure()
    assert (await ran(machine, "login", "vault", "--from-mcp-remote")).code == 0
    monkeypatch.setenv("TOOLCRIB_OAUTH_LOGIN_TIMEOUT", "0.2")
    assert (await ran(machine, "login", "vault", "--no-browser", "--json")).json["error"]["reason"] == "timeout"
    [asked] = house.authority.asked("/register")  # the bridge is registered for another address than ours
    assert asked["redirect_uris"].startswith("http://127.0.0.1:")


async def test_without_a_sign_in_of_the_bridge_it_says_so(house: House, machine: Machine) -> None:
    house.configure()
    login = await ran(machine, "login", "vault", "--from-mcp-remote", "--json")
    assert (login.code, login.json["error"]["reason"]) == (3, "nothing_there")


async def test_tokens_of_mcp_remote_are_taken_over_at_adoption(house: House, machine: Machine) -> None:
    access, _ = bridge_signed_in(house)
    cursor = home() / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    bridged = {"command": "npx", "args": ["-y", "mcp-remote", house.url, "--allow-http", "--transport", "http-only"]}
    other = {"command": "npx", "args": ["-y", "mcp-remote", f"{house.vault.address}/other"]}
    before = json.dumps({"mcpServers": {"vault": bridged, "other": other}})
    cursor.write_text(before, "utf-8")

    adopted = await ran(machine, "adopt", "cursor", "--yes")
    assert adopted.code == 0, adopted.err
    assert "The sign-in to vault came along." in adopted.out
    assert "Run `toolcrib login other` to sign in to it." in adopted.out
    assert "mcp-remote" not in house.paths.config_file.read_text("utf-8")
    assert house.tokens.access == access
    assert (await ran(machine, "execute", "vault", "open_drawer")).code == 0

    assert (await ran(machine, "release", "cursor", "--yes")).code == 0
    assert cursor.read_text("utf-8") == before


@pytest.mark.parametrize("folders", [["mcp-remote-0.1.9", "mcp-remote-0.1.37"], ["mcp-remote-0.1.37", "mcp-remote-v1"]])
async def test_the_newest_store_of_the_bridge_counts(house: House, folders: list[str]) -> None:
    given = [bridge_signed_in(house, folder)[0] for folder in folders]
    found = bridge_sign_in(home(), {}, house.url, {})
    assert found is not None
    assert found.tokens.access == given[-1]


async def test_headers_are_part_of_the_name_of_the_files(house: House) -> None:
    access, _ = bridge_signed_in(house, hashed=f'{house.url}|{{"A":"é","X-Team":"blue"}}')
    found = bridge_sign_in(home(), {}, house.url, {"X-Team": "blue", "A": "é"})
    assert found is not None
    assert found.tokens.access == access
    assert bridge_sign_in(home(), {}, house.url, {}) is None


async def test_another_folder_of_the_bridge_is_found_by_its_variable(house: House, tmp_path: Path) -> None:
    bridge_signed_in(house)
    (home() / ".mcp-auth").rename(tmp_path / "elsewhere")
    assert bridge_sign_in(home(), {}, house.url, {}) is None
    assert bridge_sign_in(home(), {"MCP_REMOTE_CONFIG_DIR": str(tmp_path / "elsewhere")}, house.url, {}) is not None


@pytest.mark.parametrize("change", [{"access_token": ""}, {"access_token": 7}, {"access_token": "two\nlines"}])
async def test_what_can_not_be_read_is_not_there(house: House, change: dict[str, Any]) -> None:
    bridge_signed_in(house, **change)
    assert bridge_sign_in(home(), {}, house.url, {}) is None


async def test_an_older_bridge_says_only_how_long_a_token_holds(house: House) -> None:
    bridge_signed_in(house, expires_at=None)
    found = bridge_sign_in(home(), {}, house.url, {})
    assert found is not None
    assert found.tokens.expires_at is not None
    assert abs(found.tokens.expires_at - time.time() - 3600) < 60
