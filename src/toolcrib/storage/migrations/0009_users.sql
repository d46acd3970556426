-- Which clients use each server of a running gateway, and in how many sessions.
ALTER TABLE gateways ADD COLUMN users TEXT NOT NULL DEFAULT '{}';
