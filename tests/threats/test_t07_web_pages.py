"""T07: a web page in the person's browser reaches nothing, whichever route it tries and whatever name it came by."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.http_gateway import write_config
from tests.server.http_face import http_face
from tests.server.test_guard import GOOD, ROUTES, guarded, status
from tests.server.test_sse_face import open_stream, posted
from toolcrib.server.http import HEALTH_PATH

HOSTS = ("evil.example", "evil.example:8665", "127.0.0.1.evil.example", "")
ORIGINS = ("https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost")
NO_TOKEN = ("", "Bearer", "Bearer wrong", "Bearer tc_0123456789_")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


async def test_t07_every_route_is_closed_to_web_pages() -> None:
    assert {path for _, path in ROUTES} >= {"/mcp", "/sse", "/messages", "/metrics", HEALTH_PATH}
    for method, path in ROUTES:
        for host in HOSTS:
            assert await status(guarded(), method, path, {**GOOD, "host": host}) == 421, (method, path, host)
        for origin in ORIGINS:
            assert await status(guarded(), method, path, {**GOOD, "origin": origin}) == 403, (method, path, origin)
        for shown in NO_TOKEN if path != HEALTH_PATH else ():
            answered = await status(guarded(), method, path, {**GOOD, "authorization": shown})
            assert answered == 401, (method, path, shown)


async def test_t07_a_form_can_not_send_a_message(tmp_path: Path) -> None:
    async with http_face(write_config(tmp_path, {})) as face:
        for form in FORMS:
            assert (await face.post(PING, **{"content-type": form})).status_code == 400, form
            async with open_stream(face) as url:
                assert (await posted(face, url, **{"content-type": form})).status_code == 400, form
