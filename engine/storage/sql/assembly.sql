-- name: strategy_insert
-- Another strategy, if its owner has room for one more and for its bytes.
INSERT INTO strategy (id, owner, name, document, size, created_by, created_at, updated_at)
SELECT :id, :owner, :name, :document, :size, :by, :at, :at
WHERE (SELECT COUNT(*) FROM strategy WHERE owner = :owner) < :max_count
  AND (SELECT COALESCE(SUM(size), 0) FROM strategy WHERE owner = :owner) + :size <= :max_bytes;

-- name: strategy_change
-- Another document, if there is room; sessions that use the strategy keep what they applied.
UPDATE strategy SET name = :name, document = :document, size = :size, updated_at = :at
WHERE id = :id AND owner = :owner
  AND (SELECT COALESCE(SUM(size), 0) FROM strategy WHERE owner = :owner AND id <> :id) + :size <= :max_bytes;

-- name: strategy_same
-- Changes nothing: holds where the strategy is still the document that somebody read.
UPDATE strategy SET size = size WHERE id = :id AND owner = :owner AND document = :document;

-- name: strategy_get
-- One strategy.
SELECT * FROM strategy WHERE id = :id;

-- name: strategy_list
-- All of an owner, by name.
SELECT * FROM strategy WHERE owner = :owner ORDER BY name COLLATE NOCASE, id;

-- name: strategy_delete
-- Gone, unless a session uses it. Of a story's sessions only the one where it stands counts, while it has
-- not ended: answers of another time keep their copy, and nobody could make them use something else.
DELETE FROM strategy WHERE id = :id AND owner = :owner
  AND NOT EXISTS (
    SELECT 1 FROM applied_strategy AS a WHERE a.strategy_id = :id AND (
      EXISTS (SELECT 1 FROM playthrough WHERE head_session = a.session_id AND ended_at IS NULL)
      OR NOT EXISTS (SELECT 1 FROM play_session WHERE session_id = a.session_id)
    )
  );

-- name: strategy_stories
-- The stories that use it, the oldest first.
SELECT p.id FROM applied_strategy AS a
JOIN playthrough AS p ON p.head_session = a.session_id AND p.ended_at IS NULL
WHERE a.strategy_id = :id ORDER BY p.created_at, p.id LIMIT :limit;

-- name: applied_strategy_set
-- A session uses this from now on.
INSERT INTO applied_strategy (session_id, strategy_id, document, updated_at)
VALUES (:session_id, :strategy_id, :document, :at)
ON CONFLICT (session_id) DO UPDATE SET strategy_id = excluded.strategy_id, document = excluded.document,
  updated_at = excluded.updated_at;

-- name: applied_strategy_inherit
-- A session uses what its parent does, or the default where nothing was said of that, if nothing was said of
-- the session itself yet.
INSERT INTO applied_strategy (session_id, strategy_id, document, updated_at)
SELECT :session_id, strategy_id, document, :at FROM applied_strategy WHERE session_id = :parent_id
UNION ALL
SELECT :session_id, :default_id, :default_document, :at
WHERE NOT EXISTS (SELECT 1 FROM applied_strategy WHERE session_id = :parent_id)
ON CONFLICT (session_id) DO NOTHING;

-- name: applied_strategy_get
-- What a session uses.
SELECT strategy_id, document FROM applied_strategy WHERE session_id = :session_id;
