"""`toolcrib login`: sign in to a server, in the browser or by hand."""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

from toolcrib.cli.ages import still
from toolcrib.cli.chosen import chosen_servers
from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.surroundings import Surroundings, around
from toolcrib.cli.wording import counted
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.sign_ins import SignIns
from toolcrib.errors import ToolcribError
from toolcrib.model.clean_text import clean
from toolcrib.model.server import ServerSpec
from toolcrib.signin.record import SignIn


@dataclass(frozen=True, slots=True)
class OnTerminal:
    """Fulfils `Guide`: prints the address, opens the browser, and takes an address that is pasted."""

    output: Output
    server: str
    opens_browser: bool
    typed: IO[str] | None

    async def show(self, url: str, take: Callable[[str], bool]) -> None:
        err = self.output.err
        err.paragraph(f"To sign in to {self.server}, open this page of {urlsplit(url).hostname}:")
        err.write(clean(url))
        if self.opens_browser:
            # Not waited for: some browsers end only when their window is closed.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        elif self.typed is not None:
            err.paragraph("Or open it elsewhere, and paste the address here to which you are sent in the end:")
            self._take_pasted(self.typed, take)
        err.stream.flush()

    async def show_code(self, url: str, code: str) -> None:
        err = self.output.err
        err.paragraph(f"To sign in to {self.server}, open this page on any machine, and type in the code {code}:")
        err.write(clean(url))
        err.stream.flush()

    def _take_pasted(self, typed: IO[str], take: Callable[[str], bool]) -> None:
        loop = asyncio.get_running_loop()

        def check(line: str) -> None:
            if line.strip() and not take(line):
                self.output.err.paragraph("That is not the address of the last page of this sign-in. Paste all of it.")

        def read() -> None:
            for line in typed:
                try:
                    loop.call_soon_threadsafe(check, line)
                except RuntimeError:  # the sign-in came to its end meanwhile
                    return

        # Daemons: nobody may ever type anything, and the command ends all the same.
        threading.Thread(target=read, daemon=True).start()


def run(options: argparse.Namespace) -> int:
    output, here = Output.of(options), around(options)
    settings = settings_of(options, output)
    [spec] = chosen_servers(settings, [options.server])
    record, tools = here.run(_sign_in(options, settings, spec, output))
    if output.as_json:
        output.json(_as_json(spec, record, tools))
        return OK
    output.out.write(f"Signed in to {spec.name}. {_validity(record)}")
    if record.account != spec.oauth.account:
        output.out.paragraph(
            f"Give the entry of {spec.name} `oauth: {{account: {record.account}}}` to use this account."
        )
    elif isinstance(tools, ToolcribError):
        output.note(f"its tools could not be read: {tools.message}")
    else:
        output.out.write(f"It has {counted(tools, 'tool')}.")
    return OK


async def _sign_in(
    options: argparse.Namespace, settings: Settings, spec: ServerSpec, output: Output
) -> tuple[SignIn, int | ToolcribError]:
    here = around(options)
    guide = OnTerminal(output, spec.name, not options.no_browser, here.stdin)
    sign_ins = SignIns(settings, Paths.of(here.env), here.env)
    if options.from_mcp_remote:
        record = await sign_ins.take_over(spec)
    else:
        record = await sign_ins.sign_in(
            spec, guide, scopes=options.scopes or "", account=options.account, prefers_device=options.no_browser
        )
    return record, await _tools_of(here, settings, spec.name)


async def _tools_of(here: Surroundings, settings: Settings, server: str) -> int | ToolcribError:
    """Read the server: whoever shares its catalog then knows its tools."""
    async with here.gateway(settings) as gateway:
        try:
            await gateway.read_server(server)
        except ToolcribError as error:
            return error
        return len(await gateway.list_tools(server, include_disabled=True))


def _validity(record: SignIn) -> str:
    tokens = record.tokens
    assert tokens is not None
    if tokens.refresh:
        return "The token renews by itself."
    return "" if tokens.expires_at is None else f"It holds for {still(tokens.expires_at - time.time())}."


def _as_json(spec: ServerSpec, record: SignIn, tools: int | ToolcribError) -> dict[str, Any]:
    tokens = record.tokens
    assert tokens is not None
    return {
        "success": True,
        "server": spec.name,
        "account": record.account,
        "issuer": record.issuer,
        "scopes": tokens.scope.split(),
        "expiresAt": tokens.expires_at,
        "renews": bool(tokens.refresh),
        "keptIn": record.secrets,
        "toolCount": None if isinstance(tools, ToolcribError) else tools,
    }
