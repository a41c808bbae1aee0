-- name: template_list
-- An owner's templates by name.
SELECT * FROM session_template WHERE owner = :owner ORDER BY name COLLATE NOCASE, id;

-- name: template_get
-- One template.
SELECT * FROM session_template WHERE id = :id;

-- name: template_insert
-- One more, if its owner has room for it.
INSERT INTO session_template (id, owner, name, selection, created_by, created_at, updated_at)
SELECT :id, :owner, :name, :selection, :by, :at, :at
WHERE (SELECT COUNT(*) FROM session_template WHERE owner = :owner) < :max_count
  AND (SELECT COALESCE(SUM(LENGTH(CAST(selection AS BLOB))), 0) FROM session_template WHERE owner = :owner)
    + LENGTH(CAST(:selection AS BLOB)) <= :max_bytes;

-- name: template_change
-- Another name or another selection.
UPDATE session_template SET name = :name, selection = :selection, updated_at = :at
WHERE id = :id AND owner = :owner;

-- name: template_delete
-- It is gone.
DELETE FROM session_template WHERE id = :id AND owner = :owner;
