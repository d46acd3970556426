"""Our own entry in a client's file: put there, or brought up to date."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from toolcrib.adoption.client_file import ClientFile
from toolcrib.clients.own_entry import Entry
from toolcrib.edit.changes import Change, Place, Put
from toolcrib.model.server import BUILT_IN_SERVER


def free_key(taken: Iterable[str]) -> str:
    """The name of our entry: one that no other entry has."""
    used = set(taken)
    names = itertools.chain([BUILT_IN_SERVER], (f"{BUILT_IN_SERVER}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in used)


def added(file: ClientFile, key: str, entry: Entry, count: int) -> list[Change]:
    """The changes that put the entry behind the `count` others."""
    named: dict[str, Any] = {**entry, "name": key} if "name" in entry else entry
    place: Place = (*file.container, count if file.client.is_list else key)
    allowed = file.allowed()
    return [Put(place, named), *([Put((*file.client.allowed, len(allowed)), key)] if allowed is not None else [])]


def refreshed(place: Place, there: Entry, wanted: Entry, *, names_key: str) -> list[Change]:
    """The changes that give an entry of ours what it lacks; what is there stays as it is.

    Only the list under `names_key` may grow; in all others what is there was chosen.
    """
    return list(_lacking(place, there, wanted, names_key))


def _lacking(place: Place, there: Entry, wanted: Entry, names_key: str) -> Iterator[Change]:
    for key, value in wanted.items():
        known = there.get(key)
        if key not in there:
            yield Put((*place, key), value)
        elif isinstance(known, dict) and isinstance(value, dict):
            yield from _lacking((*place, key), known, value, names_key)
        elif key == names_key and isinstance(known, list):
            names = [*known, *(name for name in value if name not in known)]
            if names != known:
                yield Put((*place, key), names)
