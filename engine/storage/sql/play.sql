-- name: insert_playthrough
-- A new story, if there is room for it; its number is one more than the highest of that card in that library.
INSERT INTO playthrough (id, owner, number, title, card_id, created_by, head_session, created_at)
SELECT :id, :owner, COALESCE(MAX(number), 0) + 1, :title, :card_id, :created_by, :head_session, :created_at
FROM playthrough WHERE owner = :owner AND card_id = :card_id
HAVING (SELECT COUNT(*) FROM playthrough WHERE owner = :owner AND ended_at IS NULL) < :max_open;

-- name: count_open_plays
-- How many stories of a library have not ended.
SELECT COUNT(*) AS count FROM playthrough WHERE owner = :owner AND ended_at IS NULL;

-- name: playthrough
-- One story by id.
SELECT * FROM playthrough WHERE id = :id;

-- name: playthroughs
-- The stories of a library, newest first.
SELECT * FROM playthrough
WHERE owner = :owner AND (:include_ended OR ended_at IS NULL)
ORDER BY created_at DESC, id;

-- name: move_head
-- Compare-and-swap of the head: nothing happens unless the revision is the expected one.
UPDATE playthrough
SET head_session = :session_id, head_node = :node_id, head_variant = :variant_id, revision = revision + 1
WHERE id = :id AND revision = :revision;

-- name: end_playthrough
-- Close a story; its log stays.
UPDATE playthrough SET ended_at = :at, revision = revision + 1 WHERE id = :id AND ended_at IS NULL;

-- name: rename_playthrough
-- Another title.
UPDATE playthrough SET title = :title, revision = revision + 1 WHERE id = :id;

-- name: nodes
-- All exchanges of a story in the order in which they came to be.
SELECT * FROM node WHERE play_id = :play_id ORDER BY ordinal;

-- name: variants
-- All answers of a story, by exchange and age.
SELECT * FROM variant WHERE play_id = :play_id ORDER BY node_id, ordinal;

-- name: insert_node
-- A new exchange.
INSERT INTO node (id, play_id, ordinal, parent_variant, adopted_variant)
SELECT :id, :play_id, COALESCE(MAX(ordinal), 0) + 1, :parent_variant, :adopted_variant
FROM node WHERE play_id = :play_id;

-- name: insert_variant
-- Another answer to an exchange.
INSERT INTO variant
  (id, node_id, play_id, ordinal, session_id, start_seq, end_seq, interrupted, created_at)
SELECT :id, :node_id, :play_id, COALESCE(MAX(ordinal), 0) + 1, :session_id, :start_seq, :end_seq,
  :interrupted, :created_at
FROM variant WHERE node_id = :node_id;

-- name: extend_variant
-- The same answer went on in the same session.
UPDATE variant SET end_seq = :end_seq, interrupted = :interrupted WHERE id = :id;

-- name: adopt_variant
-- Which answer stands.
UPDATE node SET adopted_variant = :variant_id WHERE id = :node_id;

-- name: remember_branch
-- The head last reached under a variant.
INSERT INTO branch_head (play_id, variant_id, session_id, node_id, head_variant)
VALUES (:play_id, :variant_id, :session_id, :node_id, :head_variant)
ON CONFLICT (play_id, variant_id) DO UPDATE
SET session_id = excluded.session_id, node_id = excluded.node_id, head_variant = excluded.head_variant;

-- name: branch_head
-- Where the story had gone on from a variant.
SELECT * FROM branch_head WHERE play_id = :play_id AND variant_id = :variant_id;

-- name: count_play_sessions
-- How many sessions a story has.
SELECT COUNT(*) AS count FROM play_session WHERE play_id = :play_id;

-- name: insert_play_session
-- A session that a story owns.
INSERT INTO play_session (session_id, play_id, role, swipe_node)
VALUES (:session_id, :play_id, :role, :swipe_node);

-- name: play_of_session
-- The story that a session belongs to.
SELECT * FROM play_session WHERE session_id = :session_id;

-- name: swipe_of_play
-- The answer that is being written beside the standing one.
SELECT * FROM play_session WHERE play_id = :play_id AND role = 'swipe';

-- name: settle_swipe
-- The swipe was adopted or given up; its session stays as a branch.
UPDATE play_session SET role = 'path' WHERE session_id = :session_id AND role = 'swipe';

-- name: note_waiting
-- Whether words wait in the session behind the answer that has just come into the tree.
UPDATE play_session SET waiting = :waiting WHERE session_id = :session_id;

-- name: insert_spoken
-- Remember that these words were taken.
INSERT OR IGNORE INTO spoken (play_id, key, at) VALUES (:play_id, :key, :at);

-- name: spoken
-- Whether these words were taken before.
SELECT 1 AS found FROM spoken WHERE play_id = :play_id AND key = :key;

-- name: unfinished_plays
-- Open stories whose session holds more than the tree knows, or words that wait, or that were writing a
-- swipe: after a restart these need a look.
SELECT p.id AS play_id, s.session_id AS session_id, s.role AS role
FROM playthrough p
JOIN play_session s ON s.play_id = p.id AND (s.session_id = p.head_session OR s.role = 'swipe')
JOIN session x ON x.id = s.session_id
LEFT JOIN variant v ON v.id = p.head_variant
WHERE p.ended_at IS NULL
  AND (
    s.role = 'swipe'
    OR s.waiting
    OR EXISTS (
      SELECT 1 FROM event e
      WHERE e.session = x.key AND e.seq > COALESCE(v.end_seq, -1) AND e.type <> 'session/end-seed'
    )
  );

-- name: insert_attachment
-- A picture was shown in a story; showing it again changes nothing.
INSERT INTO attachment (play_id, hash, size, created_at)
VALUES (:play_id, :hash, :size, :at)
ON CONFLICT (play_id, hash) DO NOTHING;

-- name: attachment_bytes
-- What the pictures of all stories of a library take, each story's own counted.
SELECT COALESCE(SUM(a.size), 0) AS bytes
FROM attachment a JOIN playthrough p ON p.id = a.play_id
WHERE p.owner = :owner;
