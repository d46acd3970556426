"""The page about clients has one line for each record, and says what the record says."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.clients.client import Client
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.machine import Machine
from toolcrib.clients.own_entry import Environment
from toolcrib.clients.table import CLIENTS

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
TABLE = [line for line in PAGE.partition("\n## ")[0].splitlines() if line.startswith("| ")][1:]


def row(client: Client) -> str:
    """The line of a client on the page, up to its note, which is free."""
    cells = (client.title, f"`{client.name}`", file(client), entries(client), variables(client.environment))
    return f"| {' | '.join(cells)} | {results(client)} |".replace("  ", " ")


def file(client: Client) -> str:
    return f"`{client.places(Machine(Path('~'), {}, 'linux'))[0].as_posix()}`"


def entries(client: Client) -> str:
    return f"{client.language.upper()}, {'a list ' if client.is_list else ''}`{'.'.join(client.containers[0])}`"


def variables(environment: Environment) -> str:
    if environment.is_whole:
        return (
            f"all but {', '.join(f'`{name}`' for name in sorted(environment.withheld))}"
            if environment.withheld
            else "all"
        )
    if environment.names_key:
        return f'`{environment.names_key} = ["TOKEN"]`'
    return f"`{environment.reference.replace('NAME', 'TOKEN')}`" if environment.reference else "none"


def results(client: Client) -> str:
    return f"`{client.calls_itself}`: {shown(client.display)}" if client.calls_itself else ""


def shown(display: ClientDisplay) -> str:
    shows = {"structured": "structuredContent in place of the text", "content": "the content", "both": "both"}
    size = "`maxResultBytes`" if display.max_bytes is None else f"{display.max_bytes} bytes"
    quoted = " as JSON" if display.is_quoted else ", of both together" if display.shows == "both" else ""
    lines = f", or {display.max_lines} lines" if display.max_lines else ""
    return f"{shows[display.shows]}; {size}{quoted}{lines}"


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
def test_the_page_tells_of_each_client_what_its_record_says(client: Client) -> None:
    lines = [line for line in TABLE if line.startswith(row(client))]
    assert len(lines) == 1, f"docs/clients.md needs one line that begins:\n{row(client)}"


def test_the_page_names_every_client_once_and_no_other() -> None:
    named = [line.split("|")[2].strip().strip("`") for line in TABLE]
    assert sorted(named) == sorted(CLIENTS)
