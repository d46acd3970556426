-- What was agreed to outlives the catalog's entries: it is forgotten only where a server was not met for very long.
DROP TRIGGER forget_pins_with_the_last_launch;

ALTER TABLE pinned ADD COLUMN met_at REAL NOT NULL DEFAULT 0;
UPDATE pinned SET met_at = pinned_at;
CREATE INDEX pinned_by_met_at ON pinned (met_at);
CREATE INDEX servers_by_review_key ON servers (review_key);
