"""Signing in without a browser on this machine, without a person, and once more for a tool that needs more."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import httpx2
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.cli.machine import Machine
from tests.signin.house import House, error_of, said, soon_said
from tests.signin.people import Browser, signed_in
from toolcrib.config.load import load_settings
from toolcrib.engine.sign_ins import SignIns
from toolcrib.errors import SignInFailed
from toolcrib.signin.record import Registration
from toolcrib.upstream.device_flow import DeviceRequest, device_tokens
from toolcrib.upstream.sign_in_http import SignInHttp

CREDENTIALS = {"grant": "client_credentials", "clientId": "machine", "clientSecret": "${MACHINE_SECRET}"}


@pytest.fixture
def machine(capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(capsys)


async def login_process(*arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolcrib", "login", "vault", *arguments, stdin=pipe, stdout=pipe, stderr=pipe
    )


async def test_a_tool_that_needs_more_asks_for_a_sign_in_that_allows_it(house: House) -> None:
    house.vault.tool_scopes = {"delete_all": "write"}
    await signed_in(house)
    async with house.gateway() as gateway:
        error = await error_of(gateway, "delete_all")
        assert (error.code, error.details["scopes"]) == ("SIGN_IN_REQUIRED", "read write")
        assert '`toolcrib login vault --scopes "read write"`' in error.hint
        assert await said(gateway) == {"text": "hello"}  # what is allowed still works, and nothing was renewed
        assert house.renewals == 0

        await signed_in(house, scopes="read write")
        assert await said(gateway, "all", "delete_all") == {"text": "all"}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_of_one_era_is_asked_in_that_era_what_it_wants(house: House, era: str) -> None:
    house.vault.knows_only = era
    house.vault.scopes = "read special"
    await signed_in(house)
    [query] = house.authority.asked("/authorize")
    assert query["scope"] == "read special"


async def test_a_tool_that_needs_more_than_anybody_gets_is_refused_each_time(house: House) -> None:
    house.vault.tool_scopes = {"delete_all": "never-given"}
    house.sign_in()
    async with house.gateway() as gateway:
        codes = [(await error_of(gateway, "delete_all")).code for _ in range(3)]
    assert codes == ["SIGN_IN_REQUIRED"] * 3
    assert house.renewals == 0
    assert house.record is not None


async def test_device_flow(house: House, machine: Machine) -> None:
    house.authority.offers_device = True
    house.authority.device_answers = ["authorization_pending"]
    house.configure()
    login = await asyncio.to_thread(machine.run_apart, "login", "vault", "--no-browser", "--json")
    assert login.code == 0, login.err
    assert "ABCD-EFGH" in login.err
    assert f"{house.authority.address}/activate" in login.err
    assert house.authority.asked("/authorize") == []
    record = house.record
    assert record is not None
    assert (record.grant, record.indicator) == ("device", house.url)
    async with house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}


async def test_a_client_that_was_registered_for_the_browser_is_not_used_with_a_code(house: House) -> None:
    await signed_in(house)
    house.authority.offers_device = True
    person = Browser()
    await signed_in(house, person, prefers_device=True)
    await signed_in(house, person, prefers_device=True)
    assert person.shown == ["ABCD-EFGH"] * 2
    assert len(house.authority.asked("/register")) == 2


@pytest.mark.parametrize(
    ("answers", "reason"),
    [(["access_denied"], "refused"), (["expired_token"], "refused"), (["authorization_pending"] * 100, "timeout")],
)
async def test_a_code_that_nobody_types_in_signs_nobody_in(house: House, answers: list[str], reason: str) -> None:
    house.authority.device_answers = answers
    with pytest.raises(SignInFailed) as failure:
        await by_device(house)
    assert failure.value.reason == reason


async def test_a_service_that_wants_fewer_questions_is_asked_less_often(house: House) -> None:
    house.authority.device_answers = ["slow_down", "authorization_pending", "slow_down"]
    pauses, tokens = await by_device(house)
    assert pauses == [1.0, 6.0, 6.0, 11.0]
    assert tokens.access in house.authority.access


@pytest.mark.parametrize(("pause", "waited"), [(10**9, 60.0), (10**400, 5.0)])
async def test_a_service_that_wants_to_be_asked_in_years_does_not_hold_a_sign_in_up(
    house: House, pause: int, waited: float
) -> None:
    house.authority.device_pause = pause
    pauses, _ = await by_device(house)
    assert pauses == [waited]


async def by_device(house: House) -> tuple[list[float], Any]:
    """The waits between the questions, none of which is really waited for, and the tokens."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def show(_url: str, _code: str) -> None:
        pass

    there = house.authority.address
    request = DeviceRequest("vault", f"{there}/device", f"{there}/token", Registration(id="us"))
    async with SignInHttp(house.url) as http:
        tokens = await device_tokens(request, http, show, seconds=60, now=lambda: sum(pauses), sleep=sleep)
    return pauses, tokens


async def test_pasted_address(house: House) -> None:
    house.configure()
    login = await login_process("--no-browser")
    assert login.stderr is not None
    assert login.stdin is not None
    async with asyncio.timeout(40):
        url = ""
        while not url.startswith("http"):
            url = (await login.stderr.readline()).decode().strip()
        async with httpx2.AsyncClient() as client:
            sent_to = (await client.get(url)).headers["location"]
        login.stdin.write(b"http://127.0.0.1/callback?code=x&state=y\n")
        await login.stdin.drain()
        told = ""
        while "That is not the address" not in told:
            told = (await login.stderr.readline()).decode()
        out, _ = await login.communicate(sent_to.encode() + b"\n")
    assert (login.returncode, out.decode().splitlines()[0]) == (0, "Signed in to vault. The token renews by itself.")


