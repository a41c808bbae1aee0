-- Which tools a session has on: none, until somebody turns them on.
ALTER TABLE selection ADD COLUMN tools TEXT NOT NULL DEFAULT '[]';  -- JSON list of names
