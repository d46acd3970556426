from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal

from toolcrib.clients.display import ALL_OF_THE_CONTENT, ClientDisplay
from toolcrib.clients.machine import Machine, PlacesOn, is_there, nowhere
from toolcrib.clients.own_entry import NOTHING, Entry, Environment, OwnLaunch, Shape, plain
from toolcrib.clients.sections import SectionsOf


@dataclass(frozen=True, slots=True)
class Client:
    """Everything we know of one AI client; what a record does not say is as with most clients.

    `name` is its type of source, and what people call it on the command line.
    """

    name: str
    title: str
    _: KW_ONLY

    # Its files. Of `places` the first that exists counts, and of `more` every one that exists is read too.
    places: PlacesOn
    more: PlacesOn = nowhere
    # Whether it takes all of its files for one, and not only the first for its own.
    merges_files: bool = False
    # Whether only its own program may write its file.
    has_program: bool = False
    # Where it keeps more than settings in its file; None is as much as any file may have.
    max_bytes: int | None = None

    # How its servers are read.
    sections: SectionsOf

    # How our entry is written. It goes into the first container that is there; where none is, the first of all is made.
    containers: tuple[tuple[str, ...], ...] = (("mcpServers",), ("servers",))
    language: Literal["json", "toml", "yaml"] = "json"
    is_list: bool = False
    shape: Shape = plain
    # A list of the only servers it starts, where a file has one.
    allowed: tuple[str, ...] = ()
    environment: Environment = NOTHING

    # How the name begins that it gives at the handshake (some add that of a server, or of an editor), and what it shows
    # its model of a result. Where it cuts, the model works with half a result and does not know it.
    calls_itself: str = ""
    display: ClientDisplay = ALL_OF_THE_CONTENT

    def file(self, machine: Machine) -> Path:
        """The file of this client: the first of its places that exists, else the first."""
        places = self.places(machine)
        return next((place for place in places if is_there(place)), places[0])

    def files(self, machine: Machine) -> tuple[Path, ...]:
        """That file, and the others that the client reads together with it."""
        more = self.more(machine) if self.merges_files else ()
        return (self.file(machine), *(place for place in more if is_there(place)))

    def entry(self, launch: OwnLaunch, names: tuple[str, ...] = ()) -> Entry:
        """Our entry as this client writes it, so that these variables are handed on to us."""
        return self.shape(self.environment.given_to(launch, names))
