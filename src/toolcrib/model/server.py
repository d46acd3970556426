"""A configured server, and how to reach it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

from toolcrib.model.effect import Confirm
from toolcrib.model.peer import FROM_PEER
from toolcrib.model.sandbox import Sandbox
from toolcrib.model.sign_in_options import SignInOptions
from toolcrib.model.site import Site

SERVER_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
BUILT_IN_SERVER = "toolcrib"
# The source of a server that nobody added: it was only found in a registry.
FROM_REGISTRY = "registry"
# The source of a server that nobody approved yet: it was only proposed.
FROM_PROPOSAL = "proposal"
# The source of a server that came with a project's folder, in a file that a person has trusted.
FROM_PROJECT = "project"
# The contract of external endpoints: their tools get names of their own, and stand-ins while they can't be read.
REMOTE_MCP: Literal["remote-mcp"] = "remote-mcp"

# The source of a server whose caller brought its own credentials: it gets no token of the environment.
GIVEN_AUTH = "given-auth"

Transport = Literal["stdio", "http", "sse"]
# Whether clients share one process (or connection) of a server; `auto` decides by what the server is.
Share = Literal["auto", "always", "never"]
SHARES: tuple[Share, ...] = ("auto", "always", "never")
# What a server may ask of the client that calls it.
Sampling = Literal["ask", "allow", "deny"]
SAMPLINGS: tuple[Sampling, ...] = ("ask", "allow", "deny")
Elicitation = Literal["allow", "deny"]
ELICITATIONS: tuple[Elicitation, ...] = ("allow", "deny")
# What happens to a tool whose definition changed: a person reviews it first, or it is used and a warning is given.
OnChange = Literal["review", "warn"]
ON_CHANGES: tuple[OnChange, ...] = ("review", "warn")


@dataclass(frozen=True, slots=True)
class StdioLaunch:
    """A child process that speaks MCP on its standard streams. Values may hold `${NAME}`, resolved at launch."""

    command: str
    # Not shown in a repr: people write secrets into entries.
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_file: str | None = None
    pass_env: tuple[str, ...] = ()
    cwd: str | None = None
    sandbox: Sandbox | None = None

    @property
    def transport(self) -> Transport:
        return "stdio"


@dataclass(frozen=True, slots=True)
class RemoteLaunch:
    """A server reached over HTTP. Values may hold `${NAME}`, resolved at connect.

    Where the entry does not say which transport it is, the likelier one is tried first and then the other.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    transport: Transport = "http"
    is_transport_guessed: bool = field(default=False, compare=False, repr=False)
    # Where its name led when that was checked; empty where nobody checks that. No other address is connected to then.
    addresses: tuple[str, ...] = field(default=(), compare=False, repr=False)


Launch = StdioLaunch | RemoteLaunch
# What we found out about a launch, beside what the entry says.
_NO_PART_OF_LAUNCH = frozenset({"is_transport_guessed", "addresses"})


def likely_transport(url: str) -> Transport:
    """The transport an address speaks for: those of the older one end in `/sse` nearly always."""
    path = url.partition("?")[0].partition("#")[0].rstrip("/")
    return "sse" if path.endswith("/sse") else "http"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry was found: the kind of source and the file."""

    source: str = "toolcrib"
    file: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool known before its server was ever read, from a configuration file or from a peer's card.

    Its schema may be given too, or the whole definition.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    definition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerSpec:
    """One configured server; the only inner form of every configuration format."""

    name: str
    launch: Launch
    title: str = ""
    description: str = ""
    enabled: bool = True
    timeout_seconds: float | None = None
    startup_timeout_seconds: float | None = None
    # By the name of a tool on the server's own side, or by a glob.
    tool_timeouts: Mapping[str, float] = field(default_factory=dict)
    # How often it may be called and read, where that differs from all other servers.
    call_rate: float | None = None
    discovery_rate: float | None = None
    discovery_burst: int | None = None
    allow_tools: tuple[str, ...] | None = None
    deny_tools: tuple[str, ...] = ()
    prefix: str = ""
    declared_tools: tuple[DeclaredTool, ...] = ()
    contract: Literal["", "remote-mcp"] = ""
    # Capability ids (globs) that the entry says this server provides.
    capabilities: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    share: Share = "auto"
    # None: as for all servers.
    sampling: Sampling | None = None
    elicitation: Elicitation = "allow"
    # None: as for all servers.
    on_change: OnChange | None = None
    confirm: Confirm | None = None
    oauth: SignInOptions = field(default_factory=SignInOptions)
    # Not from the entry but from the workspace that offers it (`config/binding`): for whom it is launched, which of the
    # processes of this launch is meant, and whether each session has one of its own.
    site: Site | None = field(default=None, compare=False, repr=False)
    instance: str = field(default="", compare=False)
    is_private: bool = field(default=False, compare=False)

    @property
    def is_foreign(self) -> bool:
        """Whether nobody configured this server so: it was only found or proposed, or a caller signs in on its own."""
        return self.origin.source in (FROM_REGISTRY, FROM_PROPOSAL, GIVEN_AUTH)

    @property
    def is_configured_by_user(self) -> bool:
        """Whether the entry is in a file of the user, here or of an AI client; one of a project came with somebody else's folder."""
        return not self.is_foreign and self.origin.source not in (FROM_PROJECT, FROM_PEER)

    def call_seconds(self, tool: str) -> float | None:
        """How long a call of this tool may take, where the entry says so: for the tool itself, else for all."""
        for_tool = self.tool_timeouts.get(tool)
        if for_tool is None:
            for_tool = next((seconds for name, seconds in self.tool_timeouts.items() if fnmatchcase(tool, name)), None)
        return self.timeout_seconds if for_tool is None else for_tool

    @property
    def process_key(self) -> tuple[str, float | None, str]:
        """What tells apart the processes, or connections, of all entries: those with the same key use the same one."""
        return self.launch_key, self.startup_timeout_seconds, self.instance

    @cached_property
    def launch_key(self) -> str:
        """A hash of everything that decides what is started or contacted, before `${NAME}` is resolved.

        What is known of a server belongs to this key: entries that launch the same thing are the same server.
        """
        launch = {name: value for name, value in asdict(self.launch).items() if name not in _NO_PART_OF_LAUNCH}
        if launch.get("sandbox", "") is None:
            del launch["sandbox"]  # so that the keys of all others stay as they were
        # Two accounts on one address may be shown different tools.
        account = [self.oauth.account] if self.oauth.account else []
        text = json.dumps([self.launch.transport, launch, *account], sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()
