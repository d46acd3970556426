"""Tokens are renewed by themselves: before they end, once for everybody, and without anybody noticing."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import pytest
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.fakes import eventually
from tests.signin.house import House, error_of, said, soon_said
from tests.upstream.http_servers import SdkServer, serve, unused_address
from toolcrib.config.load import load_settings
from toolcrib.engine.sign_ins import SignIns
from toolcrib.signin.record import Endpoints

CALLING = Path(__file__).parent / "programs" / "calling.py"


async def test_a_server_is_asked_with_the_token_of_its_sign_in(house: House) -> None:
    house.sign_in()
    async with house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}
    assert set(house.vault.tokens) == {house.tokens.access}
    assert house.renewals == 0


async def test_a_restart_renews_and_opens_no_browser(house: House) -> None:
    before = house.sign_in(life=-10)
    assert before.tokens is not None
    async with house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}
    assert house.renewals == 1
    assert set(house.vault.tokens) == {house.tokens.access}
    assert house.tokens.refresh != before.tokens.refresh
    assert house.authority.asked("/authorize") == []


async def test_a_renewal_names_the_resource_and_the_client_it_is_for(house: House) -> None:
    house.sign_in(life=-10)
    async with house.gateway() as gateway:
        await said(gateway)
    [form] = house.authority.asked("/token", "refresh_token")
    assert (form["resource"], form["client_id"]) == (house.url, "client-of-before")


async def test_a_token_that_is_refused_before_its_time_is_renewed_within_the_call(house: House) -> None:
    house.sign_in()
    house.authority.expire(house.tokens.access)
    async with house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}
    assert house.renewals == 1


async def test_calls_go_on_with_the_old_token_while_a_new_one_is_fetched(house: House) -> None:
    house.sign_in(life=30)
    old = house.tokens.access
    house.authority.slow = asyncio.Event()
    async with asyncio.timeout(20), house.gateway() as gateway:
        assert await said(gateway) == {"text": "hello"}
        await eventually(lambda: house.renewals == 1)
        assert await said(gateway, "again") == {"text": "again"}
        assert set(house.vault.tokens) == {old}
        house.authority.slow.set()
        await eventually(lambda: house.tokens.access != old)
        await said(gateway, "once more")
        assert house.vault.tokens[-1] == house.tokens.access
    assert house.renewals == 1


async def test_a_running_call_is_not_disturbed_by_a_renewal(house: House) -> None:
    house.sign_in()
    async with asyncio.timeout(20), house.gateway() as gateway:
        running = asyncio.create_task(said(gateway, "patience", "wait_for_it"))
        await house.vault.started.wait()
        house.authority.expire(house.tokens.access)
        assert await said(gateway, "meanwhile") == {"text": "meanwhile"}
        assert (house.renewals, running.done()) == (1, False)
        house.vault.release.set()
        assert await running == {"text": "patience"}


async def test_parallel_calls_are_not_held_up_by_each_other(house: House) -> None:
    house.sign_in()
    async with asyncio.timeout(20), house.gateway() as gateway:
        calls = [asyncio.create_task(said(gateway, str(number), "wait_for_it")) for number in range(6)]
        await eventually(lambda: house.vault.waiting == 6)
        house.vault.release.set()
        assert await asyncio.gather(*calls) == [{"text": str(number)} for number in range(6)]


async def test_many_calls_with_an_expired_token_renew_it_once(house: House) -> None:
    house.sign_in(life=-10)
    async with house.gateway() as gateway:
        answers = await asyncio.gather(*(said(gateway, str(number)) for number in range(12)))
    assert answers == [{"text": str(number)} for number in range(12)]
    assert house.renewals == 1


async def test_a_call_that_is_given_up_leaves_the_renewal_to_the_others(house: House) -> None:
    house.sign_in(life=-10)
    house.authority.slow = asyncio.Event()
    async with asyncio.timeout(20), house.gateway() as gateway:
        impatient, patient = (asyncio.create_task(said(gateway)) for _ in range(2))
        await eventually(lambda: house.renewals == 1)
        impatient.cancel()
        await asyncio.gather(impatient, return_exceptions=True)
        house.authority.slow.set()
        assert await patient == {"text": "hello"}
    assert (house.renewals, house.authority.reused) == (1, 0)


async def test_a_gateway_that_ends_keeps_the_tokens_it_has_just_asked_for(house: House) -> None:
    house.sign_in(life=30)
    old = house.tokens.refresh
    house.authority.slow = asyncio.Event()
    async with asyncio.timeout(20), house.gateway() as gateway:
        await said(gateway)
        await eventually(lambda: house.renewals == 1)
        asyncio.get_running_loop().call_later(0.2, house.authority.slow.set)
    assert house.tokens.refresh != old
    assert house.tokens.refresh in house.authority.grants


@pytest.mark.timeout(120)
async def test_two_processes_renew_once(house: House) -> None:
    house.sign_in()
    async with house.gateway() as gateway:
        await said(gateway)  # from here on its tools are known: neither process waits for the other to read them
    house.sign_in(life=-10)
    house.authority.slow = asyncio.Event()
    config = house.configure()
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    async with asyncio.timeout(100):
        programs = [
            await asyncio.create_subprocess_exec(sys.executable, str(CALLING), str(config), "3", **pipes)
            for _ in range(2)
        ]
        for program in programs:
            assert program.stdout is not None
            assert await program.stdout.readline() == b"ready\n"
        talking = [asyncio.create_task(program.communicate(b"go\n")) for program in programs]
        await eventually(lambda: house.renewals == 1)
        with pytest.raises(AssertionError):  # the other one waits for this renewal, however long it takes
            await eventually(lambda: house.renewals > 1, seconds=3)
        house.authority.slow.set()
        printed = [(await told)[0].decode().strip() for told in talking]
    assert printed == ["{'fine': 24}"] * 2
    assert (house.renewals, house.authority.reused) == (1, 0)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_outage_is_never_called_sign_in_again(house: House, status: int) -> None:
    before = house.sign_in(life=-10)
    house.authority.down = status
    async with house.gateway() as gateway:
        error = await error_of(gateway)
        assert error.code == "SIGN_IN_UNAVAILABLE"
        assert "toolcrib login" not in f"{error.message} {error.hint}"
        assert house.record == before
        house.authority.down = None
        assert await soon_said(gateway) == {"text": "hello"}


async def test_a_sign_in_service_that_is_gone_is_an_outage_too(house: House) -> None:
    record = house.sign_in(life=-10)
    gone = Endpoints(token=f"{unused_address()}/token")
    house.store.put(msgspec.structs.replace(record, endpoints=gone))
    async with house.gateway() as gateway:
        assert (await error_of(gateway)).code == "SIGN_IN_UNAVAILABLE"
    assert house.tokens == record.tokens


async def test_a_withdrawn_token_says_so(house: House) -> None:
    house.sign_in(life=-10)
    house.authority.withdraw_all()
    async with house.gateway() as gateway:
        error = await error_of(gateway)
        again = await error_of(gateway)
    assert error.code == again.code == "SIGN_IN_REQUIRED"
    assert "the person withdrew it" in error.message
    assert "toolcrib login vault" in error.hint
    assert house.renewals == 1
    record = house.record
    assert record is not None
    assert (record.tokens, record.registration is None) == (None, False)


async def test_a_token_that_no_renewal_makes_acceptable_is_renewed_once_only(house: House) -> None:
    house.sign_in()
    async with house.gateway() as gateway:
        house.vault.refuses_all = True
        errors = [await error_of(gateway) for _ in range(3)]
    assert {error.code for error in errors} == {"SIGN_IN_REQUIRED"}
    assert house.renewals == 1


async def test_a_sign_in_that_another_process_made_is_used_by_the_next_call(house: House) -> None:
    async with house.gateway() as gateway:
        error = await error_of(gateway)
        assert (error.code, "toolcrib login vault" in error.hint) == ("SIGN_IN_REQUIRED", True)
        house.sign_in()
        assert await said(gateway) == {"text": "hello"}
    assert house.renewals == 0


async def test_tokens_that_could_not_be_written_down_are_used_and_written_later(house: House) -> None:
    house.sign_in(life=-10)
    old = house.tokens.refresh
    aside = house.paths.sign_ins_dir.with_name("aside")

    def lose_the_disk() -> None:
        house.paths.sign_ins_dir.rename(aside)
        house.paths.sign_ins_dir.write_text("a file where the folder was")

    def get_it_back() -> None:
        house.paths.sign_ins_dir.unlink()
        aside.rename(house.paths.sign_ins_dir)

    house.authority.slow = asyncio.Event()
    async with asyncio.timeout(30), house.gateway() as gateway:
        call = asyncio.create_task(said(gateway))
        await eventually(lambda: house.renewals == 1)
        lose_the_disk()
        house.authority.slow.set()
        assert await call == {"text": "hello"}
        get_it_back()
        assert house.tokens.refresh == old
        house.authority.access.clear()  # the next call asks the store, and must not go back to what it has
        assert await said(gateway) == {"text": "hello"}
    assert (house.renewals, house.authority.reused) == (2, 0)
    assert house.tokens.refresh in house.authority.grants


async def test_tokens_that_could_not_be_written_down_do_not_undo_a_sign_out(house: House) -> None:
    # Its service can't be told of a sign-out, so that the tokens would still be good.
    record = house.sign_in(life=-10)
    house.store.put(msgspec.structs.replace(record, endpoints=Endpoints(token=record.endpoints.token)))
    kept = house.paths.sign_ins_dir
    house.authority.slow = asyncio.Event()
    async with asyncio.timeout(30), house.gateway() as gateway:
        call = asyncio.create_task(said(gateway))
        await eventually(lambda: house.renewals == 1)
        kept.rename(kept.with_name("aside"))
        kept.write_text("a file where the folder was")
        house.authority.slow.set()
        assert await call == {"text": "hello"}
        kept.unlink()
        kept.with_name("aside").rename(kept)
        settings = load_settings(house.configure(), env=os.environ)
        await SignIns(settings, house.paths, os.environ).sign_out(settings.servers[0])
        house.authority.access.clear()
        assert (await error_of(gateway)).code == "SIGN_IN_REQUIRED"
    assert house.record is not None
    assert house.record.tokens is None


async def test_a_server_of_the_oldest_transport_is_signed_in_to_as_well(house: House) -> None:
    app = SdkServer().sse_app()
    sent: list[str] = []

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token = Headers(scope=scope).get("authorization", "").removeprefix("Bearer ")
            sent.append(token)
            if token not in house.authority.access:
                await Response(status_code=401, headers={"www-authenticate": "Bearer"})(scope, receive, send)
                return
        await app(scope, receive, send)

    async with serve(guarded) as address:
        house.url = f"{address}/sse"
        house.sign_in(life=-10)
        async with house.gateway(type="sse") as gateway:
            assert (await gateway.execute_tool("vault", "echo", {"text": "hello"})).value == {"text": "hello"}
            house.authority.expire(house.tokens.access)
            assert (await gateway.execute_tool("vault", "echo", {"text": "again"})).value == {"text": "again"}
    assert house.renewals == 2
    assert "" not in sent
