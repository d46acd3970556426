"""Programs that only stand between a client and a server: `cmd /c`, and the `mcp-remote` bridge to an address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from toolcrib.config.entries import is_web_address
from toolcrib.model.server import Launch, RemoteLaunch, ServerSpec, StdioLaunch, Transport, likely_transport

_PACKAGE_RUNNERS = ("npx", "bunx", "pnpx")
_RUNNERS_WITH_A_WORD = {"pnpm": ("dlx",), "yarn": ("dlx",), "npm": ("exec", "x"), "bun": ("x",)}
_RUNNER_FLAGS = ("-y", "--yes", "-q", "--quiet", "--", "--bun")
_BRIDGE = re.compile(r"mcp-remote(?:@.*)?")
_HARMLESS_FLAGS = ("--allow-http", "--debug", "--silent", "--enable-proxy")
# How its own sign-in goes about: ours goes about in its own way.
_PORT = re.compile(r"[0-9]{1,5}")
_ABOUT_ITS_SIGN_IN = "--auth-timeout"
_TRANSPORTS: Mapping[str, Transport] = {
    "sse-only": "sse",
    "sse-first": "sse",
    "http-only": "http",
    "http-first": "http",
}
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(slots=True)
class _BridgeCall:
    """What a bridge is told: where to, how, and what to send along."""

    url: str
    transport: Transport | None = None
    headers: dict[str, str] = field(default_factory=dict)


def without_bridges(spec: ServerSpec) -> ServerSpec:
    """The server reached without `cmd` and without a bridge, where that is the same; who signs in is up to us then."""
    if not isinstance(spec.launch, StdioLaunch):
        return spec
    launch = without_shell(spec.launch)
    call = _bridge_call(launch)
    if call is None:
        return replace(spec, launch=launch)
    return replace(spec, launch=_direct(call))


def without_shell(launch: StdioLaunch) -> StdioLaunch:
    """`cmd /c program ...`, as clients on Windows write it, as the program itself."""
    if program_name(launch.command) != "cmd" or len(launch.args) < 2 or launch.args[0].lower() != "/c":
        return launch
    words = launch.args[1:]
    if len(words) == 1 and '"' not in words[0]:
        words = tuple(words[0].split()) or words
    return replace(launch, command=words[0], args=words[1:])


def is_bridged(spec: ServerSpec) -> bool:
    """Whether the server is reached through a bridge that can be left out."""
    return isinstance(spec.launch, StdioLaunch) and _bridge_call(without_shell(spec.launch)) is not None


def program_name(command: str) -> str:
    """The program's name without its folder and without what Windows puts behind it."""
    name = PureWindowsPath(command).name.lower()
    return re.sub(r"\.(exe|cmd|bat)$", "", name)


def _bridge_call(launch: Launch) -> _BridgeCall | None:
    if not isinstance(launch, StdioLaunch):
        return None
    words = _package_words((launch.command, *launch.args))
    if len(words) < 2 or not _BRIDGE.fullmatch(program_name(words[0])) or not is_web_address(words[1]):
        return None
    call = _BridgeCall(words[1])
    rest = iter(words[2:])
    for word in rest:
        if not _take_option(call, word, rest, launch.env):
            return None
    return call


def _package_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a package runner is asked to run, with its arguments; a program that is no runner runs itself."""
    name, rest = program_name(words[0]), words[1:]
    if name in _RUNNERS_WITH_A_WORD:
        if not rest or rest[0] not in _RUNNERS_WITH_A_WORD[name]:
            return words
        rest = rest[1:]
    elif name not in _PACKAGE_RUNNERS:
        return words
    while rest and rest[0] in _RUNNER_FLAGS:
        rest = rest[1:]
    return rest


def _take_option(call: _BridgeCall, word: str, rest: Iterator[str], env: Mapping[str, str]) -> bool:
    """Take one option; false for one that we would have to honour and cannot."""
    if word in _HARMLESS_FLAGS or _PORT.fullmatch(word):
        return True
    if word == _ABOUT_ITS_SIGN_IN:
        return next(rest, "").isdecimal()
    if word == "--header":
        name, colon, value = next(rest, "").partition(":")
        call.headers[name.strip()] = _from_environment(value.strip(), env)
        return bool(colon and name.strip())
    if word == "--transport":
        call.transport = _TRANSPORTS.get(next(rest, ""))
        return call.transport is not None
    return False


def _from_environment(value: str, env: Mapping[str, str]) -> str:
    """The bridge fills `${NAME}` itself, from the variables its entry gives it and then from all others."""
    return _VARIABLE.sub(lambda match: env.get(match[1], match[0]), value.replace("${$}", "$"))


def _direct(call: _BridgeCall) -> RemoteLaunch:
    transport = call.transport or likely_transport(call.url)
    return RemoteLaunch(call.url, call.headers, transport, is_transport_guessed=call.transport is None)
