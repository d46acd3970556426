"""One server entry, nested or flat, in any of the spellings clients use, becomes one `ServerSpec`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from toolcrib.config.declared_tools import declared_tools
from toolcrib.config.endpoints import launch_from_endpoint
from toolcrib.config.names import slug
from toolcrib.config.sandbox_entry import sandbox_options
from toolcrib.config.sign_in_entry import sign_in_options
from toolcrib.config.values import Reader, join
from toolcrib.model.effect import CONFIRMS
from toolcrib.model.peer import peer_id_of
from toolcrib.model.peer_id import is_peer_id
from toolcrib.model.sandbox import Sandbox
from toolcrib.model.server import (
    ELICITATIONS,
    ON_CHANGES,
    SAMPLINGS,
    SHARES,
    Launch,
    Origin,
    RemoteLaunch,
    ServerSpec,
    StdioLaunch,
    Transport,
    likely_transport,
)
from toolcrib.model.sign_in_options import SignInOptions

ENTRY_KEYS: Mapping[str, str] = {
    "name": "The server's name; in a map the key is the name, and this its title.",
    "description": "One line for people and agents.",
    "enabled": "`false` keeps the entry but offers nothing of it (`disabled: true` says the same).",
    "connection": "The keys from `type` to `headers`, nested; or `docker://<container>`, a URL, or a command line.",
    "type": "`stdio`, `http` (Streamable HTTP) or `sse`; without it, `command` means stdio and `url` means http, or sse where the address ends in `/sse`; if that is wrong, the other one is tried.",
    "command": "The program to start; never run through a shell.",
    "args": "Its arguments.",
    "env": "Variables it gets, besides a few harmless ones such as PATH and HOME.",
    "envFile": "A file of `NAME=value` lines with more variables.",
    "passEnv": "Names of variables handed on from the gateway's own environment.",
    "cwd": "The folder it runs in.",
    "url": "Address of a remote server.",
    "headers": "HTTP headers sent with every request.",
    "timeout": "Seconds a call may take, instead of `callTimeout`.",
    "toolTimeouts": "Seconds a call of single tools may take: names or globs of the server's tools, such as `export_*: 1800`.",
    "startupTimeout": "Seconds the start (of a remote server: the handshake) may take, instead of `startupTimeout` (`connectTimeout`).",
    "callRate": "Calls allowed per second, instead of `callRate`.",
    "discoveryRate": "Readings allowed per second, instead of `discoveryRate`.",
    "discoveryBurst": "Readings allowed at once after a quiet time, instead of `discoveryBurst`.",
    "allowTools": "Only these tools (names or globs) of the server.",
    "denyTools": "None of these tools (names or globs) of the server.",
    "prefix": "Put before the names of its tools.",
    "share": "`always`: all clients share one process, whatever folder they are in. `never`: each client session gets its own. `auto` (the default): [as fits the server](sharing.md).",
    "confirm": "Which calls of this server a person confirms first, instead of `confirm`: `never`, `destructive` or `writes`.",
    "sampling": "Whether this server may use your client's model, instead of `sampling`: `ask`, `allow` or `deny`.",
    "elicitation": "`deny`: this server may not ask you anything. `allow` is the default.",
    "onChange": "What happens when this server changes its tools, instead of `trust.onChange`: `review` or `warn`.",
    "sandbox": "`true`: the server runs in a [sandbox](security.md#sandbox) and reaches nothing but its own program. Or a map that says what else: [its keys](#sandbox).",
    "oauth": "`false`: nobody [signs in](sign-in.md) to this server. Or a map that says how: [its keys](#oauth).",
    "tools": "Tools known before the server was ever reached: names, or maps with `name`, `description`, and `inputSchema` or"
    " `parameters` (a list of `name`, `type`, `description`, `required`).",
}
Word = TypeVar("Word", bound=str)

_ALIASES = {"serverUrl": "url", "transportType": "type", "transport": "type", "disabledTools": "denyTools"}
KNOWN_KEYS = (*ENTRY_KEYS, *_ALIASES, "disabled")
_TYPES: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE_NAME = re.compile(r"[^=\s\x00]+")
_MAX_PREFIX_CHARACTERS = 64


class EntryReader(Reader):
    """Reads one entry; `problems` says why there is no spec, `notes` has warnings about one that works."""

    def __init__(self, data: Mapping[str, Any], where: str, origin: Origin) -> None:
        super().__init__(_flattened(data), where, origin.file or origin.source)
        self.origin = origin
        self.notes: list[str] = []

    def spec(self, name: str) -> ServerSpec | None:
        """The entry as a spec of that name, or None when anything in it cannot be used."""
        title = self.text("name") or name
        launch = self._launch()
        safe = slug(name)
        spec = ServerSpec(
            name=safe,
            launch=launch or StdioLaunch(""),
            title=title if title != safe else "",
            description=self.text("description") or "",
            enabled=self._enabled(),
            timeout_seconds=self.seconds("timeout"),
            startup_timeout_seconds=self.seconds("startupTimeout"),
            tool_timeouts=self.seconds_map("toolTimeouts"),
            call_rate=self.rate("callRate"),
            discovery_rate=self.rate("discoveryRate"),
            discovery_burst=self.count("discoveryBurst"),
            allow_tools=self.texts("allowTools"),
            deny_tools=self.texts("denyTools") or (),
            prefix=self._prefix(),
            declared_tools=declared_tools(self),
            origin=self.origin,
            share=self._one_of("share", SHARES) or "auto",
            sampling=self._one_of("sampling", SAMPLINGS),
            elicitation=self._one_of("elicitation", ELICITATIONS) or "allow",
            on_change=self._one_of("onChange", ON_CHANGES),
            confirm=self._one_of("confirm", CONFIRMS),
            oauth=self._oauth(),
        )
        return None if self.problems else spec

    def _enabled(self) -> bool:
        enabled, disabled = self.flag("enabled"), self.flag("disabled")
        return enabled is not False and disabled is not True

    def _prefix(self) -> str:
        prefix = self.text("prefix") or ""
        if len(prefix) > _MAX_PREFIX_CHARACTERS:
            self.fail("prefix", f"expected at most {_MAX_PREFIX_CHARACTERS} characters, found {len(prefix)}")
        return prefix

    def _one_of(self, key: str, words: tuple[Word, ...]) -> Word | None:
        """The word that the entry has there, if it has one."""
        stated = self.text(key)
        for word in words:
            if stated == word:
                return word
        if stated is not None:
            self.fail(key, f"expected {' or '.join(words)}, found another word")
        return None

    def _oauth(self) -> SignInOptions:
        options, notes = sign_in_options(self)
        self.notes.extend(notes)
        return options

    def _sandbox(self) -> Sandbox | None:
        options, notes = sandbox_options(self, lambda path: self._beside_the_file(path, only_dotted=False))
        self.notes.extend(notes)
        return options

    def _needs_no_sandbox(self) -> None:
        if self.data.get("sandbox"):
            self.fail("sandbox", "only a server that Toolcrib starts can run in a sandbox, and this one has an address")

    def _launch(self) -> Launch | None:
        connection = self.data.get("connection")
        if connection is not None:
            return self._launch_from_text(connection)
        match self._transport():
            case "stdio":
                return self._stdio()
            case None:
                return None
            case remote:
                return self._remote(remote)

    def _launch_from_text(self, connection: Any) -> Launch | None:
        if not isinstance(connection, str):
            self.expected("connection", "a map, or a text such as docker://<container>", connection)
            return None
        try:
            launch = launch_from_endpoint(connection)
        except ValueError as error:
            self.fail("connection", str(error))
            return None
        if isinstance(launch, StdioLaunch):
            return replace(launch, sandbox=self._sandbox())
        self._needs_no_sandbox()
        return launch

    def _transport(self) -> Transport | None:
        """The stated type, else what the keys and the address say."""
        stated = self.text("type")
        if stated is not None:
            transport = _TYPES.get(re.sub(r"[-_ ]", "", stated).lower())
            if transport is None:
                self.fail("type", "expected stdio, http or sse, found another word")
            return transport
        if "type" in self.data and self.data["type"] is not None:
            return None
        has_command, has_url = self.data.get("command") is not None, self.data.get("url") is not None
        if has_command == has_url:
            found = "both" if has_command else "neither"
            self.fail("", f"expected either command (a local server) or url (a remote one), found {found}")
            return None
        return "stdio" if has_command else likely_transport(str(self.data["url"]))

    def _stdio(self) -> StdioLaunch | None:
        words = self._command()
        if not words:
            return None
        env = self.text_map("env")
        for name in env:
            if not _VARIABLE_NAME.fullmatch(name):
                self.fail("env", "expected names of variables, found one with a space or an equals sign in it")
        cwd = self._path("cwd")
        return StdioLaunch(
            command=words[0] if cwd else self._beside_the_file(words[0], only_dotted=True),
            args=(*words[1:], *self._args()),
            env=env,
            env_file=self._path("envFile"),
            pass_env=self.texts("passEnv") or (),
            cwd=cwd,
            sandbox=self._sandbox(),
        )

    def _command(self) -> tuple[str, ...]:
        if isinstance(self.data.get("command"), list):
            words = self.texts("command") or ()
        else:
            text = self.text("command")
            words = (text,) if text is not None else ()
        if not self.problems and not (words and words[0].strip()):
            self.fail("command", "expected the program to start, found nothing")
            return ()
        if words and re.match(r"[^\s/\\]+\s+\S", words[0]):
            self.notes.append("command looks like a whole command line; put its arguments into args")
        return words

    def _args(self) -> tuple[str, ...]:
        value = self.data.get("args")
        if not isinstance(value, str):
            return self.texts("args") or ()
        try:
            words = tuple(shlex.split(value))
        except ValueError:
            self.fail("args", "expected a list of texts, found one text with an open quote")
            return ()
        self.notes.append("args is one text and was split at its spaces; write a list")
        return words

    def _remote(self, transport: Transport) -> RemoteLaunch | None:
        url = self.text("url")
        if not url:
            self.expected("url", "the address of the server", url)
            return None
        # An address that begins with a variable can only be judged when the variable is known.
        if "${" not in url and not is_web_address(url) and not is_peer_address(url):
            self.fail("url", "expected an http or https address, found something else")
        self._needs_no_sandbox()
        headers = self.text_map("headers")
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                self.fail("headers", "expected names of HTTP headers, found one with characters they cannot have")
            if "\n" in value or "\r" in value:
                self.fail(join("headers", name), "expected one line, found a line break")
        return RemoteLaunch(url, headers, transport, is_transport_guessed=self.data.get("type") is None)

    def _path(self, key: str) -> str | None:
        text = self.text(key)
        return self._beside_the_file(text, only_dotted=False) if text else None

    def _beside_the_file(self, text: str, *, only_dotted: bool) -> str:
        """A relative path is meant from the folder of the file it is written in."""
        is_relative = re.match(r"\.\.?[/\\]", text) if only_dotted else not re.match(r"[~$/\\]|[A-Za-z]:", text)
        return str(Path(self.origin.file).parent / text) if is_relative and self.origin.file else text


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def is_peer_address(url: str) -> bool:
    """Whether it is the address of a peer, wherever that is."""
    return is_peer_id(peer_id_of(url) or "")


def _flattened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Aliases renamed and a `connection` map laid flat; its keys win over those beside it."""
    connection = data.get("connection")
    if isinstance(connection, Mapping):
        beside = {key: value for key, value in data.items() if key != "connection"}
        data = {**beside, **connection}
    return {_ALIASES.get(key, key): value for key, value in data.items()}
