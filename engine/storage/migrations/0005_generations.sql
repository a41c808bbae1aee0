-- A log that was migrated to a newer format is written as a new session row; the old row and its events stay.
-- The old one's id then ends in its key, and it is in no list.
ALTER TABLE session ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1));
