-- What somebody changed about a strategy and has not saved. `base` is the revision of the strategy that they
-- began with, `revision` that of the draft; both name content.
CREATE TABLE strategy_draft (
  owner TEXT NOT NULL,
  user_id TEXT NOT NULL,
  strategy_id TEXT NOT NULL,
  document BLOB NOT NULL,
  base TEXT NOT NULL,
  revision TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, owner, strategy_id)
) STRICT, WITHOUT ROWID;
