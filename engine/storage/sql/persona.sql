-- name: persona_active
-- Who a person plays now.
SELECT * FROM persona WHERE user_id = :user_id AND active = 1;

-- name: persona_get
-- One persona.
SELECT * FROM persona WHERE id = :id;

-- name: persona_list
-- All personas of a person by name.
SELECT * FROM persona WHERE user_id = :user_id ORDER BY name COLLATE NOCASE, id;

-- name: persona_insert
-- One more persona, if the person has room for it.
INSERT INTO persona (id, user_id, name, description, avatar, avatar_type, active, created_at, updated_at)
SELECT :id, :user_id, :name, :description, :avatar, :avatar_type, 0, :at, :at
WHERE (SELECT COUNT(*) FROM persona WHERE user_id = :user_id) < :max_count;

-- name: persona_change
-- Another name, description or picture, if nobody else changed it meanwhile.
UPDATE persona
SET name = :name, description = :description, avatar = :avatar, avatar_type = :avatar_type,
  revision = revision + 1, updated_at = :at
WHERE id = :id AND user_id = :user_id AND revision = :expected;

-- name: persona_rest
-- The person plays none of them.
UPDATE persona SET active = 0 WHERE user_id = :user_id AND active = 1;

-- name: persona_use
-- The person plays this one.
UPDATE persona SET active = 1 WHERE id = :id AND user_id = :user_id;

-- name: persona_delete
-- It is gone.
DELETE FROM persona WHERE id = :id AND user_id = :user_id;

-- name: selection_clear_persona
-- The persona is gone: no session names it.
UPDATE selection SET persona_id = NULL, updated_at = :at WHERE persona_id = :id;
