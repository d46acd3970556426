-- What servers offer besides tools: prompts, resources and templates of resources.
CREATE TABLE items (
    launch_key TEXT NOT NULL REFERENCES servers (launch_key) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (launch_key, kind, position)
);

-- What a server was seen asking of its client without saying for which call: kinds of questions, with spaces between them.
ALTER TABLE servers ADD COLUMN asks TEXT NOT NULL DEFAULT '';
