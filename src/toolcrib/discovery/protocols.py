"""What the service asks of others; each part is optional, and the wiring hands it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from toolcrib.discovery.results import DiscoveredMCPTool
from toolcrib.errors import ToolcribError
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.reading import ListKind, ServerListing, ServerReading
from toolcrib.model.server import ServerSpec

Entry = Mapping[str, Any]
"""A server as a registry describes it, plain JSON."""

Manifest = Any
"""A tool as a capability; the service only hands it on."""


class Visit(Protocol):
    """A server within reach."""

    async def read(self) -> ServerReading: ...

    async def list_items(self, kind: ListKind) -> ServerListing: ...

    async def call(self, call: ToolCall) -> ToolResult: ...


class ServerAccess(Protocol):
    """Reaches any server; what a visit opened for itself is closed with the block, after an error too."""

    def visit(self, spec: ServerSpec) -> AbstractAsyncContextManager[Visit]: ...


class UnapprovedCheck(Protocol):
    """A last look at a server that nobody has approved, before it is contacted: where its name leads, for one."""

    async def __call__(self, spec: ServerSpec) -> ServerSpec:
        """The server as it may be contacted; raises a ToolcribError where it must not be."""


class ReadingJournal(Protocol):
    """Where readings of configured servers are written down; it takes no notice of any other server."""

    async def catch_up(self) -> None:
        """Take over what other processes have written down by now."""

    async def keep(self, spec: ServerSpec, reading: ServerReading) -> bool:
        """Write a reading down, and tell what is odd about it; False where the server is not a configured one."""

    async def keep_failure(self, spec: ServerSpec, error: ToolcribError) -> None: ...


class RegistrySearch(Protocol):
    """A registry of servers, or several behind one door."""

    async def search(self, query: str) -> Sequence[Entry]:
        """The servers that match, as plain JSON, best first."""

    def server_config(self, entry: Entry) -> ServerSpec | None:
        """How the server of an entry is reached by its best remote address; None where it has none."""


class CapabilityRegister(Protocol):
    """A marketplace or a catalog of capabilities."""

    def register(self, manifest: Manifest) -> Awaitable[object] | object: ...


class CapabilityExport(Protocol):
    """Writes capabilities to files."""

    def export(self, manifests: Sequence[Manifest], directory: Path | None) -> object:
        """Write them below `directory`, or below the usual one."""


class ManifestMaker(Protocol):
    """Makes the capability of a tool."""

    def __call__(self, tool: DiscoveredMCPTool, config: ServerSpec, /) -> Manifest: ...


class ResourceManifestMaker(Protocol):
    """Makes the capability of a resource."""

    def __call__(self, resource: Mapping[str, Any], config: ServerSpec, /) -> Manifest: ...


class ServerProposals(Protocol):
    """Where servers wait for a person to approve them."""

    async def propose(self, config: ServerSpec, definitions: Sequence[Mapping[str, Any]]) -> object:
        """Raise a ToolcribError where it can't be proposed."""


class SchemaTypes(Protocol):
    """Converts a JSON Schema to a type; `warn` is told what could not be read."""

    def __call__(self, schema: Any, warn: Callable[[str], None], /) -> object: ...


CallByName = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


class OutputIntrospector(Protocol):
    """Learns what a tool returns by calling it, where that can do no harm."""

    async def output_schema(
        self, config: ServerSpec, definition: Mapping[str, Any], call: CallByName
    ) -> Mapping[str, Any] | None:
        """A JSON Schema of what the tool returns; None where it may not be called or nothing could be learnt."""
