"""Resolve `${NAME}` at the moment of launch. Values never appear in an error, a repr or a file of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from toolcrib.config.documents import decode, read_bytes
from toolcrib.config.endpoints import variable_stem
from toolcrib.config.entries import is_web_address
from toolcrib.config.env_file import parse_env_file
from toolcrib.config.malformed import Malformed
from toolcrib.errors import ConfigurationError, NeedsConfiguration, Problem
from toolcrib.model.server import (
    FROM_PROPOSAL,
    FROM_REGISTRY,
    GIVEN_AUTH,
    Launch,
    RemoteLaunch,
    ServerSpec,
    StdioLaunch,
)

# `$$` comes first and is kept: it is part of passwords, and it shields the brace after it. `${$}` is a plain `$`.
_REFERENCE = re.compile(
    r"""\$\$
      | \$\{(?P<dollar>\$)\}
      | \$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:[^}$]|\$(?!\{))*))?\}
      | \$\{(?P<foreign>\{[^{}]*\}|[A-Za-z_][\w.]*:[^}]*|[A-Za-z_]\w*\.[\w.]*)\}""",
    re.VERBOSE,
)
_MAX_ENV_FILE_BYTES = 1024 * 1024
_MAX_SECRET_FILE_BYTES = 64 * 1024

_HARMLESS_VARIABLE = re.compile(
    r"""PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TMPDIR|TEMP|TMP|TZ
      | (HTTP|HTTPS|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|NODE_EXTRA_CA_CERTS
      | XDG_(CONFIG|CACHE|DATA|STATE)_HOME|XDG_RUNTIME_DIR
      | SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|(LOCAL)?APPDATA|PROGRAMDATA|(COMMON)?PROGRAMFILES(\(X86\))?
      | PROGRAMW6432|USERPROFILE|USERNAME|USERDOMAIN|HOMEDRIVE|HOMEPATH|COMPUTERNAME|PUBLIC|OS
      | NUMBER_OF_PROCESSORS|PROCESSOR_ARCHITECTURE""",
    re.VERBOSE | re.IGNORECASE,
)
# What names of servers end in, beside what they are for: github-mcp-server is for github.
_WHAT_IT_IS = re.compile(r"(?:[-_](?:mcp[-_]server|server|mcp|bot|api))$", re.IGNORECASE)
_NAMED_NEED = re.compile(r"(?:input|file|command|config|secret|keyring):[^$]+")

FromKeyring = Callable[[str], str | None]


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


def no_keyring(_: str) -> None:
    """The lookup where there is no keyring."""


def resolve(text: str, env: Mapping[str, str]) -> str:
    """The text with `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${file:PATH}` and `${$}` (a plain `$`) replaced.

    What comes in is not looked into.
    """
    missing: list[str] = []
    resolved = _resolve_into(text, env, missing)
    if missing:
        raise UnresolvedReference(tuple(dict.fromkeys(missing)))
    return resolved


def named_variables(text: str) -> Iterator[str]:
    """The variables a text refers to, those with a default included."""
    return (match["name"] for match in _REFERENCE.finditer(text) if match["name"])


def resolve_launch(
    launch: Launch, env: Mapping[str, str], *, server: str, from_keyring: FromKeyring = no_keyring
) -> Launch:
    """The launch with every reference resolved; NeedsConfiguration names all that are missing at once."""
    missing: list[str] = []

    def value(text: str) -> str:
        return _resolve_into(text, env, missing, from_keyring)

    resolved = (
        _resolved_stdio(launch, value, env) if isinstance(launch, StdioLaunch) else _resolved_remote(launch, value)
    )
    if missing:
        names = tuple(dict.fromkeys(missing))
        hint = "Set it in the environment the gateway runs in, or write a value into the entry."
        raise NeedsConfiguration(
            f"server '{server}' needs {', '.join(names)}", server=server, hint=hint, needs=list(names)
        )
    if isinstance(resolved, RemoteLaunch):
        _check_remote(resolved, server)
    return resolved


def resolve_strangers_launch(launch: Launch, *, server: str) -> Launch:
    """The launch of a server nobody has approved: a program is refused, and no reference is looked up."""
    if isinstance(launch, StdioLaunch):
        raise NeedsConfiguration(
            f"server '{server}' comes from a registry and is a program: it is not started before it was added",
            server=server,
            hint="Look at what it would run, then add it with `toolcrib add`.",
        )
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        if match["name"] or match["foreign"]:
            missing.append(match["name"] or _need(match["foreign"].strip("{} ")))
        return "$" if match["dollar"] else match[0]

    resolved = _resolved_remote(launch, lambda text: _REFERENCE.sub(value, text))
    if missing:
        names = tuple(dict.fromkeys(missing))
        hint = "Add the server, then set it in the environment the gateway runs in."
        raise NeedsConfiguration(
            f"server '{server}' needs {', '.join(names)}", server=server, hint=hint, needs=list(names)
        )
    _check_remote(resolved, server)
    return resolved


def child_environment(launch: StdioLaunch, env: Mapping[str, str], *, server: str) -> dict[str, str]:
    """What a child process may see: a few harmless variables, passEnv, the envFile, and the entry's env over all."""
    harmless = {name: value for name, value in env.items() if _HARMLESS_VARIABLE.fullmatch(name)}
    passed = {name: value for name in launch.pass_env if (value := _value(name, env)) is not None}
    return {**harmless, **passed, **_env_file(launch, server), **launch.env}


def bearer_for(spec: ServerSpec, env: Mapping[str, str]) -> str | None:
    """The token the environment holds for a remote server; None where the entry has its own Authorization header.

    A server that was only found in a registry, or proposed, gets none: anyone can list one under any name.
    """
    if not isinstance(spec.launch, RemoteLaunch) or spec.origin.source in {FROM_REGISTRY, FROM_PROPOSAL, GIVEN_AUTH}:
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


def _resolve_into(text: str, env: Mapping[str, str], missing: list[str], from_keyring: FromKeyring = no_keyring) -> str:
    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if match["dollar"]:
            return "$"
        if name is None:
            return _foreign_value(match, env, missing, from_keyring)
        found = _value(name, env)
        if default is not None:
            return found or default
        if found is None:
            missing.append(name)
        return found or ""

    return _REFERENCE.sub(value, text)


def _value(name: str, env: Mapping[str, str]) -> str | None:
    """The variable, or None where it is not set.

    A client that is asked to hand on a variable it does not have hands on the text that names it.
    """
    found = env.get(name)
    return None if found in (f"${name}", f"${{{name}}}", f"${{env:{name}}}") else found


def _foreign_value(match: re.Match[str], env: Mapping[str, str], missing: list[str], from_keyring: FromKeyring) -> str:
    if match["foreign"] is None:
        return match[0]
    kind, _, rest = match["foreign"].partition(":")
    if kind == "file" and (content := _file_content(_with_home(rest, env))) is not None:
        return content
    if kind == "keyring" and (secret := from_keyring(rest)) is not None:
        return secret
    missing.append(_need(match["foreign"].strip("{} ")))
    return match[0]


def _file_content(path: str) -> str | None:
    """The text of a small file that holds one value, without the line break at its end."""
    if not Path(path).is_absolute():
        return None
    try:
        return decode(read_bytes(Path(path), _MAX_SECRET_FILE_BYTES)).rstrip("\r\n")
    except (ConfigurationError, Malformed):
        return None


def _need(reference: str) -> str:
    # What follows the colon of a reference we cannot read may be a value; after these words it is a name.
    return reference if _NAMED_NEED.fullmatch(reference) else reference.partition(":")[0]


def _resolved_stdio(launch: StdioLaunch, value: Callable[[str], str], env: Mapping[str, str]) -> StdioLaunch:
    return _ResolvedStdio(
        command=_with_home(value(launch.command), env),
        args=tuple(map(value, launch.args)),
        env={name: value(text) for name, text in launch.env.items()},
        env_file=_with_home(value(launch.env_file), env) if launch.env_file else None,
        pass_env=launch.pass_env,
        cwd=_with_home(value(launch.cwd), env) if launch.cwd else None,
    )


def _resolved_remote(launch: RemoteLaunch, value: Callable[[str], str]) -> RemoteLaunch:
    headers = {name: value(text) for name, text in launch.headers.items()}
    return _ResolvedRemote(value(launch.url), headers, launch.transport)


def _check_remote(launch: RemoteLaunch, server: str) -> None:
    if not is_web_address(launch.url):
        raise NeedsConfiguration(f"server '{server}': its url is not an http or https address", server=server)
    for name, text in launch.headers.items():
        if any(character in text for character in "\r\n\x00"):
            raise NeedsConfiguration(
                f"server '{server}': the value for header {name} holds a line break", server=server
            )


def _with_home(text: str, env: Mapping[str, str]) -> str:
    if text != "~" and not text.startswith(("~/", "~\\")):
        return text
    home = env.get("HOME") or env.get("USERPROFILE") or str(Path.home())
    return home + text[1:]


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
