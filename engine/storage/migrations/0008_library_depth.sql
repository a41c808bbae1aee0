-- A kind more (regex scripts), so the table is made anew: SQLite cannot widen a CHECK.
CREATE TABLE resource_of_any_kind (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('card', 'preset', 'world_book', 'regex')),
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
INSERT INTO resource_of_any_kind SELECT * FROM resource;
DROP TABLE resource;
ALTER TABLE resource_of_any_kind RENAME TO resource;
CREATE UNIQUE INDEX resource_original ON resource (owner, kind, original);
CREATE INDEX resource_owner ON resource (owner, kind) WHERE deleted_at IS NULL;

-- The order in which an owner has put a kind: a place for each id, none for those never placed.
CREATE TABLE resource_place (
  resource_id TEXT PRIMARY KEY,
  place INTEGER NOT NULL
) STRICT;

-- World books that come along with a persona, preset or card, in their order.
CREATE TABLE relation (
  holder_kind TEXT NOT NULL CHECK (holder_kind IN ('persona', 'preset', 'card')),
  holder_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  book_id TEXT NOT NULL,
  PRIMARY KEY (holder_kind, holder_id, place)
) STRICT;
CREATE INDEX relation_book ON relation (book_id);

-- Whether the regex scripts inside a preset or card may run for an owner; no row: nobody was asked yet.
CREATE TABLE consent (
  owner TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  allowed INTEGER NOT NULL CHECK (allowed IN (0, 1)),
  given_by TEXT NOT NULL,
  given_at INTEGER NOT NULL,
  PRIMARY KEY (owner, resource_id)
) STRICT;

-- Selections under a name, to be applied to a story as one.
CREATE TABLE session_template (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  selection TEXT NOT NULL,              -- JSON object
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX session_template_owner ON session_template (owner);

ALTER TABLE persona ADD COLUMN avatar BLOB;
ALTER TABLE persona ADD COLUMN avatar_type TEXT;
CREATE INDEX persona_user ON persona (user_id);

ALTER TABLE selection ADD COLUMN regex_ids TEXT NOT NULL DEFAULT '[]';  -- JSON list of resource ids
