-- Stored content. `original` and `document` are blobs: the file as it came (of a preset: without
-- secrets), and its JSON value in canonical form. Times are milliseconds. A deleted resource stays as
-- a tombstone, so that the same file imported again is the same resource.
CREATE TABLE resource (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('card', 'preset', 'world_book')),
  name TEXT NOT NULL,
  filename TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 1,
  original BLOB NOT NULL,
  document BLOB NOT NULL,
  avatar BLOB,
  avatar_type TEXT,
  size INTEGER NOT NULL,
  tags TEXT NOT NULL,                   -- JSON list of texts
  nsfw INTEGER NOT NULL,
  summary TEXT NOT NULL,                -- JSON object: what a list or panel shows without reading the file
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  used_at INTEGER,
  deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX resource_original ON resource (owner, kind, original);
CREATE INDEX resource_owner ON resource (owner, kind) WHERE deleted_at IS NULL;

-- Who a person plays. At most one persona of a person is the active one.
CREATE TABLE persona (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 1,
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX persona_active ON persona (user_id) WHERE active = 1;

-- What a session uses, frozen at its first use; a fork copies its parent's row.
CREATE TABLE selection (
  session_id TEXT PRIMARY KEY,
  card_id TEXT,
  preset_id TEXT,
  persona_id TEXT,
  greeting_index INTEGER NOT NULL DEFAULT 0,
  prefer_system INTEGER NOT NULL DEFAULT 1,
  prefer_post_history INTEGER NOT NULL DEFAULT 1,
  book_ids TEXT NOT NULL DEFAULT '[]',  -- JSON list of resource ids
  user_name TEXT NOT NULL DEFAULT '',   -- whom {{user}} names; empty: whoever speaks first
  seed TEXT NOT NULL DEFAULT '',        -- of the story's random macros; forks share it
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX selection_card ON selection (card_id) WHERE card_id IS NOT NULL;
CREATE INDEX selection_preset ON selection (preset_id) WHERE preset_id IS NOT NULL;
CREATE INDEX selection_books ON selection (book_ids) WHERE book_ids <> '[]';
