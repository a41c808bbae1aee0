-- Playthroughs: a tree of exchanges whose variants point at ranges of sessions, and one head.
CREATE TABLE playthrough (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  number INTEGER NOT NULL,
  title TEXT NOT NULL,
  card_id TEXT NOT NULL,
  created_by TEXT NOT NULL,
  head_session TEXT NOT NULL,
  head_node TEXT,
  head_variant TEXT,
  revision INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
);
CREATE UNIQUE INDEX playthrough_number ON playthrough (owner, card_id, number);
CREATE INDEX playthrough_session ON playthrough (head_session);

CREATE TABLE node (
  id TEXT PRIMARY KEY,
  play_id TEXT NOT NULL REFERENCES playthrough (id),
  ordinal INTEGER NOT NULL,
  parent_variant TEXT,
  adopted_variant TEXT NOT NULL,
  UNIQUE (play_id, ordinal)
);

CREATE TABLE variant (
  id TEXT PRIMARY KEY,
  node_id TEXT NOT NULL REFERENCES node (id),
  play_id TEXT NOT NULL REFERENCES playthrough (id),
  ordinal INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  start_seq INTEGER NOT NULL,
  end_seq INTEGER NOT NULL,
  interrupted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (node_id, ordinal),
  UNIQUE (session_id, end_seq, node_id)
);
CREATE INDEX variant_play ON variant (play_id);

-- The head last reached under a variant, so that going back to it brings its continuation back.
CREATE TABLE branch_head (
  play_id TEXT NOT NULL REFERENCES playthrough (id),
  variant_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  head_variant TEXT NOT NULL,
  PRIMARY KEY (play_id, variant_id)
);

-- Sessions that belong to a playthrough; role 'swipe' while another answer is being written there.
CREATE TABLE play_session (
  session_id TEXT PRIMARY KEY,
  play_id TEXT NOT NULL REFERENCES playthrough (id),
  role TEXT NOT NULL CHECK (role IN ('path', 'swipe')),
  swipe_node TEXT
);
CREATE UNIQUE INDEX play_session_one_swipe ON play_session (play_id) WHERE role = 'swipe';

-- Words that a story has taken, by the key of their delivery: the fence against a second one.
CREATE TABLE spoken (
  play_id TEXT NOT NULL REFERENCES playthrough (id),
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (play_id, key)
);
