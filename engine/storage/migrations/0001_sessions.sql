-- The list of applied migrations.
CREATE TABLE migration (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   BLOB NOT NULL,
    applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- One session. Its first `cut` events are its parent's, by reference: seq 0 to cut - 1.
-- `inherited` is what the session calls inherited: the same number, or without a parent some of its own rows.
-- `base_root` is the hash chain's root before the first own event.
-- `epoch` rises with every new writer; an append with an older one changes nothing.
-- `key` is never used twice and rises with time.
CREATE TABLE session (
    key         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    parent      INTEGER REFERENCES session (key),
    cut         INTEGER NOT NULL CHECK (cut >= 0),
    inherited   INTEGER NOT NULL CHECK (inherited >= 0),
    epoch       INTEGER NOT NULL CHECK (epoch >= 1),
    header      BLOB    NOT NULL,
    header_hash BLOB    NOT NULL,
    base_root   BLOB    NOT NULL
);

-- One event. `body` is canonical JSON, `hash` its SHA-256, `root` = SHA-256(root before || hash).
-- The body stands last: a long one overflows its page, and the columns after it would be slow to reach.
-- A table with rowids: WITHOUT ROWID halves the append rate for rows of about 1 KB.
CREATE TABLE event (
    session INTEGER NOT NULL REFERENCES session (key),
    seq     INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    root    BLOB    NOT NULL,
    body    BLOB    NOT NULL,
    PRIMARY KEY (session, seq)
);

-- Bytes by their SHA-256.
CREATE TABLE blob (
    hash BLOB    NOT NULL PRIMARY KEY,
    size INTEGER NOT NULL,
    body BLOB    NOT NULL
);
