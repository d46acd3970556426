"""What would be started or contacted: exactly, for the person who decides about it, and without credentials, to be kept."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from toolcrib.masking.entries import masked_address, masked_entry
from toolcrib.masking.names import is_secret_name
from toolcrib.masking.spans import MASK
from toolcrib.masking.texts import cover_keys
from toolcrib.model.server import Launch, RemoteLaunch, StdioLaunch

# What no program takes for an option, a place or a command; with the scheme before it in a header.
_WAYS_TO_GET_ONE = ("COMMAND", "CMD", "HELPER", "PROGRAM", "PROCESS", "FILE", "PATH")
_TOKEN = re.compile(r"(?:[A-Za-z]+ )?(?!-)[\w.~+=-]+")


def shown_launch(launch: Launch) -> dict[str, Any]:
    """All of it, as it is.

    A stranger wrote it, so no secret of the person's is in it; and a command that looks like a key would else be hidden.
    """
    if isinstance(launch, RemoteLaunch):
        return {"url": launch.url, "transport": launch.transport, "headers": dict(launch.headers)}
    more = {
        "env": dict(launch.env),
        "envFile": launch.env_file,
        "passEnv": list(launch.pass_env),
        "cwd": launch.cwd,
    }
    words = {"command": launch.command, "args": list(launch.args)}
    return {**words, **{name: value for name, value in more.items() if value}}


def without_own_secrets(launch: Launch) -> Launch:
    """The same launch for a screen, where a file may be the person's own: what can only be a secret of theirs is covered.

    That are values of headers, and of variables that are named so. Whatever decides what runs stays as it is.
    """
    if isinstance(launch, RemoteLaunch):
        return replace(launch, headers={name: _covered(value) for name, value in launch.headers.items()})
    given = {name: _covered(value) if _names_a_secret(name) else value for name, value in launch.env.items()}
    return replace(launch, env=given)


def _names_a_secret(name: str) -> bool:
    # `SECRET_COMMAND` names what is run to get one.
    return is_secret_name(name) and not name.upper().endswith(_WAYS_TO_GET_ONE)


def _covered(value: str) -> str:
    return MASK if _TOKEN.fullmatch(value) else value


def covered_launch(launch: Launch) -> dict[str, Any]:
    """The same without credentials, for files that may be passed on; whoever decides is not shown this."""
    if isinstance(launch, RemoteLaunch):
        headers = masked_entry(launch.headers, "headers")
        return {"url": masked_address(launch.url), "transport": launch.transport, "headers": headers}
    shown = shown_launch(launch)
    shown["args"] = [cover_keys(word) for word in launch.args]
    shown |= {name: cover_keys(shown[name]) for name in ("command", "envFile", "cwd") if name in shown}
    if launch.env:
        shown["env"] = {name: _covered_variable(name, value) for name, value in launch.env.items()}
    return shown


def launch_without_secrets(launch: Launch) -> Launch:
    """What is started or contacted of a server that is in use, as it may be kept beside its changes.

    Of what it is given only the names are kept, and references to values.
    """
    shown = covered_launch(launch)
    if isinstance(launch, RemoteLaunch):
        return RemoteLaunch(shown["url"], shown["headers"], launch.transport)
    given = {name: str(value) for name, value in masked_entry(launch.env, "env").items()}
    return StdioLaunch(
        shown["command"],
        tuple(shown["args"]),
        given,
        env_file=shown.get("envFile"),
        pass_env=launch.pass_env,
        cwd=shown.get("cwd"),
    )


def _covered_variable(name: str, value: str) -> Any:
    return masked_entry(value, name) if is_secret_name(name) else cover_keys(value)
