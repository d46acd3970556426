-- How often in a row a server could not be read as it is launched now, and what kind of failure the last one was.
ALTER TABLE servers ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE servers ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
UPDATE servers SET failures = 1 WHERE error <> '';
