"""Capabilities as files for people to read: a projection of the catalog, never the truth.

`<root>/<state>/<server>/<tool>.rtfs`, with the facts about the server in `server.json`. Moving a file changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from toolcrib.ccos.file_names import file_name, file_names, marked
from toolcrib.ccos.manifest import Manifest
from toolcrib.ccos.rtfs_form import manifest_text
from toolcrib.errors import ConfigurationError, Problem, ValidationError
from toolcrib.files.one_step import write_in_one_step

Folder = Literal["pending", "approved", "rejected"]

ARCHIVED = "archived"
SERVER_FILE = "server.json"
ENDING = ".rtfs"
_MOST_FACT_BYTES = 1024 * 1024
_decode_facts = msgspec.json.Decoder(dict[str, Any]).decode


class CapabilityFiles:
    """The folders of one export; `root` usually is `capabilities/servers` below the state folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(
        self, folder: Folder, server: str, manifests: Sequence[Manifest], facts: Mapping[str, Any] | None = None
    ) -> list[Path]:
        """Write the capabilities of a server, and remove files of its former ones; the paths written, in order."""
        return write_server(self.root / folder, server, manifests, {**(facts or {}), "state": folder})

    def export(self, manifests: Sequence[Manifest], directory: Path | None = None) -> list[Path]:
        """Write capabilities of any servers below a directory, or each in the folder its state asks for."""
        written: list[Path] = []
        for server, own in by_server(manifests).items():
            place = self.root / folder_of(own[0]) if directory is None else directory
            written += write_server(place, server, own, {"address": own[0].provider.server_url})
        return written

    def remove(self, folder: Folder, server: str) -> None:
        """Remove what was written for a server; files that are not ours stay, and with them their folder."""
        with _reported(self.root):
            found = _existing(self.root / folder, server)
            if found is None:
                return
            for name in (*_written_before(found), SERVER_FILE):
                (found / name).unlink(missing_ok=True)
            with suppress(OSError):
                found.rmdir()

    def archive(self, server: str, version: int) -> None:
        """Put the approved files of a superseded version aside."""
        with _reported(self.root):
            found = _existing(self.root / "approved", server)
            if found is None:
                return
            target = self.root / ARCHIVED / f"{found.name}__v{version}"
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(OSError):  # an archive of that version is there already: the files are then simply replaced
                os.replace(found, target)


def write_server(place: Path, server: str, manifests: Sequence[Manifest], facts: Mapping[str, Any]) -> list[Path]:
    """Write one server's folder below `place`."""
    names = file_names(manifest.name for manifest in manifests)
    texts = {f"{names[manifest.name]}{ENDING}": manifest_text(manifest) for manifest in manifests}
    described = {"name": server, **facts, "capability_files": list(texts)}
    with _reported(place):
        folder = _folder_for(place, server)
        for stale in set(_written_before(folder)) - set(texts):
            (folder / stale).unlink(missing_ok=True)
        # First the list, so that files of a writing that was cut short are known as ours.
        _write(folder / SERVER_FILE, json.dumps(described, indent=2, ensure_ascii=True) + "\n")
        for name, text in texts.items():
            _write(folder / name, text)
    return [folder / name for name in texts]


def by_server(manifests: Iterable[Manifest]) -> dict[str, list[Manifest]]:
    """The manifests of each server, in the order given."""
    found: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        found.setdefault(manifest.server or "unknown", []).append(manifest)
    return found


def folder_of(manifest: Manifest) -> Folder:
    """Where a manifest of that state belongs."""
    if manifest.may_be_used:
        return "approved"
    return "rejected" if manifest.approval_status == "revoked" else "pending"


def read_facts(folder: Path) -> dict[str, Any]:
    """What a folder's `server.json` says, nothing where there is none; raises ValidationError where it can't be read."""
    file = folder / SERVER_FILE
    try:
        if file.is_symlink():
            return {}
        if file.stat().st_size > _MOST_FACT_BYTES:
            raise ValidationError(f"larger than {_MOST_FACT_BYTES} bytes")
        return _decode_facts(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValidationError(f"can't be read: {error.strerror or error}") from None
    # Unlike the standard library's, this decoder lets no half of a surrogate pair in, which could not be kept.
    except (ValueError, RecursionError):
        raise ValidationError("is not a JSON object") from None


def _known_facts(folder: Path) -> dict[str, Any]:
    """The same, but nothing where it can't be read: then the folder is not ours."""
    try:
        return read_facts(folder)
    except ValidationError:
        return {}


def _folder_for(place: Path, server: str) -> Path:
    """The folder of a server, made where it is missing; never another server's, and never what a link leads to."""
    folder = _existing(place, server)
    if folder is None:
        plain = file_name(server)
        folder = place / (marked(plain, server) if (place / plain).exists() else plain)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink():
        raise _trouble(folder, "is a link; capabilities are written to plain folders only")
    return folder


def _existing(place: Path, server: str) -> Path | None:
    plain = file_name(server)
    for folder in (place / plain, place / marked(plain, server)):
        if folder.is_dir() and not folder.is_symlink() and _known_facts(folder).get("name") == server:
            return folder
    return None


def _written_before(folder: Path) -> list[str]:
    """Names of the files that we wrote there; whatever the list says, none of them is a path."""
    listed = _known_facts(folder).get("capability_files")
    names = listed if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str) and name.endswith(ENDING) and Path(name).name == name]


def _write(file: Path, text: str) -> None:
    content = text.encode("utf-8", "replace")
    with suppress(OSError):
        if not file.is_symlink() and file.read_bytes() == content:
            return
    write_in_one_step(file, content)


@contextmanager
def _reported(place: Path) -> Iterator[None]:
    """What the system refuses to do with these files, and a name that no file can have, is a ConfigurationError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _trouble(place, f"capabilities can't be written: {reason}") from None


def _trouble(path: Path, message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", message, str(path))], hint="Check the folder and its permissions.")
