-- Several definitions of one name may be agreed to: the newest, and those before it. `id` tells which came later.
CREATE TABLE agreed_definitions (
    id INTEGER PRIMARY KEY,
    review_key TEXT NOT NULL REFERENCES pinned (review_key) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    pinned_by TEXT NOT NULL,
    pinned_at REAL NOT NULL,
    definition TEXT NOT NULL,
    UNIQUE (review_key, kind, name, fingerprint)
);

INSERT INTO agreed_definitions (review_key, kind, name, fingerprint, pinned_by, pinned_at, definition)
SELECT review_key, kind, name, fingerprint, pinned_by, pinned_at, definition FROM pins ORDER BY pinned_at;

DROP TABLE pins;
ALTER TABLE agreed_definitions RENAME TO pins;
