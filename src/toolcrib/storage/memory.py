"""The catalog in memory: for tests, and for a gateway whose disk cannot be used."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from toolcrib.catalog.store import LAUNCHES_KEPT, NO_USERS, GatewayRow, PinsKept, ServerRecord, Users
from toolcrib.model.asking import QuestionKind
from toolcrib.model.finding import Finding
from toolcrib.model.learnt import LearntShape
from toolcrib.model.pin import Judged, Pin, Pins
from toolcrib.model.reading import ServerReading
from toolcrib.model.tool import Tool
from toolcrib.storage.json_text import (
    ItemRow,
    ToolRow,
    identity_to_json,
    plain_text,
    read_identity,
    read_object,
    stored_items,
    stored_tools,
    to_json,
    with_kept,
)
from toolcrib.storage.json_tool import read_item, read_tool
from toolcrib.storage.memory_trust import MemoryTrust


class MemoryCatalog:
    """Fulfils `CatalogStore` for one process."""

    def __init__(self, pins_kept: PinsKept | None = None) -> None:
        self._lock = threading.RLock()
        self._servers: dict[str, ServerRecord] = {}
        self._tools: dict[str, dict[str, ToolRow]] = {}
        self._items: dict[str, list[ItemRow]] = {}
        self._shapes: dict[tuple[str, str], LearntShape] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._gateways: dict[str, GatewayRow] = {}
        self._vectors: dict[tuple[str, bytes], bytes] = {}
        self._trust = MemoryTrust(pins_kept or PinsKept())
        self._changes = 0

    def servers(self) -> dict[str, ServerRecord]:
        with self._lock:
            records = sorted(self._servers.values(), key=lambda record: (record.name, record.launch_key))
            revision = self._trust.revision
            return {one.launch_key: replace(one, pins_revision=revision(one.review_key)) for one in records}

    def tools(self, launch_key: str) -> list[Tool]:
        with self._lock:
            stored, record = self._tools.get(launch_key, {}), self._servers.get(launch_key)
        # Decoded anew each time, as from disk: nobody can change what the catalog holds through what it gave out.
        name = record.name if record is not None else ""
        return [read_tool(name, tool.definition, tool.fingerprint) for tool in stored.values()]

    def items(self, launch_key: str) -> list[Tool]:
        with self._lock:
            stored, record = self._items.get(launch_key, []), self._servers.get(launch_key)
        name = record.name if record is not None else ""
        return [read_item(name, one.kind, one.name, one.definition, one.fingerprint) for one in stored]

    def all_tools(self) -> list[Tool]:
        with self._lock:
            return [tool for launch_key in self.servers() for tool in self.tools(launch_key)]

    def save_reading(
        self, server: str, launch_key: str, reading: ServerReading, read_at: float, judged: Judged | None = None
    ) -> bool:
        new, items = stored_tools(server, reading.tools), stored_items(server, reading.items)
        identity = read_identity(identity_to_json(reading.identity))
        record = ServerRecord(server, launch_key, identity, read_at, reading.ttl_seconds, tool_count=len(new))
        with self._lock:
            known, before = self._items.get(launch_key, []), self._servers.get(launch_key)
            review_key = "" if before is None else before.review_key
            if judged is not None:
                self._trust.save(judged, read_at)
                review_key = judged.review_key
            items = with_kept(items, known, reading.unlisted)
            changed = new != self._tools.get(launch_key, {}) or items != known
            self._tools[launch_key], self._items[launch_key] = new, items
            asks = record.asks if before is None else before.asks
            self._servers[launch_key] = replace(record, asks=asks, item_count=len(items), review_key=review_key)
            self._forget_former_launches(server)
            self._trust.forget_unmet(read_at, {known.review_key for known in self._servers.values()})
            self._drop_outlived_shapes()
            self._changes += 1
        return changed

    def record_failure(self, server: str, launch_key: str, error: str, at: float, code: str = "") -> None:
        with self._lock:
            record = self._servers.get(launch_key) or ServerRecord(server, launch_key, None, None, None)
            self._servers[launch_key] = replace(
                record,
                name=server,
                error=plain_text(error),
                error_at=at,
                error_code=code,
                failures=record.failures + 1,
            )
            self._changes += 1

    def note_asks(self, server: str, launch_key: str, kinds: Iterable[QuestionKind]) -> None:
        with self._lock:
            record = self._servers.get(launch_key) or ServerRecord(server, launch_key, None, None, None)
            asks = record.asks.union(kinds)
            if asks != record.asks:
                self._servers[launch_key] = replace(record, asks=asks)
                self._changes += 1

    def mark_stale(self, launch_keys: Iterable[str], *, stale: bool = True) -> None:
        with self._lock:
            for launch_key in launch_keys:
                record = self._servers.get(launch_key)
                if record is not None and record.stale != stale:
                    self._servers[launch_key] = replace(record, stale=stale)
                    self._changes += 1

    def expire(self, launch_keys: Iterable[str]) -> None:
        with self._lock:
            for launch_key in launch_keys:
                record = self._servers.get(launch_key)
                if record is not None and not record.expired:
                    self._servers[launch_key] = replace(record, expired=True)
                    self._changes += 1

    def forget(self, launch_key: str) -> None:
        with self._lock:
            self._tools.pop(launch_key, None)
            self._items.pop(launch_key, None)
            self._drop_outlived_shapes()
            if self._servers.pop(launch_key, None) is not None:
                self._changes += 1

    def pins(self, review_key: str, *, with_definitions: bool = False) -> Pins:  # noqa: ARG002 - they are here anyway
        with self._lock:
            return self._trust.pins(review_key)

    def decide_pins(
        self,
        review_key: str,
        server: str,  # noqa: ARG002 - only a file says whose they are
        *,
        add: Sequence[Pin] = (),
        refuse: Iterable[str] = (),
        by: str,  # noqa: ARG002
        at: float,
    ) -> None:
        with self._lock:
            self._trust.decide(review_key, add, refuse, at)
            self._changes += 1

    def findings(self) -> dict[str, tuple[Finding, ...]]:
        with self._lock:
            return dict(self._trust.findings)

    def _forget_former_launches(self, name: str) -> None:
        own = [record for record in self._servers.values() if record.name == name]
        own.sort(key=lambda record: -math.inf if record.read_at is None else record.read_at, reverse=True)
        for record in own[LAUNCHES_KEPT:]:
            if record.stale:
                del self._servers[record.launch_key]
                self._tools.pop(record.launch_key, None)
                self._items.pop(record.launch_key, None)

    def change_token(self) -> int:
        with self._lock:
            return self._changes

    def vectors(self, encoder: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            return {key: self._vectors[encoder, key] for key in keys if (encoder, key) in self._vectors}

    def save_vectors(self, encoder: str, vectors: Mapping[bytes, bytes]) -> None:
        with self._lock:
            self._vectors = {key: kept for key, kept in self._vectors.items() if key[0] == encoder}
            self._vectors.update({(encoder, key): vector for key, vector in vectors.items()})

    def learnt_shape(self, launch_key: str, tool: str) -> LearntShape | None:
        with self._lock:
            return self._shapes.get((launch_key, tool))

    def learnt_shapes(self, launch_key: str) -> dict[str, LearntShape]:
        with self._lock:
            return {tool: shape for (launch, tool), shape in self._shapes.items() if launch == launch_key}

    def save_shape(self, shape: LearntShape) -> None:
        with self._lock:
            known = self._shapes.get((shape.launch_key, shape.tool))
            if self._has_definition(shape) and (known is None or shape.samples >= known.samples):
                kept = replace(shape, schema=read_object(to_json(shape.schema)), drift=plain_text(shape.drift))
                self._shapes[shape.launch_key, shape.tool] = kept

    def _has_definition(self, shape: LearntShape) -> bool:
        tool = self._tools.get(shape.launch_key, {}).get(shape.tool)
        return tool is not None and tool.fingerprint == shape.fingerprint

    def _drop_outlived_shapes(self) -> None:
        self._shapes = {key: shape for key, shape in self._shapes.items() if self._has_definition(shape)}

    def try_lease(self, launch_key: str, owner: str, now: float, seconds: float) -> bool:
        with self._lock:
            holder, expires_at = self._leases.get(launch_key, (owner, now))
            if holder != owner and expires_at > now:
                return False
            self._leases[launch_key] = (owner, now + seconds)
            return True

    def release_lease(self, launch_key: str, owner: str) -> None:
        with self._lock:
            if self._leases.get(launch_key, ("", 0.0))[0] == owner:
                del self._leases[launch_key]

    def gateway_started(self, row: GatewayRow) -> None:
        with self._lock:
            self._gateways[row.owner] = replace(row, statuses=dict(row.statuses))

    def gateway_seen(self, owner: str, at: float, statuses: Mapping[str, str], users: Users = NO_USERS) -> None:
        with self._lock:
            if owner in self._gateways:
                row, named = self._gateways[owner], {key: dict(names) for key, names in users.items()}
                self._gateways[owner] = replace(row, seen_at=at, statuses=dict(statuses), users=named)

    def gateway_gone(self, owner: str) -> None:
        with self._lock:
            self._gateways.pop(owner, None)
            self._leases = {launch: lease for launch, lease in self._leases.items() if lease[0] != owner}

    def gateways(self) -> list[GatewayRow]:
        with self._lock:
            return sorted(self._gateways.values(), key=lambda row: (row.started_at, row.owner))

    def close(self) -> None:
        """Nothing to let go of: what was kept stays readable."""
