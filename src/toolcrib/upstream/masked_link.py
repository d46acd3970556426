"""A link whose server can't tell the secrets it was given: in errors, in the reason it ended, in what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolcrib.errors import ToolcribError
from toolcrib.masking.masker import Masker
from toolcrib.model.clean_text import clean_words
from toolcrib.upstream.link import Link, LinkEars, SessionExpired
from toolcrib.wire.jsonrpc import Json, RpcError

# What a tool answers belongs to the caller and passes as it came, unless the person wants it covered too.
_VERBATIM = frozenset({"tools/call", "tasks/get", "tasks/result"})


class MaskedLink:
    """A `Link` that covers secrets in whatever is shown, logged or stored of its server."""

    def __init__(self, link: Link, masker: Masker, covers_results: Callable[[], bool] = lambda: False) -> None:
        self._link = link
        self._masker = masker
        self._covers_results = covers_results
        self.attributes = link.attributes

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> Json:
        try:
            result = await self._link.request(id, method, params, headers)
        except (ToolcribError, RpcError, SessionExpired) as error:
            raise self._masker.error(error) from error.__cause__
        if method in _VERBATIM and not self._covers_results():
            return result
        return self._masker.json(result)

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        try:
            await self._link.notify(method, params, headers)
        except (ToolcribError, RpcError, SessionExpired) as error:
            raise self._masker.error(error) from error.__cause__

    async def wait_closed(self) -> str:
        return clean_words(self._masker(await self._link.wait_closed()))

    async def close(self) -> None:
        await self._link.close()


def masked_ears(ears: LinkEars, masker: Masker) -> LinkEars:
    """The same with known secrets covered in what they are handed."""

    def notified(method: str, params: bytes, request_id: int | None) -> None:
        ears.notified(method, masker.json(params), request_id)

    async def asked(method: str, params: bytes, request_id: int | None) -> bytes:
        return await ears.asked(method, masker.json(params), request_id)

    return LinkEars(notified, asked)
