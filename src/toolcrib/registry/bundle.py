"""MCPB files: checked against the hash of their entry, unpacked where nothing outside can be touched, and read for their command."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from toolcrib.registry import grammar
from toolcrib.registry.asking import Asking, literal
from toolcrib.registry.entry import Input
from toolcrib.registry.recipe import Recipe, Refused

_MOST_FILES = 20_000
_MOST_BYTES = 512 * 1024 * 1024
_MANIFEST_BYTES = 256 * 1024
_BLOCK = 1024 * 1024
# What a damaged file can raise, depending on how it was packed.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(NotImplementedError, RuntimeError, EOFError, OSError),
    *(ValueError, IndexError),
)
# What a bundle may start besides a program of its own.
RUNTIMES = ("node", "python", "python3", "uv")
_REFERENCE = re.compile(
    r"\$\{(?P<folder>__dirname)\}|\$\{(?P<slash>/|pathSeparator)\}|\$\{user_config\.(?P<key>[\w-]+)\}"
)


def open_bundle(content: bytes, sha256: str, folder: Path, short_name: str, *, most_files: int = _MOST_FILES) -> Recipe:
    """Unpack a bundle into `folder`, which is replaced, and say how it is started; Refused where it can't be trusted."""
    if hashlib.sha256(content).hexdigest() != sha256:
        raise Refused("the file is not the one the registry names: its SHA-256 differs")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _checked_members(archive, most_files)
            recipe = _recipe(_manifest(archive), folder, members, Asking(short_name))
            _unpack(archive, folder)
    except _DAMAGED as problem:
        raise Refused(f"the file is not a bundle that can be unpacked: {problem}") from None
    return recipe


def _checked_members(archive: zipfile.ZipFile, most_files: int) -> frozenset[str]:
    members = archive.infolist()
    if len(members) > most_files or sum(member.file_size for member in members) > _MOST_BYTES:
        raise Refused("the bundle unpacks to more than is allowed")
    for member in members:
        parts = PurePosixPath(member.filename).parts
        is_odd = member.filename.startswith("/") or ".." in parts or re.search(r"[\\:\x00-\x1f]", member.filename)
        if is_odd or stat.S_ISLNK(member.external_attr >> 16):
            raise Refused(f"the bundle holds {grammar.shown(member.filename)}, which would lead out of its folder")
    return frozenset(member.filename for member in members)


def _manifest(archive: zipfile.ZipFile) -> Mapping[str, Any]:
    try:
        with archive.open("manifest.json") as file:
            manifest = msgspec.json.decode(file.read(_MANIFEST_BYTES))
    except (KeyError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise Refused("the bundle has no manifest.json that can be read") from None
    return manifest if isinstance(manifest, Mapping) else {}


def _recipe(manifest: Mapping[str, Any], folder: Path, members: frozenset[str], asking: Asking) -> Recipe:
    launch = _map(_map(manifest, "server"), "mcp_config")
    options = _map(manifest, "user_config")

    def text(value: object) -> str:
        return _text(str(value), folder, options, asking)

    arguments = launch.get("args")
    words = [text(word) for word in arguments] if isinstance(arguments, list) else []
    given = ((str(name), text(value)) for name, value in _map(launch, "env").items())
    env = {grammar.variable(name, value): value for name, value in given}
    return Recipe("mcpb", (_program(launch.get("command"), folder, members), *words), env, needs=asking.needs)


def _program(command: object, folder: Path, members: frozenset[str]) -> str:
    if isinstance(command, str) and command in RUNTIMES:
        return command
    inside = re.sub(r"^\$\{__dirname\}(?:/|\$\{/\})", "", str(command)).replace("${/}", "/")
    if inside in members:
        return literal(str(folder.joinpath(*PurePosixPath(inside).parts)))
    raise Refused(f"{grammar.shown(str(command))} is not a program that a bundle may start")


def _text(template: str, folder: Path, options: Mapping[str, Any], asking: Asking) -> str:
    pieces, end = [], 0
    for match in _REFERENCE.finditer(template):
        pieces.append(literal(template[end : match.start()]))
        if match["key"]:
            pieces.append(_asked(match["key"], _map(options, match["key"]), asking))
        else:
            pieces.append(literal(str(folder) if match["folder"] else os.sep))
        end = match.end()
    return "".join([*pieces, literal(template[end:])])


def _asked(key: str, option: Mapping[str, Any], asking: Asking) -> str:
    default = option.get("default")
    given = Input(
        description=str(option.get("description") or option.get("title") or ""),
        is_required=True,
        is_secret=option.get("sensitive") is True,
        default=default if isinstance(default, str) and "$" not in default else "",
    )
    return asking.text(given, asking.variable(key), f"the option {key}") or ""


def _unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir(mode=0o700, parents=True)
        _write_members(archive, fresh)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_members(archive: zipfile.ZipFile, fresh: Path) -> None:
    left = _MOST_BYTES
    for member in archive.infolist():
        target = fresh.joinpath(*PurePosixPath(member.filename).parts)
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, target.open("wb") as file:
            # Counted while it is written: what a file says of its own size may be wrong.
            while block := source.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise Refused("the bundle unpacks to more than is allowed")
                file.write(block)
        target.chmod(0o700 if member.external_attr >> 16 & stat.S_IXUSR else 0o600)


def _map(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
