-- Other agents on the network: what was seen of them, and what a person decided about them.
CREATE TABLE peers (
    peer_id TEXT PRIMARY KEY,
    server TEXT NOT NULL UNIQUE,
    trust TEXT NOT NULL DEFAULT 'seen',
    pins TEXT NOT NULL DEFAULT '{}',
    found_by TEXT NOT NULL,
    found_at REAL NOT NULL,
    seen_at REAL,
    body TEXT NOT NULL,
    -- Last, since it is large and seldom read.
    tools TEXT NOT NULL DEFAULT '[]'
);
