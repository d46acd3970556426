"""Signing in to servers and out again, as commands ask for it; what servers then get is up to their links."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from toolcrib.config.launching import ready_launch
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.paths import Paths, home_folder
from toolcrib.config.settings import Settings
from toolcrib.engine.from_settings import sign_in_files
from toolcrib.engine.sign_in_entry import registered_by_hand, resolved_options, resource_of, sign_in_failed
from toolcrib.errors import ConfigurationError, StoreUnavailable, ToolcribError
from toolcrib.model.secret import revealed
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.signin.mcp_remote import bridge_sign_in
from toolcrib.signin.record import Registration, SecretsIn, SignIn, record_key
from toolcrib.upstream.callback import Callback
from toolcrib.upstream.sign_in_http import SignInHttp
from toolcrib.upstream.sign_in_wish import Person, SignInWish
from toolcrib.upstream.token_request import revoke

# As long as another process may take to renew what we are about to replace.
_LOCK_SECONDS = 15.0


class Guide(Protocol):
    """Leads a person through a sign-in."""

    async def show(self, url: str, take: Callable[[str], bool]) -> None:
        """Show the page where they sign in; `take` is given the address they were sent to, if they bring it themselves."""

    async def show_code(self, url: str, code: str) -> None:
        """Show a code, and the page where they type it in."""


@dataclass(frozen=True, slots=True)
class SignedOut:
    """What became of a sign-in that was ended: whether there was one, and whether the service was told."""

    was_there: bool
    is_revoked: bool = False


class SignIns:
    """The sign-ins of a person, under their settings."""

    def __init__(
        self, settings: Settings, paths: Paths, env: Mapping[str, str], *, now: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._env = env
        self._now = now
        self._store = sign_in_files(paths)

    async def sign_in(
        self,
        spec: ServerSpec,
        guide: Guide | None,
        *,
        scopes: str = "",
        account: str | None = None,
        prefers_device: bool = False,
    ) -> SignIn:
        """Sign in, and keep it for all processes; raises SignInFailed. Client credentials need no guide."""
        ready = await asyncio.to_thread(ready_launch, spec, self._env, OsKeyring().get)
        resource = resource_of(spec, ready)
        options = resolved_options(spec, self._env)
        chosen = options.account if account is None else account
        before = await asyncio.to_thread(self._kept, resource, chosen)
        known = registered_by_hand(options) or (before.registration if before is not None else None)
        wish = SignInWish(
            server=spec.name,
            resource=resource,
            account=chosen,
            grant=options.grant,
            scopes=scopes or options.scopes,
            client_name=self._settings.oauth_client_name,
            client_metadata_url=self._settings.oauth_client_metadata_url,
            seconds=self._settings.oauth_login_timeout_seconds,
            prefers_device=prefers_device,
            registration=known,
            indicator=options.resource,
            private_key=options.private_key,
            signing_algorithm=options.signing_algorithm or "RS256",
        )
        async with self._http(resource) as http:
            record = await self._flown(wish, http, guide, spec, revealed(ready.given))
        return await asyncio.to_thread(self._keep, record)

    async def take_over(self, spec: ServerSpec) -> SignIn:
        """Go on with the sign-in that `mcp-remote` has made to this server; raises SignInFailed where there is none."""
        ready = await asyncio.to_thread(ready_launch, spec, self._env, OsKeyring().get)
        resource = resource_of(spec, ready)
        launch = ready.launch
        assert isinstance(launch, RemoteLaunch)
        home = home_folder(self._env)
        found = await asyncio.to_thread(bridge_sign_in, home, self._env, launch.url, launch.headers)
        if found is None:
            hint = f"Run `toolcrib login {spec.name}` to sign in anew."
            raise sign_in_failed(
                spec.name, "nothing_there", "mcp-remote has made no sign-in to it that can be read", hint
            )
        wish = SignInWish(spec.name, resource, spec.oauth.account, registration=found.registration)
        flow_code = await asyncio.to_thread(import_module, "toolcrib.upstream.sign_in_flow")
        async with self._http(resource) as http:
            record: SignIn = await flow_code.SignInFlow(wish, http, self._now).taken_over(
                revealed(ready.given), found.tokens
            )
        return await asyncio.to_thread(self._keep, record)

    async def sign_out(self, spec: ServerSpec, *, account: str | None = None, forget_client: bool = False) -> SignedOut:
        """End a sign-in: where it came from, if that is offered, and here in any case."""
        ready = await asyncio.to_thread(ready_launch, spec, self._env, OsKeyring().get)
        resource = resource_of(spec, ready)
        key = record_key(resource, spec.oauth.account if account is None else account)
        record = await asyncio.to_thread(self._kept_or_unreadable, key)
        if record is None:
            return SignedOut(was_there=False)
        async with self._http(resource) as http:
            is_revoked = await revoke(http, record)
        await asyncio.to_thread(self._forget, record, forget_client=forget_client)
        return SignedOut(was_there=record.tokens is not None, is_revoked=is_revoked)

    async def _flown(
        self, wish: SignInWish, http: SignInHttp, guide: Guide | None, spec: ServerSpec, headers: Mapping[str, str]
    ) -> SignIn:
        flow_code = await asyncio.to_thread(import_module, "toolcrib.upstream.sign_in_flow")
        if wish.grant == "client_credentials":
            alone: SignIn = await flow_code.SignInFlow(wish, http, self._now).run(headers, None)
            return alone
        assert guide is not None
        async with self._callback(spec, wish.registration) as (callback, is_where_it_was):
            registration = wish.registration if is_where_it_was else None
            there = replace(wish, redirect=callback.redirect, registration=registration)
            flow = flow_code.SignInFlow(there, http, self._now)
            record: SignIn = await flow.run(headers, self._person(wish.server, callback, guide))
        return record

    def _person(self, server: str, callback: Callback, guide: Guide) -> Person:
        async def send_to(url: str, state: str) -> None:
            callback.expect(state)
            await guide.show(url, callback.take)

        async def comes_back() -> dict[str, str]:
            seconds = self._settings.oauth_login_timeout_seconds
            try:
                async with asyncio.timeout(seconds):
                    return await callback.answer()
            except TimeoutError:
                raise sign_in_failed(
                    server, "timeout", f"nobody came back from the browser within {seconds:g} s"
                ) from None

        return Person(send_to, comes_back, guide.show_code)

    def _http(self, resource: str) -> SignInHttp:
        return SignInHttp(resource, connect_seconds=self._settings.connect_timeout_seconds)

    @asynccontextmanager
    async def _callback(self, spec: ServerSpec, known: Registration | None) -> AsyncIterator[tuple[Callback, bool]]:
        """Where the browser comes back to, and whether a known client may be used with it."""
        callback = Callback()
        stated = spec.oauth.callback_port or self._settings.oauth_callback_port
        try:
            yield callback, await _listening(spec.name, callback, known, stated)
        finally:
            await callback.close()

    def _kept(self, resource: str, account: str) -> SignIn | None:
        """The sign-in of before; one that can't be read is made anew."""
        try:
            return self._store.get(record_key(resource, account))
        except StoreUnavailable:
            return None

    def _kept_or_unreadable(self, key: str) -> SignIn | None:
        try:
            return self._store.get(key)
        except StoreUnavailable:
            self._store.drop(key)
            return None

    def _keep(self, record: SignIn) -> SignIn:
        chosen = msgspec.structs.replace(record, secrets=self._place(record.server))
        with self._store.locked(record.key, _LOCK_SECONDS):
            return self._store.put(chosen)

    def _place(self, server: str) -> SecretsIn:
        wanted = self._settings.oauth_store
        if wanted == "file":
            return "file"
        try:
            OsKeyring().require()
        except ConfigurationError as problem:
            if wanted == "auto":
                return "file"
            hint = "Install `toolcrib[keyring]`, or set oauth.store to file."
            raise sign_in_failed(server, "keyring", problem.problems[0].message, hint) from None
        return "keyring"

    def _forget(self, record: SignIn, *, forget_client: bool) -> None:
        with self._store.locked(record.key, _LOCK_SECONDS):
            if forget_client or record.registration is None:
                self._store.drop(record.key)
            else:
                self._store.put(record.ended("you signed out"))


