"""The index on disk: written at once, mapped into memory when read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import IndexUnreadable
from toolcrib.search import arrays_file, exact, inventory, stored_terms, vectors
from toolcrib.search.arrays_file import Array, ArraysFile, FileDamaged
from toolcrib.search.encoder import Encoder
from toolcrib.search.stored_terms import Posting, StoredTerms

# Another number makes older files unreadable: raise it when terms, weights of fields or the arrays change.
FORMAT = "1"
# What tools there are is nobody else's business.
_OWNER_ONLY = 0o600
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Contents:
    """What is to be written: servers with their number of tools and mark, the texts of tools in their new order, and what
    finds them.

    `numbers` are the old numbers of the tools in their new order; names and postings still speak of old ones, also of such
    as are gone.
    """

    servers: Sequence[tuple[str, int, str]]
    numbers: NDArray[np.int64]
    texts: Callable[[], Iterable[bytes]]
    names: Callable[[], tuple[Array, Array]]
    postings: Callable[[], Iterable[tuple[str, Posting]]]
    vectors: tuple[NDArray[np.int8], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class IndexFile:
    """Arrays of a stored index, where each server's tools lie, and what was noted about the server."""

    arrays: Mapping[str, Array]
    terms: StoredTerms
    spans: Mapping[str, tuple[int, int]]
    marks: Mapping[str, str]

    @classmethod
    def nothing(cls, dimensions: int) -> IndexFile:
        arrays = {
            **stored_terms.stored_arrays([]),
            **exact.stored_arrays(*exact.NO_NAMES),
            **inventory.stored_arrays([]),
            **vectors.empty_arrays(dimensions),
        }
        return cls(arrays, StoredTerms(arrays, 0), {}, {})

    @classmethod
    def open(cls, path: Path, encoder: Encoder) -> IndexFile:
        """Map a file into memory; raises `IndexUnreadable`."""
        try:
            file = ArraysFile.open(path)
            if file.notes.get("made_by") != _maker(encoder):
                raise IndexUnreadable(f"{path.name} was made by another version")
            servers = json.loads(file.notes["servers"])
            return cls._of(file.arrays, servers)
        except OSError as error:
            raise IndexUnreadable(f"cannot read {path.name}: {error.strerror or error}") from error
        except (FileDamaged, KeyError, ValueError, TypeError) as error:
            raise IndexUnreadable(f"{path.name} is damaged") from error

    @classmethod
    def _of(cls, arrays: Mapping[str, Array], servers: Sequence[tuple[str, int, str]]) -> IndexFile:
        spans, marks, start = {}, {}, 0
        for server, count, mark in servers:
            spans[server] = (start, start + count)
            marks[server] = mark
            start += count
        _check(arrays, start)
        return cls(arrays, StoredTerms(arrays, start), spans, marks)

    @staticmethod
    def write(path: Path, contents: Contents, encoder: Encoder) -> None:
        """Write a file that `open` reads, in place of an older one."""
        arrays = {
            **stored_terms.stored_arrays(_renumbered(contents)),
            **exact.stored_arrays(*_renumbered_names(contents)),
            **inventory.stored_arrays(contents.texts()),
            **vectors.stored_arrays(*contents.vectors),
        }
        notes = {"made_by": _maker(encoder), "servers": json.dumps(list(contents.servers))}
        beside = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, _OWNER_ONLY), "wb") as file:
                file.writelines(arrays_file.parts(arrays, notes))
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def _check(arrays: Mapping[str, Array], tools: int) -> None:
    """Raise ValueError or KeyError for arrays that would not serve an index of so many tools."""
    nothing = IndexFile.nothing(64).arrays
    lengths = {
        "tools.ends": tools,
        "vectors.codes": tools,
        "vectors.scales": tools,
        "terms.ends": len(arrays["terms.keys"]),
        "terms.strengths": len(arrays["terms.documents"]),
        "names.numbers": len(arrays["names.keys"]),
    }
    for name, sample in nothing.items():
        if arrays[name].dtype != sample.dtype or arrays[name].ndim != sample.ndim:
            raise ValueError(f"{name} is of another kind")
        if len(arrays[name]) != lengths.get(name, len(arrays[name])):
            raise ValueError(f"{name} does not fit the rest")
    if arrays["vectors.signs"].shape != (arrays["vectors.codes"].shape[1] // 64, tools):
        raise ValueError("the signs do not fit the vectors")


def _maker(encoder: Encoder) -> str:
    return f"{FORMAT} {encoder.identity}"


def _renumbered_names(contents: Contents) -> tuple[Array, Array]:
    """The digests of names with new numbers; tools that are gone are left out."""
    digests, numbers = contents.names()
    renumbered = _renumbering(contents)(numbers)
    return digests[renumbered >= 0], renumbered[renumbered >= 0]


def _renumbering(contents: Contents) -> Callable[[Array], Array]:
    """Gives the numbers that tools will have for those they have now; -1 for one that is gone."""
    size = int(contents.numbers.max(initial=-1)) + 1
    new = np.full(size + 1, -1, dtype=np.int64)
    new[contents.numbers] = np.arange(len(contents.numbers))
    return lambda old: new[np.minimum(old, size)]


def _renumbered(contents: Contents) -> Iterable[tuple[str, Posting]]:
    """The postings with new numbers, one a term; documents that are gone are left out."""
    new_numbers = _renumbering(contents)
    parts: dict[str, list[Posting]] = {}
    for term, (documents, strengths) in contents.postings():
        renumbered = new_numbers(documents)
        kept = renumbered >= 0
        parts.setdefault(term, []).append((renumbered[kept].astype(np.uint32), strengths[kept]))
    return ((term, _joined(own)) for term, own in parts.items())


def _joined(parts: Sequence[Posting]) -> Posting:
    documents = np.concatenate([part[0] for part in parts])
    order = np.argsort(documents, kind="stable")
    return documents[order], np.concatenate([part[1] for part in parts])[order]
