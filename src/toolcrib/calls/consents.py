"""What persons have allowed for as long as a session lasts."""

from __future__ import annotations

from collections import OrderedDict

from toolcrib.model.call import ToolCall

MOST_CONSENTS = 1_000

Consent = tuple[str, ...]


class Consents:
    """The newest of them; of more than it keeps, the oldest are forgotten and asked for anew."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Consent, None] = OrderedDict()

    def __contains__(self, consent: Consent) -> bool:
        return consent in self._kept

    def add(self, consent: Consent) -> None:
        self._kept[consent] = None
        while len(self._kept) > MOST_CONSENTS:
            self._kept.popitem(last=False)


def consent_of(call: ToolCall, *about: str) -> Consent:
    """What a person allows about this call: who calls, in which session, which server, and what else it is about."""
    launch_key = "" if call.target is None else call.target.launch_key
    return (call.caller.key, call.caller.session, launch_key, *about)
