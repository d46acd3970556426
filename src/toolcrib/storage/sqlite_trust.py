"""What was agreed to of servers, in the catalog's SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from toolcrib.catalog.store import PinsKept, PinsMoved
from toolcrib.model.finding import Finding
from toolcrib.model.pin import Judged, Pin, PinKey, Pins
from toolcrib.storage.json_trust import findings_to_json, read_findings, read_kinds
from toolcrib.trust.canonical import mends

_PINNED = "SELECT revision, kinds, scanner FROM pinned WHERE review_key = ?"
# What a server says of itself is shown as it was agreed to, so those words are needed even if no other are.
_PINS = """
SELECT kind, name, fingerprint, pinned_by, pinned_at,
       CASE WHEN :with_definitions OR kind = 'server' THEN definition ELSE '' END
FROM pins WHERE review_key = :key ORDER BY id DESC
"""
_REFUSED = "SELECT fingerprint FROM refused_definitions WHERE review_key = ?"
_SAVE_PINNED = """
INSERT INTO pinned (review_key, server, revision, kinds, scanner, pinned_at, met_at)
VALUES (:key, :server, 1, :kinds, :scanner, :at, :at)
ON CONFLICT (review_key) DO UPDATE SET
    server = excluded.server, revision = revision + 1, kinds = excluded.kinds, scanner = excluded.scanner,
    pinned_at = excluded.pinned_at, met_at = excluded.met_at
"""
_FORGET_UNMET = """
DELETE FROM pinned WHERE review_key IN (
    SELECT review_key FROM pinned WHERE met_at < :since
    UNION SELECT * FROM (SELECT review_key FROM pinned ORDER BY met_at DESC LIMIT -1 OFFSET :kept)
)
AND NOT EXISTS (SELECT 1 FROM servers WHERE servers.review_key = pinned.review_key)
AND NOT EXISTS (SELECT 1 FROM pins WHERE pins.review_key = pinned.review_key AND pinned_by LIKE 'person:%')
"""
# Agreed to once more, a definition is the newest again.
_SAVE_PIN = """
INSERT OR REPLACE INTO pins (review_key, kind, name, fingerprint, pinned_by, pinned_at, definition)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
# Many typos in a row count as one, so that they push nothing else out.
_DROP_COSMETIC = "DELETE FROM pins WHERE review_key = ? AND kind = ? AND name = ? AND pinned_by = 'cosmetic'"
_DROP_OLDEST_OF_NAME = """
DELETE FROM pins WHERE id IN (
    SELECT id FROM pins WHERE review_key = ? AND kind = ? AND name = ? ORDER BY id DESC LIMIT -1 OFFSET ?
)
"""
_DROP_OLDEST_OF_KIND = """
DELETE FROM pins WHERE id IN (SELECT id FROM pins WHERE review_key = ? AND kind = ? ORDER BY id DESC LIMIT -1 OFFSET ?)
"""
_COSMETIC = """
SELECT id, kind, name, fingerprint, pinned_by, pinned_at, definition FROM pins
WHERE review_key = ? AND pinned_by = 'cosmetic'
"""


def pins_of(db: sqlite3.Connection, review_key: str, *, with_definitions: bool) -> Pins:
    row = db.execute(_PINNED, (review_key,)).fetchone()
    revision, kinds, scanner = row or (0, "", 0)
    found: dict[PinKey, list[Pin]] = {}
    for columns in db.execute(_PINS, {"key": review_key, "with_definitions": with_definitions}):
        pin = Pin(*columns)
        found.setdefault(pin.key, []).append(pin)
    newest = {key: pins[0] for key, pins in found.items()}
    earlier = {key: tuple(pins[1:]) for key, pins in found.items() if len(pins) > 1}
    refused = frozenset(fingerprint for (fingerprint,) in db.execute(_REFUSED, (review_key,)))
    return Pins(review_key, revision, newest, refused, read_kinds(kinds), scanner, earlier)


