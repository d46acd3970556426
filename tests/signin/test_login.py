"""`toolcrib login` and `logout`, as processes of their own, with a browser that is a program."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.machine import Machine, Ran
from tests.signin.house import House, error_of, said

BROWSER = Path(__file__).parent / "programs" / "browser.py"


@pytest.fixture
def machine(capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(capsys)


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the browser writes what it saw."""
    seen = tmp_path / "seen"
    monkeypatch.setenv("BROWSER", f"{sys.executable} {BROWSER} {seen} %s")
    return seen


async def ran(machine: Machine, *arguments: str) -> Ran:
    return await asyncio.to_thread(machine.run_apart, *arguments)


async def test_a_person_signs_in_with_the_browser_and_calls_work(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    refused = await ran(machine, "execute", "vault", "open_drawer", "text=x")
    assert "SIGN_IN_REQUIRED" in refused.out
    assert "toolcrib login vault" in refused.out

    login = await ran(machine, "login", "vault")
    assert (login.code, login.out) == (0, "Signed in to vault. The token renews by itself.\nIt has 3 tools.\n"), (
        login.err
    )
    words, _, page = browser.read_text("utf-8").partition("\n")
    assert words.startswith("3 200 http://127.0.0.1:")
    assert "You can close this page" in page

    called = await ran(machine, "execute", "vault", "open_drawer", "text=hello", "--json")
    assert called.json == {"success": True, "result": {"text": "hello"}}


async def test_a_sign_in_asks_for_the_scopes_and_the_resource_of_the_server(
    house: House, machine: Machine, browser: Path
) -> None:
    house.configure()
    assert (await ran(machine, "login", "vault", "-q")).code == 0
    [query] = house.authority.asked("/authorize")
    assert (query["scope"], query["resource"], query["code_challenge_method"]) == ("read", house.url, "S256")
    assert query["redirect_uri"].startswith("http://127.0.0.1:")
    [form] = house.authority.asked("/token", "authorization_code")
    assert (form["resource"], form["redirect_uri"]) == (house.url, query["redirect_uri"])


async def test_a_second_sign_in_registers_no_second_client(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    for scopes in ("read", "read write"):
        assert (await ran(machine, "login", "vault", "--scopes", scopes)).code == 0
    assert len(house.authority.asked("/register")) == 1
    assert [query["scope"] for query in house.authority.asked("/authorize")] == ["read", "read write"]


async def test_a_running_gateway_uses_a_sign_in_at_once(house: House, machine: Machine, browser: Path) -> None:
    async with house.gateway() as gateway:
        assert (await error_of(gateway)).code == "SIGN_IN_REQUIRED"
        assert (await ran(machine, "login", "vault")).code == 0
        assert await said(gateway) == {"text": "hello"}


async def test_json_says_what_the_sign_in_is_good_for(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    answer = (await ran(machine, "login", "vault", "--json")).json
    assert answer.pop("expiresAt") > 0
    assert answer == {
        "success": True,
        "server": "vault",
        "account": "",
        "issuer": house.authority.address,
        "scopes": ["read"],
        "renews": True,
        "keptIn": "file",
        "toolCount": 3,
    }


async def test_two_entries_of_one_address_are_signed_in_as_two_people(
    house: House, machine: Machine, browser: Path
) -> None:
    house.configure(more={"work": {"url": house.url, "oauth": {"account": "work"}}})
    assert (await ran(machine, "login", "work")).code == 0
    assert "SIGN_IN_REQUIRED" in (await ran(machine, "execute", "vault", "open_drawer")).out
    assert (await ran(machine, "execute", "work", "open_drawer")).code == 0


async def test_list_and_doctor_name_the_command_and_doctor_the_time_left(
    house: House, machine: Machine, browser: Path
) -> None:
    house.configure()
    assert "toolcrib login vault" in (await ran(machine, "list")).out
    before = await ran(machine, "doctor", "--json")
    [broken] = before.json["servers"]
    assert (broken["code"], "signIn" in broken) == ("SIGN_IN_REQUIRED", False)
    assert "toolcrib login vault" in broken["nextStep"]

    await ran(machine, "login", "vault")
    after = await ran(machine, "doctor")
    assert after.code == 0
    assert "vault: signed in with a token, which holds for 1 hour and renews by itself" in after.out
    assert "sign-in" not in (await ran(machine, "list")).out

    house.authority.withdraw_all()
    ended = await ran(machine, "doctor")
    assert "vault: signed out: the sign-in was withdrawn or has run out (the person withdrew it)" in ended.out


async def test_logout_revokes(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    await ran(machine, "login", "vault")
    refresh = house.tokens.refresh
    ended = await ran(machine, "logout", "vault")
    assert (ended.code, ended.out) == (0, "Signed out of vault; its tokens are no longer valid.\n")
    assert [form["token"] for form in house.authority.asked("/revoke")] == [refresh]
    assert "SIGN_IN_REQUIRED" in (await ran(machine, "execute", "vault", "open_drawer")).out
    assert (await ran(machine, "logout", "vault")).out == "Nobody was signed in to vault.\n"
    assert (await ran(machine, "login", "vault")).code == 0
    assert len(house.authority.asked("/register")) == 1
    assert (await ran(machine, "logout", "vault", "--forget-client")).code == 0
    assert house.record is None


async def test_a_service_that_can_not_be_told_leaves_no_token_here(
    house: House, machine: Machine, browser: Path
) -> None:
    house.authority.metadata_changes = {"revocation_endpoint": None}
    house.configure()
    await ran(machine, "login", "vault")
    ended = await ran(machine, "logout", "vault", "--json")
    assert ended.json == {"success": True, "server": "vault", "wasSignedIn": True, "revoked": False}
    record = house.record
    assert record is not None
    assert record.tokens is None


async def test_a_running_gateway_stops_using_a_sign_in_that_was_ended(house: House, machine: Machine) -> None:
    record = house.sign_in()
    async with house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}
        house.store.put(record.ended("you signed out"))  # as `logout` does where the service takes no word of it
        async with asyncio.timeout(20):
            while (await gateway.execute_tool("vault", "open_drawer", {})).error is None:  # noqa: ASYNC110 - it is asked
                await asyncio.sleep(0.2)


async def test_a_person_who_does_not_agree_is_not_signed_in(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    house.authority.agrees = False
    login = await ran(machine, "login", "vault", "--json")
    assert (login.code, login.json["error"]["code"]) == (3, "SIGN_IN_FAILED")
    assert login.json["error"]["reason"] == "refused"
    assert house.record is None


async def test_a_browser_that_never_comes_back(house: House, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    house.configure()
    monkeypatch.setenv("BROWSER", f"{sys.executable} -c pass %s")
    monkeypatch.setenv("TOOLCRIB_OAUTH_LOGIN_TIMEOUT", "0.5")
    login = await ran(machine, "login", "vault", "--json")
    assert (login.code, login.json["error"]["reason"]) == (3, "timeout")
    assert "nobody came back from the browser within 0.5 s" in login.json["error"]["message"]


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
async def test_no_token_is_in_any_output_log_or_file_but_its_own(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    ran_all = [
        await ran(machine, *command)
        for command in (
            ["login", "vault", "-vv"],
            ["execute", "vault", "open_drawer", "-vv"],
            ["doctor", "-vv"],
            ["list", "--json"],
            ["config", "show"],
        )
    ]
    secrets = {*house.authority.access, *house.authority.grants}
    shown = "".join(one.out + one.err for one in ran_all)
    assert [secret for secret in secrets if secret in shown] == []
    holding = [
        file
        for file in house.paths.state_dir.rglob("*")
        if file.is_file() and any(secret.encode() in file.read_bytes() for secret in secrets)
    ]
    assert holding == [house.paths.sign_ins_dir / f"{house.record.key}.json"]  # type: ignore[union-attr]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"headers": {"Authorization": "Bearer fixed-token-4711"}}, "has_token"),
        ({"oauth": False}, "not_allowed"),
    ],
)
async def test_a_server_with_other_credentials_is_not_signed_in_to(
    house: House, machine: Machine, entry: dict[str, object], reason: str
) -> None:
    house.configure(**entry)
    house.sign_in()
    login = await ran(machine, "login", "vault", "--json")
    assert (login.code, login.json["error"]["reason"]) == (3, reason)
    await ran(machine, "execute", "vault", "open_drawer")
    assert house.tokens.access not in house.vault.tokens


async def test_a_program_is_not_signed_in_to(house: House, machine: Machine) -> None:
    house.configure(more={"local": {"command": "never-started"}})
    login = await ran(machine, "login", "local", "--json")
    assert (login.code, login.json["error"]["reason"]) == (3, "not_remote")


async def test_a_client_that_was_registered_by_hand_is_used(
    house: House, machine: Machine, browser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_SECRET", "by-hand-secret-2f0e")
    house.configure(oauth={"clientId": "by-hand", "clientSecret": "${VAULT_SECRET}"})
    login = await ran(machine, "login", "vault")
    assert login.code == 0, login.err
    assert house.authority.asked("/register") == []
    [form] = house.authority.asked("/token", "authorization_code")
    assert (form["basic_id"], form["basic_secret"]) == ("by-hand", "by-hand-secret-2f0e")
    shown = await ran(machine, "config", "show", "--json")
    assert "by-hand-secret" not in json.dumps(shown.out)


async def test_a_service_that_registers_nobody_says_what_to_do(house: House, machine: Machine, browser: Path) -> None:
    house.configure()
    house.authority.registration_status = 403
    login = await ran(machine, "login", "vault", "--json")
    assert login.json["error"]["reason"] == "registration"
    assert "oauth.clientId" in login.json["error"]["hint"]
