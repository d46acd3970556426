"""Sentences that agents read in several places, each written once."""

from __future__ import annotations

OUTCOME_UNKNOWN = "Outcome unknown: the tool may have run. Check before running it again."
PEERS_OFF = "Toolcrib does not look for peers; set peers.enabled."
SWITCHED_OFF = "Discovery is switched off in the configuration (discovery.enabled: false)."
NO_SERVERS = (
    "No server is configured yet. The person you work for can run `toolcrib adopt` to take over the servers of their AI "
    "clients, or `toolcrib add NAME -- COMMAND` to add one."
)
