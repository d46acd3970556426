-- Servers somebody proposed, each with the state of its approval; `body` holds the rest as JSON.
CREATE TABLE proposals (
    id TEXT PRIMARY KEY,
    server TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    requested_at REAL NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (server, version)
);

-- Capabilities that were registered by hand; those of configured servers follow from the tables of servers and tools.
CREATE TABLE capabilities (
    id TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    registered_at REAL NOT NULL
);

CREATE TABLE capability_history (
    id TEXT NOT NULL,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    registered_at REAL NOT NULL
);

CREATE INDEX capability_history_by_id ON capability_history (id);
