"""Questions to peers and from them: lines of JSON on streams of three protocols."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from contextlib import suppress
from typing import Any

import trio
from libp2p.peer.id import ID

from toolcrib.libp2p_node.roads import Roads
from toolcrib.libp2p_node.wire import Wire

log = logging.getLogger(__name__)

CARD = "/praxis/card/1.0.0"
TOOL = "/praxis/tool/1.0.0"
MCP = "/praxis/mcp/1.0.0"
# The longest line of a question or a card, and of an answer.
MOST_IN = 1024 * 1024
MOST_OUT = 10 * 1024 * 1024
ANSWER_SECONDS = 330.0
IDLE_SECONDS = 60.0
MOST_STREAMS = 64
MOST_STREAMS_OF_ONE = 16
_CLOSE_SECONDS = 2.0
_LOOKS_FOR_ADDRESSES = 10
_LOOK_SECONDS = 0.5


class Refused(Exception):
    """The other side sent what can't be used."""


class Lines:
    """A stream as lines that end with a newline; one above `most` bytes is refused."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._rest = bytearray()

    async def read(self, most: int) -> bytes:
        """The next line without its end; empty at the end of the stream."""
        while (end := self._rest.find(b"\n")) < 0:
            if len(self._rest) > most:
                raise Refused(f"a line is longer than {most} bytes")
            try:
                chunk = await self._stream.read(65_536)
            except EOFError:
                chunk = b""
            if not chunk:
                line, self._rest = bytes(self._rest), bytearray()
                return line.strip()
            self._rest += chunk
        if end > most:
            raise Refused(f"a line is longer than {most} bytes")
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line.strip() or await self.read(most)

    async def write(self, line: bytes) -> None:
        await self._stream.write(line + b"\n")


class Unsent(Exception):
    """A question did not get to the other side."""


class Streams:
    """Asks peers for the engine, and the engine for peers."""

    def __init__(self, host: Any, wire: Wire, roads: Roads) -> None:
        self._host = host
        self._wire = wire
        self._roads = roads
        self._numbers = itertools.count(1)
        self._answers: dict[int, trio.MemorySendChannel[str | None]] = {}
        self._serving: Counter[str] = Counter()
        host.set_stream_handler(CARD, self._on_card)
        host.set_stream_handler(TOOL, self._on_question)
        host.set_stream_handler(MCP, self._on_question)

    async def ask(self, peer: str, protocol: str, body: bytes, seconds: float) -> bytes:
        """The other side's line; raises whatever kept us from it, Unsent where it did not get there."""
        with trio.fail_after(seconds):
            try:
                at = await self._roads.connect(peer)
                stream = await self._host.new_stream(ID.from_base58(peer), [protocol])
            except Exception as problem:
                raise Unsent(str(problem)) from problem
            try:
                lines = Lines(stream)
                await lines.write(body)
                answer = await lines.read(MOST_IN if protocol == CARD else MOST_OUT)
            finally:
                await _close(stream)
        if not answer:
            raise Refused("the stream ended without an answer")
        if protocol == CARD and not at:
            await self._tell_where(peer)
        return answer

    def answered(self, number: int, body: str | None) -> None:
        """The engine's answer to a question of a peer; None where it gives none."""
        waiting = self._answers.pop(number, None)
        if waiting is not None:
            with suppress(trio.WouldBlock, trio.BrokenResourceError):
                waiting.send_nowait(body)

    async def _on_card(self, stream: Any) -> None:
        async def exchange(peer: str, lines: Lines) -> None:
            # Asked for each time: a card that was signed a while ago is no longer believed.
            await lines.write((await self._engine_answer(peer, CARD, b"")).encode())
            theirs = await lines.read(MOST_IN)
            if theirs:
                await self._engine_answer(peer, CARD, theirs)

        if await self._serve(stream, exchange):
            peer = str(stream.muxed_conn.peer_id)
            for _ in range(_LOOKS_FOR_ADDRESSES):
                if await self._tell_where(peer):
                    return
                await trio.sleep(_LOOK_SECONDS)

    async def _tell_where(self, peer: str) -> bool:
        """Where a peer that came to us listens itself, if it has said so; the engine decides what to make of it."""
        addresses = self._roads.told_addresses(peer)
        if addresses:
            await self._wire.send("found", peer=peer, addrs=addresses, by="libp2p")
        return bool(addresses)

    async def _on_question(self, stream: Any) -> None:
        protocol = str(stream.get_protocol())

        async def answer_all(peer: str, lines: Lines) -> None:
            while True:
                with trio.fail_after(IDLE_SECONDS):
                    question = await lines.read(MOST_IN)
                if not question:
                    return
                await lines.write((await self._engine_answer(peer, protocol, question)).encode())

        await self._serve(stream, answer_all)

    async def _serve(self, stream: Any, work: Any) -> bool:
        """Whether it went well."""
        peer = str(stream.muxed_conn.peer_id)
        if self._serving[peer] >= MOST_STREAMS_OF_ONE or self._serving.total() >= MOST_STREAMS:
            await _reset(stream)
            return False
        self._serving[peer] += 1
        try:
            await work(peer, Lines(stream))
            await _close(stream)
            return True
        except Exception as problem:  # noqa: BLE001 - whatever a stranger does on a stream ends that stream only
            log.info("a stream of %s ended: %r", peer, problem)
            await _reset(stream)
            return False
        finally:
            self._serving[peer] -= 1
            if not self._serving[peer]:
                del self._serving[peer]

    async def _engine_answer(self, peer: str, protocol: str, body: bytes) -> str:
        number = next(self._numbers)
        sending, receiving = trio.open_memory_channel[str | None](1)
        self._answers[number] = sending
        try:
            with trio.fail_after(ANSWER_SECONDS):
                await self._wire.send("asked", n=number, peer=peer, protocol=protocol, body=body.decode())
                answer: str | None = await receiving.receive()
        finally:
            self._answers.pop(number, None)
        if answer is None:
            raise Refused("the engine gave no answer")
        return answer


async def _close(stream: Any) -> None:
    with trio.move_on_after(_CLOSE_SECONDS, shield=True), suppress(Exception):
        await stream.close()


async def _reset(stream: Any) -> None:
    with trio.move_on_after(_CLOSE_SECONDS, shield=True), suppress(Exception):
        await stream.reset()
