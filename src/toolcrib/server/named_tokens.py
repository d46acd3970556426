"""Admits programs by tokens that the person made for each of them, for as long as each is good."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from starlette.routing import Route

from toolcrib.errors import StoreUnavailable
from toolcrib.model.caller import NOTHING, Rights
from toolcrib.model.named_token import PREFIX, NamedToken, id_in
from toolcrib.server.admission import Admission, NotAdmitted, Principal, bearer_token
from toolcrib.storage.token_file import TokenFile, Tokens

log = logging.getLogger(__name__)

# Who vouches for the holders of such tokens; no address of an issuer is like this.
ISSUER = "toolcrib"
_CHALLENGE = {"www-authenticate": 'Bearer error="invalid_token"'}


class NamedTokens:
    """Decides about tokens of this kind, and leaves all others to `others`."""

    def __init__(self, tokens: TokenFile, others: Admission, *, now: Callable[[], float]) -> None:
        self._tokens = tokens
        self._others = others
        self._now = now
        # What is wrong with the file, as the log was told last.
        self._trouble = ""

    @property
    def open_routes(self) -> Sequence[Route]:
        return self._others.open_routes

    async def admit(self, authorization: str) -> Principal | None:
        given = bearer_token(authorization)
        if not given.startswith(PREFIX):
            return await self._others.admit(authorization)
        try:
            token = self._good(id_in(given))
        except StoreUnavailable:
            # The token may be good: its holder should come back, and not throw it away.
            raise NotAdmitted(503, "no token can be checked at the moment; the log of this server says why") from None
        if token is None or not token.fits(given):
            raise NotAdmitted(401, "this token is not valid, or no longer: ask for a new one", _CHALLENGE)
        return Principal(
            ISSUER,
            token.id,
            token.name,
            rights=token.rights,
            profile=token.profile,
            is_named_token=True,
            rights_by_now=partial(self._rights_of, token.id),
        )

    def is_admitted(self, principal: Principal) -> bool:
        """Whether somebody who was admitted still would be."""
        try:
            return not principal.is_named_token or self._good(principal.subject) is not None
        except StoreUnavailable:
            return False

    def _rights_of(self, id: str) -> Rights:
        try:
            token = self._good(id)
        except StoreUnavailable:
            return NOTHING
        return NOTHING if token is None else token.rights

    def _good(self, id: str) -> NamedToken | None:
        found = next((token for token in self._all() if token.id == id), None)
        return None if found is None or found.is_over(self._now()) else found

    def _all(self) -> Tokens:
        try:
            tokens = self._tokens.all()
        except StoreUnavailable as trouble:
            # Once, however many requests come meanwhile.
            if trouble.message != self._trouble:
                log.warning("no named token is accepted now: %s", f"{trouble.message}. {trouble.hint}".strip())
            self._trouble = trouble.message
            raise
        self._trouble = ""
        return tokens
