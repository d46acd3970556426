"""Calls that a person agreed to once, and whose server asks something before it answers."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from toolcrib.calls.consents import Consent
from toolcrib.model.call import ToolCall

MOST_OPEN = 1_000
# Long enough to answer a server's question; whoever comes later is asked anew.
OPEN_SECONDS = 600.0


class ConfirmedRounds:
    """The calls that may go on without another question: each of them once, and soon.

    The state that a client brings back says only what its call was. It is good for a day and in any process, so whether a person
    agreed to that call and it has not gone on yet is kept here.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: OrderedDict[Consent, float] = OrderedDict()

    def open(self, consent: Consent, call: ToolCall, state: object) -> None:
        """The call may go on with the state that its server has given."""
        if not isinstance(state, str):
            return
        key = _key(consent, call, state)
        self._until[key] = self._now() + OPEN_SECONDS
        self._until.move_to_end(key)
        while len(self._until) > MOST_OPEN:
            self._until.popitem(last=False)

    def take(self, consent: Consent, call: ToolCall) -> bool:
        """Whether this is such a call; it is none from now on."""
        if call.round is None or call.round.state is None:
            return False
        return self._until.pop(_key(consent, call, call.round.state), 0.0) > self._now()


def _key(consent: Consent, call: ToolCall, state: str) -> Consent:
    """Servers may give the same state to calls with other arguments, so these count too."""
    arguments = msgspec.json.encode(call.arguments, order="sorted")
    digests = (hashlib.sha256(part).hexdigest() for part in (arguments, state.encode("utf-8", "surrogatepass")))
    return (*consent, *digests)
