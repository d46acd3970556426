"""Bodies of requests that are read whole, up to a limit."""

from __future__ import annotations

from starlette.requests import Request


async def bounded_body(request: Request, max_bytes: int) -> bytes | None:
    """The whole body, or None where it is above the limit."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            return None
    return bytes(body)
