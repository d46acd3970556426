CREATE TABLE catalogue (change_token INTEGER NOT NULL);

-- A random start: a fresh file that replaces a damaged one is noticed as a change.
INSERT INTO catalogue (change_token) VALUES (random() & 281474976710655);

CREATE TABLE servers (
    name TEXT PRIMARY KEY,
    launch_fingerprint TEXT NOT NULL,
    identity TEXT,
    read_at REAL,
    ttl_seconds REAL,
    error TEXT NOT NULL DEFAULT '',
    error_at REAL,
    stale INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE tools (
    server TEXT NOT NULL REFERENCES servers (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (server, name)
);

CREATE TABLE leases (
    server TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at REAL NOT NULL
);

CREATE TABLE gateways (
    owner TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    face TEXT NOT NULL,
    started_at REAL NOT NULL,
    seen_at REAL NOT NULL,
    statuses TEXT NOT NULL DEFAULT '{}'
);
