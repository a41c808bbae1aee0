-- Global variables of macros: one set for each library, beside the local ones, which stand in the logs.
CREATE TABLE global_variable (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,                  -- JSON: a text or a number
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