def take_over_all(
    settings: Settings, paths: Paths, env: Mapping[str, str], specs: Iterable[ServerSpec]
) -> dict[str, bool]:
    """Go on with the sign-ins of `mcp-remote` to these servers, by name whether that worked; runs a loop of its own."""

    async def each() -> dict[str, bool]:
        sign_ins = SignIns(settings, paths, env)
        return {spec.name: await _is_taken_over(sign_ins, spec) for spec in specs}

    return asyncio.run(each())


async def _is_taken_over(sign_ins: SignIns, spec: ServerSpec) -> bool:
    try:
        await sign_ins.take_over(spec)
    except ToolcribError:
        return False
    return True


async def _listening(server: str, callback: Callback, known: Registration | None, stated: int) -> bool:
    """Listen where the known client is registered for, else where the settings say, else anywhere.

    False where the known client is registered for another address, so that a new one is needed.
    """
    registered = known.redirect if known is not None else ""
    port = urlsplit(registered).port or 0
    if port and stated in (0, port):
        with suppress(OSError):  # one that is taken by now
            await callback.listen(port)
            return callback.redirect == registered
    try:
        await callback.listen(stated)
    except OSError as problem:
        hint = "Close the program that uses it, or choose another oauth.callbackPort."
        raise sign_in_failed(server, "port", f"port {stated} can't be listened on: {problem.strerror}", hint) from None
    return not registered