@pytest.fixture
def credentials(house: House, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("MACHINE_SECRET", "machine-secret-8f2a61")
    return {"oauth": {**CREDENTIALS, "issuer": house.authority.address, "scopes": "read"}}


async def test_client_credentials_need_no_person_and_no_command(house: House, credentials: dict[str, Any]) -> None:
    async with house.gateway(**credentials) as gateway:
        answers = await asyncio.gather(*(said(gateway, str(number)) for number in range(4)))
        assert answers == [{"text": str(number)} for number in range(4)]
        assert len(house.authority.asked("/token", "client_credentials")) == 1
        house.authority.expire(house.tokens.access)
        assert await said(gateway) == {"text": "hello"}
    asked = house.authority.asked("/token", "client_credentials")
    assert [form["resource"] for form in asked] == [house.url] * 2
    assert house.authority.asked("/authorize") == []


async def test_client_credentials_go_to_their_own_issuer_only(house: House, credentials: dict[str, Any]) -> None:
    credentials["oauth"]["issuer"] = "https://auth.example"
    async with house.gateway(**credentials) as gateway:
        error = await error_of(gateway)
    assert error.code == "SIGN_IN_FAILED"
    assert house.authority.asked("/token") == []


async def test_client_credentials_that_are_wrong_are_said_to_be(
    house: House, credentials: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACHINE_SECRET", "wrong-secret-00000")
    async with house.gateway(**credentials) as gateway:
        error = await error_of(gateway)
    assert error.code == "SIGN_IN_FAILED"
    assert "invalid_client" in error.message
    assert "wrong-secret" not in f"{error.message} {error.hint}"


async def test_an_outage_at_a_sign_in_without_a_person_is_one(house: House, credentials: dict[str, Any]) -> None:
    house.authority.down = 503
    async with house.gateway(**credentials) as gateway:
        error = await error_of(gateway)
        assert error.code == "SIGN_IN_UNAVAILABLE"
        assert "toolcrib login" not in f"{error.message} {error.hint}"
        house.authority.down = None
        assert await soon_said(gateway) == {"text": "hello"}


async def test_a_secret_that_is_not_set_is_asked_for(
    house: House, credentials: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MACHINE_SECRET")
    async with house.gateway(**credentials) as gateway:
        error = await error_of(gateway)
    assert (error.code, "MACHINE_SECRET" in error.message) == ("SERVER_NEEDS_CONFIGURATION", True)


@pytest.fixture(scope="module")
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def signing(house: House, key: ec.EllipticCurvePrivateKey, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    house.authority.public_key = key.public_key()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    monkeypatch.setenv("MACHINE_KEY", pem)
    proof = {"privateKey": "${MACHINE_KEY}", "signingAlgorithm": "ES256"}
    named = {"clientId": "machine", "issuer": house.authority.address, "scopes": "read"}
    return {"oauth": {"grant": "client_credentials", **named, **proof}}


async def test_a_signature_proves_who_we_are_and_its_key_is_kept_nowhere(house: House, signing: dict[str, Any]) -> None:
    async with house.gateway(**signing) as gateway:
        answers = await asyncio.gather(*(said(gateway, str(number)) for number in range(4)))
        assert answers == [{"text": str(number)} for number in range(4)]
        assert len(house.authority.asked("/token", "client_credentials")) == 1
        house.authority.expire(house.tokens.access)
        assert await said(gateway) == {"text": "hello"}
    first, second = house.authority.asked("/token", "client_credentials")
    assert first["client_assertion"] != second["client_assertion"]
    assert first["resource"] == house.url
    kept = "".join(file.read_text("utf-8") for file in house.paths.sign_ins_dir.glob("*.json"))
    assert "PRIVATE" not in kept
    assert "assertion" not in kept


async def test_a_token_of_a_signature_that_has_run_out_is_had_anew_before_it_is_used(
    house: House, signing: dict[str, Any]
) -> None:
    async with house.gateway(**signing) as gateway:
        await said(gateway)
    record, before = house.record, house.tokens
    assert record is not None
    spent = msgspec.structs.replace(before, expires_at=1.0)
    house.store.put(msgspec.structs.replace(record, tokens=spent))
    house.vault.tokens.clear()
    async with house.gateway(**signing) as gateway:
        assert await said(gateway) == {"text": "hello"}
    assert before.access not in house.vault.tokens
    assert house.tokens.access in house.vault.tokens


@pytest.mark.parametrize(("pem", "reason"), [("no key at all", "key"), ("", "token")])
async def test_a_key_that_is_wrong_is_said_to_be(
    house: House, signing: dict[str, Any], monkeypatch: pytest.MonkeyPatch, pem: str, reason: str
) -> None:
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    monkeypatch.setenv("MACHINE_KEY", pem or other.decode())
    async with house.gateway(**signing) as gateway:
        error = await error_of(gateway)
    assert (error.code, error.details["reason"]) == ("SIGN_IN_FAILED", reason)


async def test_a_service_that_calls_the_server_otherwise_is_asked_for_that(
    house: House, credentials: dict[str, Any]
) -> None:
    credentials["oauth"]["resource"] = "urn:example:vault"
    async with house.gateway(**credentials) as gateway:
        await said(gateway)
        house.authority.expire(house.tokens.access)
        await said(gateway)
    assert [form["resource"] for form in house.authority.asked("/token")] == ["urn:example:vault"] * 2

    house.store.drop(house.record.key if house.record else "")
    settings = load_settings(house.configure(oauth={"resource": "urn:example:vault"}), env=os.environ)
    await SignIns(settings, house.paths, os.environ).sign_in(settings.servers[0], Browser())
    [query] = house.authority.asked("/authorize")
    assert query["resource"] == house.authority.asked("/token")[-1]["resource"] == "urn:example:vault"
