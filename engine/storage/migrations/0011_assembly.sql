-- Strategies that an owner keeps: the document in its normalised form. Built-in ones are not stored.
CREATE TABLE strategy (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  document BLOB NOT NULL,
  size INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX strategy_owner ON strategy (owner);

-- What a session uses: the document as it was when it was applied. Without one: explicitly none.
CREATE TABLE applied_strategy (
  session_id TEXT PRIMARY KEY,
  strategy_id TEXT,
  document BLOB,
  updated_at INTEGER NOT NULL,
  CHECK ((strategy_id IS NULL) = (document IS NULL))
) STRICT;
CREATE INDEX applied_strategy_of ON applied_strategy (strategy_id) WHERE strategy_id IS NOT NULL;
