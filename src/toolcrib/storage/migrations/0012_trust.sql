-- What somebody agreed to of a server as it is started: one row for the server, one for each definition.
CREATE TABLE pinned (
    review_key TEXT PRIMARY KEY,
    server TEXT NOT NULL,
    revision INTEGER NOT NULL,
    kinds TEXT NOT NULL DEFAULT '',
    scanner INTEGER NOT NULL DEFAULT 0,
    pinned_at REAL NOT NULL
);

CREATE TABLE pins (
    review_key TEXT NOT NULL REFERENCES pinned (review_key) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    pinned_by TEXT NOT NULL,
    pinned_at REAL NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (review_key, kind, name)
);

-- A no holds longer than the server is known.
CREATE TABLE refused_definitions (
    review_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    refused_by TEXT NOT NULL,
    refused_at REAL NOT NULL,
    PRIMARY KEY (review_key, fingerprint)
);

CREATE TABLE findings (
    fingerprint TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

-- Empty where a server was read before there were pins: what it offered then is agreed to with its next reading.
ALTER TABLE servers ADD COLUMN review_key TEXT NOT NULL DEFAULT '';

CREATE TRIGGER forget_pins_with_the_last_launch AFTER DELETE ON servers
WHEN old.review_key <> '' AND NOT EXISTS (SELECT 1 FROM servers WHERE review_key = old.review_key)
BEGIN
    DELETE FROM pinned WHERE review_key = old.review_key;
END;
