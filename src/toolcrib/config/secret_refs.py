"""Resolve `${NAME}` at the moment of launch. Values never appear in an error, a repr or a file of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from toolcrib.config.documents import decode, read_bytes
from toolcrib.config.endpoints import variable_stem
from toolcrib.config.entries import is_peer_address, is_web_address
from toolcrib.config.env_file import parse_env_file
from toolcrib.config.malformed import Malformed
from toolcrib.config.origin_rules import check_variables, refused_reference
from toolcrib.config.references import REFERENCE, References, need, variable, with_home
from toolcrib.errors import ConfigurationError, NeedsConfiguration, Problem
from toolcrib.model.sandbox import Sandbox
from toolcrib.model.server import (
    FROM_PROJECT,
    FROM_PROPOSAL,
    FROM_REGISTRY,
    GIVEN_AUTH,
    Launch,
    Origin,
    RemoteLaunch,
    ServerSpec,
    StdioLaunch,
)

_MAX_ENV_FILE_BYTES = 1024 * 1024
OWN_FILE = Origin()

_HARMLESS_VARIABLE = re.compile(
    r"""PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TMPDIR|TEMP|TMP|TZ
      | (HTTP|HTTPS|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|NODE_EXTRA_CA_CERTS
      | XDG_(CONFIG|CACHE|DATA|STATE)_HOME|XDG_RUNTIME_DIR
      | SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|(LOCAL)?APPDATA|PROGRAMDATA|(COMMON)?PROGRAMFILES(\(X86\))?
      | PROGRAMW6432|USERPROFILE|USERNAME|USERDOMAIN|HOMEDRIVE|HOMEPATH|COMPUTERNAME|PUBLIC|OS
      | NUMBER_OF_PROCESSORS|PROCESSOR_ARCHITECTURE""",
    re.VERBOSE | re.IGNORECASE,
)
_WITHOUT_TOKENS = frozenset({FROM_REGISTRY, FROM_PROPOSAL, FROM_PROJECT, GIVEN_AUTH})
# What names of servers end in, beside what they are for: github-mcp-server is for github.
_WHAT_IT_IS = re.compile(r"(?:[-_](?:mcp[-_]server|server|mcp|bot|api))$", re.IGNORECASE)


class UnresolvedReference(Exception):
    """Names that have no value; never the text around them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"needs {', '.join(names)}")
        self.names = names


class _ResolvedStdio(StdioLaunch):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"StdioLaunch(<resolved, {len(self.args)} args, env {sorted(self.env)}>)"


class _ResolvedRemote(RemoteLaunch):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"RemoteLaunch(<resolved, headers {sorted(self.headers)}>)"


def resolve(text: str, env: Mapping[str, str]) -> str:
    """The text with `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${file:PATH}` and `${$}` (a plain `$`) replaced.

    What comes in is not looked into.
    """
    references = References(env)
    resolved = references.resolved(text)
    if references.missing:
        raise UnresolvedReference(tuple(dict.fromkeys(references.missing)))
    return resolved


def named_variables(text: str) -> Iterator[str]:
    """The variables a text refers to, those with a default included."""
    return (match["name"] for match in REFERENCE.finditer(text) if match["name"])


def resolve_with(references: References, launch: Launch, env: Mapping[str, str], *, server: str) -> Launch:
    """The launch with every reference resolved; NeedsConfiguration names all that are missing at once.

    `references` keeps what was found.
    """
    value = references.resolved
    resolved = (
        _resolved_stdio(launch, value, env) if isinstance(launch, StdioLaunch) else _resolved_remote(launch, value)
    )
    if references.refused:
        raise refused_reference(server, references.refused)
    if references.missing:
        names = tuple(dict.fromkeys(references.missing))
        hint = "Set it where your AI client or your shell gets its variables, or write a value into the entry."
        raise NeedsConfiguration(
            f"server '{server}' needs {', '.join(names)}", server=server, hint=hint, needs=list(names)
        )
    if isinstance(resolved, RemoteLaunch):
        _check_remote(resolved, server)
    return resolved


def resolve_unapproved_launch(launch: Launch, *, server: str) -> Launch:
    """The launch of a server nobody has approved: a program is refused, and no reference is looked up."""
    if isinstance(launch, StdioLaunch):
        raise NeedsConfiguration(
            f"server '{server}' is a program that nobody has approved: it is not started until you add it",
            server=server,
            hint="Look at what it would run, then add it with `toolcrib add`.",
        )
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        if match["name"] or match["foreign"]:
            missing.append(match["name"] or need(match["foreign"].strip("{} ")))
        return "$" if match["dollar"] else match[0]

    resolved = _resolved_remote(launch, lambda text: REFERENCE.sub(value, text))
    if missing:
        names = tuple(dict.fromkeys(missing))
        hint = "Add the server, then set it where your AI client or your shell gets its variables."
        raise NeedsConfiguration(
            f"server '{server}' needs {', '.join(names)}", server=server, hint=hint, needs=list(names)
        )
    _check_remote(resolved, server)
    return resolved


