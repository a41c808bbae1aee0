-- What a chat platform needs beside the stories: its messages, its channels, what came in from them.
-- Ids of the platform are 63-bit integers whose order is time; times are milliseconds.

-- One row per message that we send, written before it is sent. A spot is the set of messages that
-- show one answer; its rows are found by exchange (node) or by turn, and follow the variant shown.
CREATE TABLE post (
  nonce TEXT PRIMARY KEY,
  spot TEXT NOT NULL,
  play_id TEXT NOT NULL,
  node_id TEXT,
  variant_id TEXT,
  session_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  part INTEGER NOT NULL,
  kind TEXT NOT NULL,
  channel_id INTEGER NOT NULL,
  message_id INTEGER UNIQUE,
  webhook_id INTEGER,
  state TEXT NOT NULL CHECK (state IN ('planned', 'sent', 'deleted')),
  body_hash BLOB,                       -- NULL until the final text has been shown
  buttons INTEGER NOT NULL DEFAULT 0,   -- 1: people can press something under it
  revision INTEGER NOT NULL DEFAULT 0,
  planned_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX post_part ON post (spot, part) WHERE state <> 'deleted';
CREATE INDEX post_node ON post (play_id, node_id) WHERE state <> 'deleted';
CREATE INDEX post_turn ON post (session_id, turn) WHERE state <> 'deleted';
CREATE INDEX post_buttons ON post (channel_id) WHERE state = 'sent' AND buttons = 1;
CREATE INDEX post_unfinished ON post (play_id) WHERE state <> 'deleted' AND body_hash IS NULL;

-- Which story a channel stands for; the session follows from the story's head.
CREATE TABLE binding (
  channel_id INTEGER PRIMARY KEY,
  play_id TEXT NOT NULL,
  guild_id INTEGER,
  bound_at INTEGER NOT NULL
) STRICT;
CREATE INDEX binding_play ON binding (play_id);

-- What people wrote, by message id: the fence against a second delivery and the list of what waits.
CREATE TABLE intake (
  message_id INTEGER PRIMARY KEY,
  channel_id INTEGER NOT NULL,
  play_id TEXT NOT NULL,
  session_id TEXT,
  key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'done')),
  attempts INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX intake_open ON intake (channel_id, message_id) WHERE state <> 'done';

-- How far a channel has been read, for what was missed while we were away.
CREATE TABLE channel_cursor (
  channel_id INTEGER PRIMARY KEY,
  last_seen INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- What a server has set, as JSON text by key.
CREATE TABLE guild_setting (
  guild_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (guild_id, key)
) STRICT;

-- Where a picture hangs on the platform. Its address is signed and expires; the message renews it.
CREATE TABLE avatar (
  key TEXT PRIMARY KEY,
  channel_id INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  url TEXT NOT NULL,
  expires_at INTEGER,
  updated_at INTEGER NOT NULL
) STRICT;
