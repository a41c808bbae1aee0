-- name: strategy_draft_get
-- What somebody has not saved.
SELECT document, base FROM strategy_draft
WHERE user_id = :user_id AND owner = :owner AND strategy_id = :strategy_id;

-- name: strategy_draft_put
-- The next state of a draft, unless it is not any more what was changed.
INSERT INTO strategy_draft (owner, user_id, strategy_id, document, base, revision, updated_at)
VALUES (:owner, :user_id, :strategy_id, :document, :base, :revision, :at)
ON CONFLICT (user_id, owner, strategy_id) DO UPDATE SET document = excluded.document, base = excluded.base,
  revision = excluded.revision, updated_at = excluded.updated_at
WHERE revision = :before;

-- name: strategy_draft_saved
-- Saved, unless it is not any more what was.
DELETE FROM strategy_draft WHERE user_id = :user_id AND owner = :owner AND strategy_id = :strategy_id
  AND revision = :revision;

-- name: strategy_draft_drop
-- Thrown away.
DELETE FROM strategy_draft WHERE user_id = :user_id AND owner = :owner AND strategy_id = :strategy_id;

-- name: strategy_draft_trim
-- Somebody's oldest beyond so many.
DELETE FROM strategy_draft WHERE user_id = :user_id AND (owner, strategy_id) IN (
  SELECT owner, strategy_id FROM strategy_draft WHERE user_id = :user_id
  ORDER BY updated_at DESC LIMIT -1 OFFSET :most
);
