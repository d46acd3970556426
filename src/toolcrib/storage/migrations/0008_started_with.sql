-- The settings that a running gateway keeps until it is started again, as it started with them.
ALTER TABLE gateways ADD COLUMN started_with TEXT NOT NULL DEFAULT '{}';
