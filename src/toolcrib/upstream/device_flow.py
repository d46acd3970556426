"""Signing in with a code that a person types in on another machine (RFC 8628)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from toolcrib.errors import SignInFailed
from toolcrib.model.clean_text import clean
from toolcrib.signin.judge import object_in, tokens_in
from toolcrib.signin.record import Registration, Tokens
from toolcrib.upstream.sign_in_http import SignInHttp
from toolcrib.upstream.token_request import prove

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_USUAL_SECONDS = 5.0
_SHORTEST_SECONDS = 1.0
_SLOWER_SECONDS = 5.0
_USUAL_LIFE_SECONDS = 600.0
_MOST_CHARACTERS = 300
_LARGEST = 1e12

Sleep = Callable[[float], Awaitable[None]]
ShowCode = Callable[[str, str], Awaitable[None]]
"""(address of the page, code to type in there)"""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """What is asked of a service, and as whom."""

    server: str
    device_endpoint: str
    token_endpoint: str
    registration: Registration
    scope: str = ""
    indicator: str = ""

    def form(self, **more: str) -> dict[str, str]:
        return {**more, **({"resource": self.indicator} if self.indicator else {})}


async def device_tokens(
    request: DeviceRequest,
    http: SignInHttp,
    show_code: ShowCode,
    *,
    seconds: float,
    now: Callable[[], float],
    sleep: Sleep = asyncio.sleep,
) -> Tokens:
    """The tokens, once the person has typed the code in; raises SignInFailed, and what `SignInHttp.send` does."""
    given = await _asked(request, http)
    page, code = given["verification_uri"], given["user_code"]
    await http.check(page)
    await show_code(page, clean(code)[:_MOST_CHARACTERS])
    pause = max(_number(given.get("interval"), _USUAL_SECONDS), _SHORTEST_SECONDS)
    deadline = now() + min(_number(given.get("expires_in"), _USUAL_LIFE_SECONDS), seconds)
    while now() < deadline:
        await sleep(min(pause, deadline - now()))
        said = await _answer(request, http, given["device_code"])
        if (tokens := tokens_in(said, now())) is not None:
            return tokens
        if said.get("error") == "slow_down":
            pause += _SLOWER_SECONDS
        elif said.get("error") not in (None, "authorization_pending"):
            raise _refused(request.server, said)
    raise SignInFailed(
        f"the sign-in to {request.server} failed: nobody typed the code in within {seconds:g} s",
        server=request.server,
        reason="timeout",
    )


async def _asked(request: DeviceRequest, http: SignInHttp) -> dict[str, str]:
    form = request.form(**({"scope": request.scope} if request.scope else {}))
    headers = prove(request.registration, form)
    response = await http.post(request.device_endpoint, {"client_id": request.registration.id, **form}, headers)
    said = object_in(response.content)
    wanted = ("device_code", "user_code", "verification_uri")
    if response.status_code != 200 or not all(isinstance(said.get(name), str) and said[name] for name in wanted):
        raise _refused(request.server, said or {"error": f"it answered {response.status_code}"})
    return said


async def _answer(request: DeviceRequest, http: SignInHttp, device_code: str) -> Mapping[str, Any]:
    """What the token endpoint says now; nothing where it can't be reached for the moment."""
    form = request.form(grant_type=DEVICE_GRANT, device_code=device_code)
    headers = prove(request.registration, form)
    try:
        response = await http.post(request.token_endpoint, {"client_id": request.registration.id, **form}, headers)
    except (httpx2.HTTPError, TimeoutError):
        return {}
    return {} if response.status_code >= 500 else object_in(response.content)


def _refused(server: str, said: Mapping[str, Any]) -> SignInFailed:
    told = clean(str(said.get("error_description") or said.get("error")))[:_MOST_CHARACTERS]
    return SignInFailed(
        f"the sign-in to {server} failed: the service did not agree: {told}", server=server, reason="refused"
    )


def _number(value: Any, usual: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < _LARGEST else usual
