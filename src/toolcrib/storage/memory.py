"""The catalog in memory: for tests, and for a gateway whose disk cannot be used."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from toolcrib.catalog.store import GatewayRow, ServerRecord
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import ServerReading
from toolcrib.model.tool import Tool
from toolcrib.storage.json_text import (
    StoredTool,
    identity_to_json,
    plain_text,
    read_identity,
    read_schema,
    read_tool,
    stored_tools,
    to_json,
)


class MemoryCatalog:
    """Fulfils `CatalogStore` for one process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._servers: dict[str, ServerRecord] = {}
        self._tools: dict[str, dict[str, StoredTool]] = {}
        self._shapes: dict[tuple[str, str], LearntShape] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._gateways: dict[str, GatewayRow] = {}
        self._vectors: dict[tuple[str, bytes], bytes] = {}
        self._changes = 0

    def servers(self) -> dict[str, ServerRecord]:
        with self._lock:
            return {name: self._servers[name] for name in sorted(self._servers)}

    def tools(self, server: str) -> list[Tool]:
        with self._lock:
            stored = self._tools.get(server, {})
        # Decoded anew each time, as from disk: nobody can change what the catalog holds through what it gave out.
        return [read_tool(server, tool.definition, tool.fingerprint) for tool in stored.values()]

    def all_tools(self) -> list[Tool]:
        with self._lock:
            return [tool for server in sorted(self._tools) for tool in self.tools(server)]

    def save_reading(self, server: str, launch_fingerprint: str, reading: ServerReading, read_at: float) -> bool:
        new = stored_tools(server, reading.tools)
        identity = read_identity(identity_to_json(reading.identity))
        record = ServerRecord(server, launch_fingerprint, identity, read_at, reading.ttl_seconds, tool_count=len(new))
        with self._lock:
            changed = new != self._tools.get(server, {})
            self._tools[server] = new
            self._drop_outlived_shapes()
            self._servers[server] = record
            self._changes += 1
        return changed

    def record_failure(self, server: str, launch_fingerprint: str, error: str, at: float, code: str = "") -> None:
        with self._lock:
            record = self._servers.get(server)
            if record is None:
                record = ServerRecord(server, launch_fingerprint, None, None, None)
            elif record.launch_fingerprint != launch_fingerprint:
                record = ServerRecord(
                    server, launch_fingerprint, None, None, None, stale=record.stale, tool_count=record.tool_count
                )
            self._servers[server] = replace(
                record, error=plain_text(error), error_at=at, error_code=code, failures=record.failures + 1
            )
            self._changes += 1

    def mark_stale(self, names: Iterable[str], *, stale: bool = True) -> None:
        with self._lock:
            for name in names:
                record = self._servers.get(name)
                if record is not None and record.stale != stale:
                    self._servers[name] = replace(record, stale=stale)
                    self._changes += 1

    def forget(self, server: str) -> None:
        with self._lock:
            self._tools.pop(server, None)
            self._drop_outlived_shapes()
            if self._servers.pop(server, None) is not None:
                self._changes += 1

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

    def learnt_shape(self, server: str, tool: str) -> LearntShape | None:
        with self._lock:
            return self._shapes.get((server, tool))

    def save_shape(self, shape: LearntShape) -> None:
        with self._lock:
            known = self._shapes.get((shape.server, shape.tool))
            if self._has_definition(shape) and (known is None or shape.samples >= known.samples):
                kept = replace(shape, schema=read_schema(to_json(shape.schema)), drift=plain_text(shape.drift))
                self._shapes[shape.server, shape.tool] = kept

    def _has_definition(self, shape: LearntShape) -> bool:
        tool = self._tools.get(shape.server, {}).get(shape.tool)
        return tool is not None and tool.fingerprint == shape.fingerprint

    def _drop_outlived_shapes(self) -> None:
        self._shapes = {key: shape for key, shape in self._shapes.items() if self._has_definition(shape)}

    def try_lease(self, server: str, owner: str, now: float, seconds: float) -> bool:
        with self._lock:
            holder, expires_at = self._leases.get(server, (owner, now))
            if holder != owner and expires_at > now:
                return False
            self._leases[server] = (owner, now + seconds)
            return True

    def release_lease(self, server: str, owner: str) -> None:
        with self._lock:
            if self._leases.get(server, ("", 0.0))[0] == owner:
                del self._leases[server]

    def gateway_started(self, row: GatewayRow) -> None:
        with self._lock:
            self._gateways[row.owner] = replace(row, statuses=dict(row.statuses))

    def gateway_seen(self, owner: str, at: float, statuses: Mapping[str, str]) -> None:
        with self._lock:
            if owner in self._gateways:
                self._gateways[owner] = replace(self._gateways[owner], seen_at=at, statuses=dict(statuses))

    def gateway_gone(self, owner: str) -> None:
        with self._lock:
            self._gateways.pop(owner, None)
            self._leases = {server: lease for server, lease in self._leases.items() if lease[0] != owner}

    def gateways(self) -> list[GatewayRow]:
        with self._lock:
            return sorted(self._gateways.values(), key=lambda row: (row.started_at, row.owner))

    def close(self) -> None:
        """Nothing to let go of: what was kept stays readable."""
