-- Whether what was read of a server counts no longer, though it is not old: somebody wants it read again.
ALTER TABLE servers ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
