-- What is known belongs to a launch (a command line or an address), not to a name: two configurations may give one name to
-- different servers, or different names to one.
CREATE TABLE servers_by_launch (
    launch_key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    identity TEXT,
    read_at REAL,
    ttl_seconds REAL,
    error TEXT NOT NULL DEFAULT '',
    error_at REAL,
    stale INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    error_code TEXT NOT NULL DEFAULT ''
);

INSERT OR IGNORE INTO servers_by_launch
SELECT launch_fingerprint, name, identity, read_at, ttl_seconds, error, error_at, stale, failures, error_code
FROM servers ORDER BY read_at IS NULL, read_at DESC, name;

CREATE TABLE tools_by_launch (
    launch_key TEXT NOT NULL REFERENCES servers_by_launch (launch_key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (launch_key, name)
);

INSERT INTO tools_by_launch
SELECT launch_key, tools.name, position, fingerprint, definition
FROM tools JOIN servers_by_launch ON servers_by_launch.name = tools.server;

CREATE TABLE shapes_by_launch (
    launch_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    shape TEXT NOT NULL,
    samples INTEGER NOT NULL,
    origin TEXT NOT NULL,
    drift TEXT NOT NULL,
    learnt_at REAL NOT NULL,
    PRIMARY KEY (launch_key, tool),
    FOREIGN KEY (launch_key, tool) REFERENCES tools_by_launch (launch_key, name) ON DELETE CASCADE
);

INSERT INTO shapes_by_launch
SELECT launch_key, tool, fingerprint, shape, samples, origin, drift, learnt_at
FROM learnt_shapes JOIN servers_by_launch ON servers_by_launch.name = learnt_shapes.server;

DROP TRIGGER forget_shape_of_changed_tool;
DROP TABLE learnt_shapes;
DROP TABLE tools;
DROP TABLE servers;
ALTER TABLE servers_by_launch RENAME TO servers;
ALTER TABLE tools_by_launch RENAME TO tools;
ALTER TABLE shapes_by_launch RENAME TO learnt_shapes;

CREATE TRIGGER forget_shape_of_changed_tool AFTER UPDATE OF fingerprint ON tools
WHEN old.fingerprint <> new.fingerprint
BEGIN
    DELETE FROM learnt_shapes WHERE launch_key = new.launch_key AND tool = new.name;
END;

DROP TABLE leases;
CREATE TABLE leases (
    launch_key TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at REAL NOT NULL
);
