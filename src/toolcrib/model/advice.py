"""Sentences that agents read in several places, each written once."""

from __future__ import annotations

from toolcrib.model.caller import EVERYTHING, Rights

OUTCOME_UNKNOWN = "Outcome unknown: the tool may have run. Check before running it again."
PEERS_OFF = "Toolcrib does not look for peers; set peers.enabled."
SWITCHED_OFF = "Discovery is switched off in the configuration (discovery.enabled: false)."
NO_SERVERS = (
    "No server is configured yet. The person you work for can run `toolcrib adopt` to take over the servers of their AI "
    "clients, or `toolcrib add NAME -- COMMAND` to add one."
)
_NONE_FOR_THIS_CLIENT = (
    "Your profile or token gives you no server that there is now. The person you work for can change the profile in "
    "Toolcrib's configuration, or give you another token (`toolcrib token create`)."
)


def no_servers(rights: Rights = EVERYTHING) -> str:
    """What to tell somebody for whom there is no server."""
    return NO_SERVERS if rights == EVERYTHING else _NONE_FOR_THIS_CLIENT
