-- What a server was seen asking of its client without saying for which call: kinds of questions, with spaces between them.
ALTER TABLE servers ADD COLUMN asks TEXT NOT NULL DEFAULT '';