def save_judged(
    db: sqlite3.Connection, server: str, launch_key: str, judged: Judged, at: float, kept: PinsKept
) -> None:
    """Within the transaction that saves the reading."""
    _save_findings(db, judged.findings)
    if not judged.review_key:
        return
    row = db.execute(_PINNED, (judged.review_key,)).fetchone()
    revision, kinds, scanner = row or (0, "", 0)
    if revision != judged.was_revision:
        raise PinsMoved
    known = read_kinds(kinds)
    if judged.add or not judged.kinds <= known or judged.scanner != scanner:
        _touch(db, judged.review_key, server, known | judged.kinds, judged.scanner, at)
        _save_pins(db, judged.review_key, judged.add, kept)
    db.execute("UPDATE pinned SET met_at = ? WHERE review_key = ?", (at, judged.review_key))
    db.execute("UPDATE servers SET review_key = ? WHERE launch_key = ?", (judged.review_key, launch_key))
    if row is None:  # only then there are more
        db.execute(_FORGET_UNMET, {"since": at - kept.unmet_seconds, "kept": kept.most})


def decide(
    db: sqlite3.Connection,
    review_key: str,
    server: str,
    add: Sequence[Pin],
    refuse: Iterable[str],
    by: str,
    at: float,
    kept: PinsKept,
) -> None:
    """Within a transaction of its own."""
    refuse = frozenset(refuse)
    kinds, scanner = (db.execute(_PINNED, (review_key,)).fetchone() or (0, "", 0))[1:]
    _touch(db, review_key, server, read_kinds(kinds) | {pin.kind for pin in add}, scanner, at)
    for fingerprint in refuse:
        db.execute("DELETE FROM pins WHERE review_key = ? AND fingerprint = ?", (review_key, fingerprint))
        db.execute("INSERT OR REPLACE INTO refused_definitions VALUES (?, ?, ?, ?)", (review_key, fingerprint, by, at))
    _drop_mended(db, review_key, refuse)
    _save_pins(db, review_key, add, kept)
    db.executemany(
        "DELETE FROM refused_definitions WHERE review_key = ? AND fingerprint = ?",
        [(review_key, pin.fingerprint) for pin in add],
    )


def all_findings(db: sqlite3.Connection) -> dict[str, tuple[Finding, ...]]:
    rows = db.execute("SELECT fingerprint, body FROM findings")
    return {fingerprint: read_findings(body) for fingerprint, body in rows}


def _touch(db: sqlite3.Connection, review_key: str, server: str, kinds: Iterable[str], scanner: int, at: float) -> None:
    words = " ".join(sorted(kinds))
    db.execute(_SAVE_PINNED, {"key": review_key, "server": server, "kinds": words, "scanner": scanner, "at": at})


def _drop_mended(db: sqlite3.Connection, review_key: str, refused: Collection[str]) -> None:
    cosmetic = db.execute(_COSMETIC, (review_key,)).fetchall() if refused else ()
    gone = [(row_id,) for row_id, *columns in cosmetic if mends(Pin(*columns), refused)]
    db.executemany("DELETE FROM pins WHERE id = ?", gone)


def _save_pins(db: sqlite3.Connection, review_key: str, pins: Sequence[Pin], kept: PinsKept) -> None:
    names = {pin.key: (review_key, *pin.key) for pin in pins}
    db.executemany(_DROP_COSMETIC, [names[pin.key] for pin in pins if pin.is_cosmetic])
    rows = ((review_key, pin.kind, pin.name, pin.fingerprint, pin.by, pin.at, pin.definition) for pin in pins)
    db.executemany(_SAVE_PIN, rows)
    db.executemany(_DROP_OLDEST_OF_NAME, [(*name, kept.most_of_a_name) for name in names.values()])
    kinds = {pin.kind for pin in pins}
    db.executemany(_DROP_OLDEST_OF_KIND, [(review_key, kind, kept.most_of_a_kind) for kind in kinds])


def _save_findings(db: sqlite3.Connection, found: Mapping[str, tuple[Finding, ...]]) -> None:
    db.executemany("DELETE FROM findings WHERE fingerprint = ?", [(fingerprint,) for fingerprint in found])
    rows = [(fingerprint, findings_to_json(findings)) for fingerprint, findings in found.items() if findings]
    db.executemany("INSERT INTO findings VALUES (?, ?)", rows)
