"""`toolcrib logout`: end a sign-in to a server."""

from __future__ import annotations

import argparse

from toolcrib.cli.chosen import chosen_servers
from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.surroundings import around
from toolcrib.config.paths import Paths
from toolcrib.engine.sign_ins import SignedOut, SignIns


def run(options: argparse.Namespace) -> int:
    output, here = Output.of(options), around(options)
    settings = settings_of(options, output)
    [spec] = chosen_servers(settings, [options.server])
    sign_ins = SignIns(settings, Paths.of(here.env), here.env)
    ended = here.run(sign_ins.sign_out(spec, account=options.account, forget_client=options.forget_client))
    if output.as_json:
        output.json({"success": True, "server": spec.name, "wasSignedIn": ended.was_there, "revoked": ended.is_revoked})
    else:
        output.out.paragraph(_told(spec.name, ended))
    return OK


def _told(server: str, ended: SignedOut) -> str:
    if not ended.was_there:
        return f"Nobody was signed in to {server}."
    if ended.is_revoked:
        return f"Signed out of {server}; its tokens are no longer valid."
    return (
        f"Signed out of {server}: its tokens were deleted here. The service could not be told, so they stay valid there "
        "until they run out."
    )
