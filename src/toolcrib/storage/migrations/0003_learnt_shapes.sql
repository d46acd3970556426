-- The shape of a tool's results, as a JSON Schema without any value; it goes with the definition it was learnt under.
CREATE TABLE learnt_shapes (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    shape TEXT NOT NULL,
    samples INTEGER NOT NULL,
    origin TEXT NOT NULL,
    drift TEXT NOT NULL,
    learnt_at REAL NOT NULL,
    PRIMARY KEY (server, tool),
    FOREIGN KEY (server, tool) REFERENCES tools (server, name) ON DELETE CASCADE
);

CREATE TRIGGER forget_shape_of_changed_tool AFTER UPDATE OF fingerprint ON tools
WHEN old.fingerprint <> new.fingerprint
BEGIN
    DELETE FROM learnt_shapes WHERE server = new.server AND tool = new.name;
END;
