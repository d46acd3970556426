"""A server as an entry of our own file: what `config.servers` would read back as the same server."""

from __future__ import annotations

from typing import Any

from toolcrib.config.sandbox_entry import written_sandbox
from toolcrib.config.sign_in_entry import written_options
from toolcrib.model.server import DeclaredTool, Launch, ServerSpec, StdioLaunch


def entry_of(spec: ServerSpec) -> dict[str, Any]:
    """The entry, without its name and without anything that is as it is anyway."""
    values: dict[str, Any] = {
        "name": spec.title,
        "description": spec.description,
        **launch_keys(spec.launch),
        "timeout": _plain_number(spec.timeout_seconds),
        "startupTimeout": _plain_number(spec.startup_timeout_seconds),
        "callRate": _plain_number(spec.call_rate),
        "discoveryRate": _plain_number(spec.discovery_rate),
        "discoveryBurst": spec.discovery_burst,
        "denyTools": list(spec.deny_tools),
        "prefix": spec.prefix,
        "share": "" if spec.share == "auto" else spec.share,
        "sampling": spec.sampling or "",
        "confirm": spec.confirm or "",
        "elicitation": "" if spec.elicitation == "allow" else spec.elicitation,
        "onChange": spec.on_change or "",
        "oauth": written_options(spec.oauth),
        "tools": [_declared(tool) for tool in spec.declared_tools],
    }
    entry = {key: value for key, value in values.items() if value or value == 0}
    if spec.allow_tools is not None:
        # An empty list allows nothing, which is not the same as no list.
        entry["allowTools"] = list(spec.allow_tools)
    return entry if spec.enabled else {**entry, "enabled": False}


def launch_keys(launch: Launch) -> dict[str, Any]:
    """How a server is started or reached, in the words of an entry."""
    if isinstance(launch, StdioLaunch):
        return {
            "command": launch.command,
            "args": list(launch.args),
            "env": dict(launch.env),
            "envFile": launch.env_file,
            "passEnv": list(launch.pass_env),
            "cwd": launch.cwd,
            "sandbox": written_sandbox(launch.sandbox),
        }
    stated = None if launch.is_transport_guessed else launch.transport
    return {"type": stated, "url": launch.url, "headers": dict(launch.headers)}


def _plain_number(number: float | None) -> float | int | None:
    return int(number) if number is not None and number.is_integer() else number


def _declared(tool: DeclaredTool) -> Any:
    more = {"description": tool.description, "inputSchema": dict(tool.input_schema)}
    told = {key: value for key, value in more.items() if value}
    return {"name": tool.name, **told} if told else tool.name
