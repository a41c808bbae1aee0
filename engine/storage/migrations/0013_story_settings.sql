-- What whoever leads a story has settled for its table, as JSON text by key. It is the story's and not its
-- sessions': a swipe or a rewind does not change it.
CREATE TABLE story_setting (
  play_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (play_id, key)
) STRICT, WITHOUT ROWID;
