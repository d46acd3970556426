"""What no longer waits for a person once a server is removed."""

from __future__ import annotations

import os

from toolcrib.cli.opened_capabilities import audit_log
from toolcrib.cli.output import Output
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.trust.review_key import review_key


def withdraw_requests(settings: Settings, name: str, output: Output) -> None:
    """End the requests about what this server offers; those about another one of its name that is still there wait on."""
    if not Paths.of(os.environ).catalog.exists():
        return
    there = {review_key(spec) for spec in settings.servers if spec.name == name}
    with audit_log(settings, output) as tell, read_capabilities(settings, tell=tell) as capabilities:
        for request in capabilities.approvals.all("pending", server=name):
            if request.subject == "tools" and request.review_key not in there:
                capabilities.approvals.withdraw(request, "the server was removed")
