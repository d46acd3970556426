"""Asking a token endpoint for new tokens, and telling a server that they are not needed any more."""

from __future__ import annotations

import base64
from urllib.parse import quote

import httpx2

from toolcrib.signin.addresses import AddressRefused
from toolcrib.signin.judge import Unavailable, Verdict, judge
from toolcrib.signin.record import Registration, SignIn
from toolcrib.upstream.http_errors import retry_after_seconds, transport_error
from toolcrib.upstream.sign_in_http import SignInHttp


async def renewed(http: SignInHttp, record: SignIn, now: float) -> Verdict:
    """What became of a sign-in whose tokens were to be renewed; an outage is no verdict on it."""
    form = _form(record)
    headers = prove(record.registration, form)
    url = record.endpoints.token
    try:
        response = await http.post(url, form, headers)
    except httpx2.HTTPError as problem:
        return Unavailable(transport_error("the sign-in service", httpx2.URL(url), problem).message)
    except TimeoutError:
        return Unavailable("the sign-in service did not answer in time")
    except (AddressRefused, ValueError, httpx2.InvalidURL) as problem:
        return Unavailable(str(problem))
    verdict = judge(response.status_code, response.content, record, now)
    if isinstance(verdict, Unavailable):
        wait = retry_after_seconds(response.headers, now)
        return Unavailable(f"{response.request.url.host}: {verdict.reason}", wait)
    return verdict


async def revoke(http: SignInHttp, record: SignIn) -> bool:
    """Have the tokens ended where they came from (RFC 7009); False where that is not offered or did not work."""
    if not record.endpoints.revocation or record.tokens is None:
        return False
    kind = "refresh_token" if record.tokens.refresh else "access_token"
    form = {"token": record.tokens.refresh or record.tokens.access, "token_type_hint": kind}
    headers = prove(record.registration, form)
    try:
        response = await http.post(record.endpoints.revocation, form, headers)
    except (httpx2.HTTPError, httpx2.InvalidURL, AddressRefused, TimeoutError, ValueError):
        return False
    return response.status_code == 200


def _form(record: SignIn) -> dict[str, str]:
    assert record.tokens is not None
    form = {"resource": record.indicator} if record.indicator else {}
    if record.grant != "client_credentials":
        return {**form, "grant_type": "refresh_token", "refresh_token": record.tokens.refresh}
    scope = {"scope": record.tokens.scope} if record.tokens.scope else {}
    return {**form, **scope, "grant_type": "client_credentials"}


def prove(registration: Registration | None, form: dict[str, str]) -> dict[str, str]:
    """Say who we are, in the form or in headers, the way the registration asks for."""
    if registration is None:
        return {}
    if registration.secret and registration.method == "client_secret_basic":
        pair = f"{quote(registration.id, safe='')}:{quote(registration.secret, safe='')}"
        return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    form["client_id"] = registration.id
    if registration.secret:
        form["client_secret"] = registration.secret
    return {}
