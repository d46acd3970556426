"""The token of one sign-in in this process: renewed before it ends, once for all who use it, and across processes.

A request takes the token that is there when it is sent, and running calls never notice a renewal. Only a request that finds
the token expired waits for a new one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from weakref import WeakSet

from toolcrib.errors import SignInFailed, SignInRequired, StoreUnavailable
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.spans import MASK
from toolcrib.signin.challenge import Challenge, joined_scopes
from toolcrib.signin.judge import Unavailable
from toolcrib.signin.record import SignIn, Tokens
from toolcrib.signin.store import SignInStore
from toolcrib.telemetry.logs import mask_tokens_in_logs
from toolcrib.upstream.sign_in_errors import TOO_LITTLE, sign_in_required, sign_in_unavailable
from toolcrib.upstream.sign_in_http import SignInHttp
from toolcrib.upstream.token_request import renewed

log = logging.getLogger(__name__)

# Longer than a renewal may take: whoever waits finds what the other process brought.
_LOCK_SECONDS = 15.0
_FIRST_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
# How long what was read is used before the store is looked at again, beside the requests: somebody may have signed out.
_LOOK_SECONDS = 5.0
# Of the values a sign-in had, so many are still covered in what is shown: answers may quote one that was just replaced.
_COVERED_VALUES = 8


SignInAlone = Callable[[], Awaitable[SignIn]]


class Bearer:
    """What requests to one server are sent with; one for each sign-in and process."""

    def __init__(self, key: str, store: SignInStore, http: SignInHttp, *, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._store = store
        self._http = http
        self._now = now
        self._record: SignIn | None = None
        self._unsaved: SignIn | None = None
        # The token in the store that it takes the place of.
        self._replaced = ""
        self._looked_at = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._renewal: asyncio.Task[Unavailable | None] | None = None
        self._trouble: Unavailable | None = None
        self._not_before = 0.0
        self._fruitless = 0
        # A token that was given because the one before was refused: if it is refused too, renewing does not help.
        self._given_after_refusal = ""
        self._covered: deque[str] = deque(maxlen=_COVERED_VALUES)
        self._maskers: WeakSet[Masker] = WeakSet()
        # How to sign in where no person is needed.
        self.sign_in_alone: SignInAlone | None = None
        self._signing_in = asyncio.Lock()

    async def look(self) -> None:
        """Take over what is kept now, by whichever process; raises StoreUnavailable."""
        self._looked_at = self._now()
        kept, unsaved = await asyncio.to_thread(self._store.get, self._key), self._unsaved
        if unsaved is not None and self._is_older(kept):
            await self._save(unsaved)
            kept = unsaved
        self._unsaved = None
        self._take(kept)

    def cover_in(self, masker: Masker) -> None:
        """Have this masker know our tokens, now and later."""
        self._maskers.add(masker)
        masker.also(self._secrets())

    async def header(self, server: str) -> str:
        """The value of the Authorization header; empty where nobody has signed in."""
        if self._now() - self._looked_at > _LOOK_SECONDS:
            self._looked_at = self._now()
            self._looking = asyncio.create_task(self._look_aside())
        tokens = self._tokens
        if tokens is None:
            return ""
        if self._is_renewable and tokens.is_due(self._now()):
            if tokens.is_expired(self._now()):
                tokens = await self._renewed(server, tokens)
            else:
                self._start_renewal(tokens)
        elif self.sign_in_alone is not None and tokens.is_expired(self._now()):
            await self._signed_in_alone(server, self.sign_in_alone, tokens.access)
        return "" if self._tokens is None else f"Bearer {self._tokens.access}"

    async def refused(self, server: str, sent: str, status: int, told: str) -> bool:
        """Whether a request that was refused should be sent once more; `told` is the WWW-Authenticate header.

        Raises SignInRequired where only a person can help, and SignInUnavailable where nobody can at the moment.
        """
        challenge = Challenge.of(told)
        if not challenge.wants_token:
            return False
        await self._look_or_tell(server)
        tokens = self._tokens
        if tokens is None and self.sign_in_alone is not None:
            await self._signed_in_alone(server, self.sign_in_alone)
            return True
        if tokens is None:
            raise self._required(server, challenge)
        if sent != f"Bearer {tokens.access}":
            return True
        if status == 401 and await self._is_replaced(server, tokens):
            return True
        # A new token would allow no more than this one.
        is_too_little = status == 403
        if is_too_little or not self._is_renewable or tokens.access == self._given_after_refusal:
            raise self._required(server, challenge)
        self._given_after_refusal = (await self._renewed(server, tokens)).access
        return True

    async def close(self) -> None:
        """Wait for a renewal that is under way: its answer may be the only one that brings the next refresh token."""
        if under_way := {task for task in (self._renewal, self._looking) if task is not None}:
            await asyncio.wait(under_way)
        await self._http.close()

    @property
    def _tokens(self) -> Tokens | None:
        return self._record.tokens if self._record is not None else None

    @property
    def _is_renewable(self) -> bool:
        return self._record is not None and self._record.is_renewable

    async def _renewed(self, server: str, stale: Tokens) -> Tokens:
        """The tokens that took the place of `stale`."""
        # Whoever gives up waiting leaves the renewal to the others.
        trouble = await asyncio.shield(self._start_renewal(stale))
        tokens = self._tokens
        if tokens is None:
            raise self._required(server, Challenge())
        if trouble is not None and tokens.access == stale.access:
            reason = f"its token has run out, and there is no new one: {trouble.reason}"
            raise sign_in_unavailable(server, reason, max(self._not_before - self._now(), 0.0))
        return tokens

    async def _is_replaced(self, server: str, refused: Tokens) -> bool:
        """Whether a token that can't be renewed could be had anew without a person; one that was had so is not replaced again."""
        if self._is_renewable or self.sign_in_alone is None or refused.access == self._given_after_refusal:
            return False
        await self._signed_in_alone(server, self.sign_in_alone, refused.access)
        self._given_after_refusal = self._tokens.access if self._tokens is not None else ""
        return True

    async def _signed_in_alone(self, server: str, sign_in: SignInAlone, stale: str = "") -> None:
        """Sign in without a person, unless somebody has meanwhile; `stale` is the token to be replaced."""
        async with self._signing_in:
            if self._tokens is not None and self._tokens.access != stale:
                return
            try:
                self._take(await sign_in())
            except SignInFailed as problem:
                if problem.reason == "unavailable":
                    raise sign_in_unavailable(server, problem.message, 0.0) from problem
                raise

    def _start_renewal(self, stale: Tokens) -> asyncio.Task[Unavailable | None]:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew(stale), name=f"renew sign-in {self._key}")
        return self._renewal

    async def _renew(self, stale: Tokens) -> Unavailable | None:
        if self._tokens is not None and self._tokens.access != stale.access:
            return None
        if self._now() < self._not_before:
            return self._trouble
        try:
            self._trouble = await self._renew_alone(stale)
        except StoreUnavailable as problem:
            self._trouble = Unavailable(problem.message)
        self._plan_next_try()
        return self._trouble

    async def _renew_alone(self, stale: Tokens) -> Unavailable | None:
        """Renew while no other process does; one that was faster has done the work."""
        lock = self._store.locked(self._key, _LOCK_SECONDS)
        is_ours = await asyncio.to_thread(lock.__enter__)
        try:
            await self.look()
            record = self._record
            if record is None or record.tokens is None or record.tokens.access != stale.access:
                return None
            if not is_ours:
                return Unavailable("another program is renewing the sign-in")
            verdict = await renewed(self._http, record, self._now())
            if isinstance(verdict, Unavailable):
                return verdict
            # Even if it can't be written down now, it is what counts.
            self._take(verdict.record)
            self._replaced = stale.access
            try:
                await self._save(verdict.record)
            except StoreUnavailable as problem:
                log.warning("the renewed sign-in to %s can't be kept yet: %s", record.server, problem.message)
            return None
        finally:
            await asyncio.to_thread(lock.__exit__, None, None, None)

    def _is_older(self, kept: SignIn | None) -> bool:
        """Whether what the store has is what we have renewed since, and not what somebody did who signed in or out meanwhile."""
        return kept is None or (kept.tokens is not None and kept.tokens.access == self._replaced)

    async def _save(self, record: SignIn) -> None:
        self._unsaved = record
        await asyncio.to_thread(self._store.put, record)
        self._unsaved = None

    def _plan_next_try(self) -> None:
        if self._trouble is None:
            self._fruitless, self._not_before = 0, 0.0
            return
        wait = min(_FIRST_WAIT_SECONDS * 2.0 ** min(self._fruitless, 10), _LONGEST_WAIT_SECONDS)
        asked = min(self._trouble.retry_after_seconds or 0.0, _LONGEST_WAIT_SECONDS)
        self._fruitless += 1
        self._not_before = self._now() + max(wait, asked)

    def _take(self, record: SignIn | None) -> None:
        self._record = record
        fresh = [value for value in (record.secret_values if record is not None else ()) if value not in self._covered]
        if fresh:
            self._covered.extend(fresh)
            mask_tokens_in_logs(self._key, self._secrets())
            for masker in self._maskers:
                masker.also(self._secrets())

    def _secrets(self) -> KnownSecrets:
        return KnownSecrets(dict.fromkeys(self._covered, MASK))

    async def _look_aside(self) -> None:
        """Take over what is kept now, unless it is being renewed; where it can't be read now, what we have stays in use."""
        if self._renewal is None or self._renewal.done():
            with suppress(StoreUnavailable):
                await self.look()

    async def _look_or_tell(self, server: str) -> None:
        try:
            await self.look()
        except StoreUnavailable as problem:
            raise sign_in_unavailable(server, problem.message, 0.0, problem.hint) from problem

    def _required(self, server: str, challenge: Challenge) -> SignInRequired:
        tokens, ended = self._tokens, self._record.ended_because if self._record is not None else ""
        if tokens is not None and challenge.error == "insufficient_scope":
            scopes = joined_scopes(tokens.scope, challenge.scope)
            return sign_in_required(server, TOO_LITTLE, scopes=scopes)
        if tokens is not None:
            return sign_in_required(server, "the sign-in is not accepted any more", scopes=challenge.scope)
        return sign_in_required(server, ended or "nobody has signed in yet", scopes=challenge.scope, is_first=not ended)
