"""What an entry may refer to, by where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from toolcrib.config.dangerous_variables import dangerous_variables
from toolcrib.config.project_folder import project_folder
from toolcrib.config.references import MayUse, anything
from toolcrib.errors import NeedsConfiguration
from toolcrib.model.server import FROM_PROJECT, Launch, Origin, ServerSpec, StdioLaunch


def may_use(origin: Origin) -> MayUse:
    """Which references an entry of this origin may use: one of a project no keyring, and files of its folder only."""
    if origin.source != FROM_PROJECT:
        return anything
    return lambda kind, place: kind == "file" and is_in_project(place, origin)


def is_in_project(place: str, origin: Origin) -> bool:
    """Whether a file lies in the folder of the project whose entry names it, wherever links lead."""
    try:
        return Path(place).resolve().is_relative_to(project_folder(Path(origin.file)).resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def check_env_file(spec: ServerSpec, launch: Launch) -> None:
    """Refuse a file of variables outside of the project whose entry names it."""
    named = launch.env_file if isinstance(launch, StdioLaunch) else None
    if named and spec.origin.source == FROM_PROJECT and not is_in_project(named, spec.origin):
        raise refused_reference(spec.name, [f"envFile {named}"])


def check_variables(server: str, origin: Origin, file: str, names: Iterable[str]) -> None:
    """Refuse a project's file of variables that has some which make programs run other code: nobody was shown them."""
    refused = dangerous_variables(dict.fromkeys(names, "")) if origin.source == FROM_PROJECT else []
    if refused:
        raise refused_reference(server, [f"{', '.join(refused)} of {file}"])


def refused_reference(server: str, references: Iterable[str]) -> NeedsConfiguration:
    """The error for what the entry of a project may not use."""
    names = ", ".join(dict.fromkeys(references))
    return NeedsConfiguration(
        f"server '{server}' may not use {names}: its entry came with a project's folder",
        server=server,
        hint="Add the server to your own configuration to give it that: `toolcrib add`.",
    )