def child_environment(
    launch: StdioLaunch, env: Mapping[str, str], *, server: str, origin: Origin = OWN_FILE
) -> dict[str, str]:
    """What a child process may see: a few harmless variables, passEnv, the envFile, and the entry's env over all."""
    of_file = _env_file(launch, server)
    check_variables(server, origin, launch.env_file or "", of_file)
    harmless = {name: value for name, value in env.items() if is_harmless(name)}
    passed = {name: value for name in launch.pass_env if (value := variable(name, env)) is not None}
    return {**harmless, **passed, **of_file, **launch.env}


def is_harmless(name: str) -> bool:
    """Whether every child may see the variable of this name."""
    return _HARMLESS_VARIABLE.fullmatch(name) is not None


def bearer_for(spec: ServerSpec, env: Mapping[str, str]) -> str | None:
    """The token the environment holds for a remote server; None where the entry has its own Authorization header.

    A server that was only found in a registry, or proposed, or that came with a project, gets none: anyone can list one
    under any name. Nor does a peer: it knows us by our key.
    """
    if not isinstance(spec.launch, RemoteLaunch) or spec.origin.source in _WITHOUT_TOKENS:
        return None
    if is_peer_address(spec.launch.url):
        return None
    if any(name.lower() == "authorization" for name in spec.launch.headers):
        return None
    return next((token for name in bearer_variables(spec) if (token := env.get(name, "").strip())), None)


def bearer_variables(spec: ServerSpec) -> tuple[str, ...]:
    """The variables looked at for a server's token, the most specific first."""
    stems = list(dict.fromkeys(_stems(spec)))
    names = [f"{stem}_MCP_TOKEN" for stem in stems]
    if "GITHUB" in stems:
        names += ["GITHUB_PAT", "GITHUB_TOKEN"]
    return (*names, "MCP_AUTH_TOKEN")


def _stems(spec: ServerSpec) -> Iterator[str]:
    for name in (spec.title, spec.name):
        segments = [segment for segment in name.split("/") if segment.strip()]
        for segment in segments[:1] + segments[-1:]:
            yield variable_stem(segment)
        for segment in segments[-1:]:
            if plain := _WHAT_IT_IS.sub("", segment):
                yield variable_stem(plain)


def _resolved_stdio(launch: StdioLaunch, value: Callable[[str], str], env: Mapping[str, str]) -> StdioLaunch:
    return _ResolvedStdio(
        command=with_home(value(launch.command), env),
        args=tuple(map(value, launch.args)),
        env={name: value(text) for name, text in launch.env.items()},
        env_file=with_home(value(launch.env_file), env) if launch.env_file else None,
        pass_env=launch.pass_env,
        cwd=with_home(value(launch.cwd), env) if launch.cwd else None,
        sandbox=_resolved_sandbox(launch.sandbox, value, env),
    )


def _resolved_sandbox(sandbox: Sandbox | None, value: Callable[[str], str], env: Mapping[str, str]) -> Sandbox | None:
    if sandbox is None:
        return None
    read, write = (tuple(with_home(value(path), env) for path in paths) for paths in (sandbox.read, sandbox.write))
    return replace(sandbox, read=read, write=write)


def _resolved_remote(launch: RemoteLaunch, value: Callable[[str], str]) -> RemoteLaunch:
    headers = {name: value(text) for name, text in launch.headers.items()}
    return _ResolvedRemote(value(launch.url), headers, launch.transport, addresses=launch.addresses)


def _check_remote(launch: RemoteLaunch, server: str) -> None:
    if not is_web_address(launch.url) and not is_peer_address(launch.url):
        raise NeedsConfiguration(f"server '{server}': its url is not an http or https address", server=server)
    for name, text in launch.headers.items():
        if any(character in text for character in "\r\n\x00"):
            raise NeedsConfiguration(
                f"server '{server}': the value for header {name} holds a line break", server=server
            )


def _env_file(launch: StdioLaunch, server: str) -> dict[str, str]:
    if not launch.env_file:
        return {}
    try:
        return parse_env_file(decode(read_bytes(Path(launch.env_file), _MAX_ENV_FILE_BYTES)))
    except ConfigurationError as error:
        reason = error.message
    except Malformed as error:
        reason = str(Problem(error.place, error.message, launch.env_file))
    raise NeedsConfiguration(f"server '{server}' needs its envFile: {reason}", server=server) from None
