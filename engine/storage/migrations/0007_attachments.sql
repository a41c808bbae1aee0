-- Pictures that people have shown in a story. A row keeps its blob: what a log refers to by hash can
-- always be read again.
CREATE TABLE attachment (
  play_id TEXT NOT NULL REFERENCES playthrough (id),
  hash BLOB NOT NULL REFERENCES blob (hash),
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (play_id, hash)
);
CREATE INDEX attachment_hash ON attachment (hash);
CREATE INDEX playthrough_owner ON playthrough (owner);
