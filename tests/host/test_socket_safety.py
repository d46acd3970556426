"""The door of the engine: who may come in, and with what."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import BOUND_SECONDS, LineClient
from toolcrib.connector import link as connector_link
from toolcrib.connector import words
from toolcrib.connector.hello import LENGTH_DIGITS, BadHello, Hello, frame_length
from toolcrib.connector.link import EngineLink
from toolcrib.connector.place import UnsafePlace, engine_place
from toolcrib.version import VERSION

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NAMES = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1, max_size=20)


@asynccontextmanager
async def running(shared: SharedWorkshop) -> AsyncIterator[LineClient]:
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        yield client
        assert (await client.call("still", "list_mcp_servers"))["result"]


def descriptors(pid: int) -> set[str]:
    """The sockets and pipes of a process; files come and go with what it loads."""
    links = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            links.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return {link for link in links if link.startswith(("socket:", "pipe:"))}


async def _closed(opened: socket.socket) -> bytes:
    """What the engine says until it closes the connection."""
    opened.setblocking(False)
    loop, said = asyncio.get_running_loop(), b""
    async with asyncio.timeout(BOUND_SECONDS):
        try:
            while more := await loop.sock_recv(opened, 4096):
                said += more
        except ConnectionResetError:
            pass
    return said


@pytest.mark.parametrize(
    "greeting", [b"", b"GET / HTTP/1.1\r\n\r\n", b"ffffffff", b"00000005stdio", b"00000000", b"00000010only a part"]
)
async def test_a_broken_greeting_is_refused_and_nobody_else_notices(shared: SharedWorkshop, greeting: bytes):
    async with running(shared):
        before = descriptors(shared.engine())
        with socket.socket(socket.AF_UNIX) as opened:
            opened.connect(shared.place.socket)
            opened.sendall(greeting)
            opened.shutdown(socket.SHUT_WR)
            assert await _closed(opened) == b""
        assert descriptors(shared.engine()) == before


async def test_a_greeting_that_never_ends_is_not_waited_for_longer_than_a_few_seconds(shared: SharedWorkshop):
    async with running(shared):
        with socket.socket(socket.AF_UNIX) as opened:
            opened.connect(shared.place.socket)
            opened.sendall(b"00001000and then nothing")
            assert await _closed(opened) == b""
    assert "a connection was refused: no greeting came" in shared.log.read_text()


async def test_more_descriptors_than_a_client_has_are_refused_and_none_is_kept(shared: SharedWorkshop):
    async with running(shared):
        before = descriptors(shared.engine())
        with socket.socket(socket.AF_UNIX) as opened:
            opened.connect(shared.place.socket)
            hello = Hello("stdio", VERSION, "/", ["serve"], {})
            pipe = os.pipe()
            socket.send_fds(opened, [hello.encoded()], [*pipe] * 10)
            for one in pipe:
                os.close(one)
            assert await _closed(opened) == b""
        assert descriptors(shared.engine()) == before


async def test_a_client_that_hands_over_nothing_is_let_go(shared: SharedWorkshop):
    async with running(shared):
        with socket.socket(socket.AF_UNIX) as opened:
            opened.connect(shared.place.socket)
            opened.sendall(Hello("stdio", VERSION, "/", ["serve"], {}).encoded())
            assert await _closed(opened) == b""


async def test_an_engine_of_another_user_is_not_spoken_to(shared: SharedWorkshop, monkeypatch: pytest.MonkeyPatch):
    async with running(shared):
        monkeypatch.setattr(connector_link, "peer_user", lambda _: os.getuid() + 1)
        with pytest.raises(UnsafePlace, match="another user"):
            EngineLink.to(shared.place)


def test_the_place_has_a_short_path_however_long_the_home_is(tmp_path: Path):
    deep = tmp_path / ("a" * 100)

    place = engine_place({"TOOLCRIB_HOME": str(deep)})

    assert len(place.socket) < 104
    assert place.folder.endswith(f"toolcrib-{os.getuid()}")


def test_clients_that_hand_on_different_variables_find_the_same_engine(tmp_path: Path):
    home = {"HOME": str(tmp_path)}
    usual = {"XDG_STATE_HOME": f"{tmp_path}/.local/state", "XDG_CONFIG_HOME": f"{tmp_path}/.config", "TERM": "xterm"}

    assert engine_place(home).socket == engine_place({**home, **usual}).socket
    assert engine_place(home).socket != engine_place({**home, "XDG_STATE_HOME": "/elsewhere"}).socket


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=5), st.dictionaries(NAMES, TEXTS, max_size=5))
def test_a_greeting_arrives_as_it_was_said(version: str, folder: str, arguments: list[str], env: dict[str, str]):
    frame = Hello("command", version, folder, arguments, env).encoded()
    assert frame_length(frame[:LENGTH_DIGITS]) == len(frame) - LENGTH_DIGITS

    heard = Hello.decoded(frame[LENGTH_DIGITS:])

    assert (heard.version, heard.folder, heard.arguments, heard.environment) == (version, folder, arguments, env)


@given(st.binary(max_size=60))
def test_whatever_else_arrives_is_a_bad_greeting(noise: bytes):
    try:
        heard = Hello.decoded(noise)
    except BadHello:
        return
    assert heard.kind in ("stdio", "command", "control")


@given(
    st.sampled_from([words.SAY, words.END]), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))
)
def test_a_word_arrives_with_its_text_on_one_line(word: str, text: str):
    line = words.line(word, text)

    assert line.count(b"\n") == 1
    assert words.split(line) == (word, text.rstrip() if "\n" not in text else words.split(line)[1])
