-- name: resource_insert
-- A new resource, if its owner has room for one more of its kind and for its bytes.
INSERT INTO resource (id, owner, kind, name, filename, original, document, avatar, avatar_type, size,
  tags, nsfw, summary, created_by, created_at, updated_at)
SELECT :id, :owner, :kind, :name, :filename, :original, :document, :avatar, :avatar_type, :size,
  :tags, :nsfw, :summary, :created_by, :at, :at
WHERE (SELECT COUNT(*) FROM resource WHERE owner = :owner AND kind = :kind AND deleted_at IS NULL)
    < :max_count
  AND (SELECT COALESCE(SUM(size), 0) FROM resource WHERE owner = :owner AND deleted_at IS NULL) + :size
    <= :max_bytes;

-- name: resource_revive
-- The file of a deleted resource came again: the same resource is back, if there is room.
UPDATE resource
SET deleted_at = NULL, name = :name, filename = :filename, document = :document, avatar = :avatar,
  avatar_type = :avatar_type, size = :size, tags = :tags, nsfw = :nsfw, summary = :summary,
  revision = revision + 1, updated_at = :at
WHERE id = :id AND deleted_at IS NOT NULL
  AND (SELECT COUNT(*) FROM resource WHERE owner = :owner AND kind = :kind AND deleted_at IS NULL)
    < :max_count
  AND (SELECT COALESCE(SUM(size), 0) FROM resource WHERE owner = :owner AND deleted_at IS NULL) + :size
    <= :max_bytes;

-- name: resource_lost
-- What was deleted under a name, the latest first.
SELECT * FROM resource
WHERE owner = :owner AND kind = :kind AND name = :name AND deleted_at IS NOT NULL
ORDER BY deleted_at DESC, id;

-- name: resource_named
-- How many live ones have a name.
SELECT COUNT(*) AS count FROM resource
WHERE owner = :owner AND kind = :kind AND name = :name AND deleted_at IS NULL;

-- name: resource_relink
-- Another file takes the place of a deleted resource: what used it uses the file, if there is room.
UPDATE resource
SET deleted_at = NULL, original = :original, filename = :filename, document = :document, avatar = :avatar,
  avatar_type = :avatar_type, size = :size, tags = :tags, nsfw = :nsfw, summary = :summary,
  created_by = :created_by, created_at = :at, revision = revision + 1, updated_at = :at
WHERE id = :id AND deleted_at IS NOT NULL
  AND (SELECT COUNT(*) FROM resource WHERE owner = :owner AND kind = :kind AND deleted_at IS NULL)
    < :max_count
  AND (SELECT COALESCE(SUM(size), 0) FROM resource WHERE owner = :owner AND deleted_at IS NULL) + :size
    <= :max_bytes;

-- name: resource_withdraw
-- Out of the table altogether: only for what came just now, and was used by nobody.
DELETE FROM resource WHERE id = :id AND used_at IS NULL AND deleted_at IS NULL;

-- name: resource_get
-- One resource, deleted or not.
SELECT * FROM resource WHERE id = :id;

-- name: resource_by_original
-- The resource that came from exactly these bytes, deleted or not.
SELECT * FROM resource WHERE owner = :owner AND kind = :kind AND original = :original;

-- name: resource_list
-- All live resources of an owner.
SELECT * FROM resource WHERE owner = :owner AND deleted_at IS NULL ORDER BY name, id;

-- name: resource_use
-- How much of its room an owner uses.
SELECT COUNT(*) FILTER (WHERE kind = :kind) AS count, COALESCE(SUM(size), 0) AS bytes
FROM resource WHERE owner = :owner AND deleted_at IS NULL;

-- name: resource_edit
-- Another document, if nobody changed it meanwhile and there is room.
UPDATE resource
SET name = :name, document = :document, tags = :tags, nsfw = :nsfw, summary = :summary, size = :size,
  revision = revision + 1, updated_at = :at
WHERE id = :id AND deleted_at IS NULL AND revision = :expected
  AND (SELECT COALESCE(SUM(size), 0) FROM resource WHERE owner = (SELECT owner FROM resource WHERE id = :id)
    AND deleted_at IS NULL AND id <> :id) + :size <= :max_bytes;

-- name: resource_place
-- A place in its owner's own order.
INSERT INTO resource_place (resource_id, place) VALUES (:id, :place)
ON CONFLICT (resource_id) DO UPDATE SET place = excluded.place;

-- name: resource_places
-- The ids that an owner has placed, in order.
SELECT resource_id FROM resource_place JOIN resource ON resource.id = resource_id
WHERE owner = :owner AND deleted_at IS NULL ORDER BY place, resource_id;

-- name: resource_rename
-- Another name in lists; the content keeps its own.
UPDATE resource SET name = :name, revision = revision + 1, updated_at = :at
WHERE id = :id AND deleted_at IS NULL;

-- name: resource_touch
-- Somebody used it just now.
UPDATE resource SET used_at = :at WHERE id = :id AND deleted_at IS NULL;

-- name: resource_delete
-- Leaves a tombstone.
UPDATE resource SET deleted_at = :at, updated_at = :at, revision = revision + 1
WHERE id = :id AND deleted_at IS NULL;

-- name: selection_get
-- What a session uses.
SELECT * FROM selection WHERE session_id = :session_id;

-- name: selection_put
-- Sets what a session uses.
INSERT INTO selection (session_id, card_id, preset_id, persona_id, greeting_index, prefer_system,
  prefer_post_history, book_ids, regex_ids, tools, user_name, seed, updated_at)
VALUES (:session_id, :card_id, :preset_id, :persona_id, :greeting_index, :prefer_system,
  :prefer_post_history, :book_ids, :regex_ids, :tools, :user_name, :seed, :at)
ON CONFLICT (session_id) DO UPDATE
SET card_id = excluded.card_id, preset_id = excluded.preset_id, persona_id = excluded.persona_id,
  greeting_index = excluded.greeting_index, prefer_system = excluded.prefer_system,
  prefer_post_history = excluded.prefer_post_history, book_ids = excluded.book_ids, regex_ids = excluded.regex_ids,
  tools = excluded.tools,
  user_name = excluded.user_name, seed = excluded.seed, updated_at = excluded.updated_at;

-- name: selection_freeze
-- Sets what a session uses unless that is settled.
INSERT INTO selection (session_id, card_id, preset_id, persona_id, greeting_index, prefer_system,
  prefer_post_history, book_ids, regex_ids, tools, user_name, seed, updated_at)
VALUES (:session_id, :card_id, :preset_id, :persona_id, :greeting_index, :prefer_system,
  :prefer_post_history, :book_ids, :regex_ids, :tools, :user_name, :seed, :at)
ON CONFLICT (session_id) DO NOTHING;

-- name: selection_copy
-- A fork uses what its parent uses now; nothing links them afterwards.
INSERT INTO selection (session_id, card_id, preset_id, persona_id, greeting_index, prefer_system,
  prefer_post_history, book_ids, regex_ids, tools, user_name, seed, updated_at)
SELECT :child_id, card_id, preset_id, persona_id, greeting_index, prefer_system,
  prefer_post_history, book_ids, regex_ids, tools, user_name, seed, :at
FROM selection WHERE session_id = :source_id
ON CONFLICT (session_id) DO NOTHING;

-- name: selection_clear_card
-- The card is gone: no session uses it, and the options that belong to a card are the usual ones.
UPDATE selection
SET card_id = NULL, greeting_index = 0, prefer_system = 1, prefer_post_history = 1, updated_at = :at
WHERE card_id = :id;

-- name: selection_clear_preset
-- The preset is gone.
UPDATE selection SET preset_id = NULL, updated_at = :at WHERE preset_id = :id;

-- name: selection_clear_world_book
-- The world book is gone from every list that names it.
UPDATE selection
SET book_ids = (SELECT json_group_array(value) FROM json_each(book_ids) WHERE value <> :id),
  updated_at = :at
WHERE book_ids <> '[]' AND EXISTS (SELECT 1 FROM json_each(book_ids) WHERE value = :id);

-- name: selection_clear_regex
-- The regex list is gone from every selection that names it.
UPDATE selection
SET regex_ids = (SELECT json_group_array(value) FROM json_each(regex_ids) WHERE value <> :id),
  updated_at = :at
WHERE regex_ids <> '[]' AND EXISTS (SELECT 1 FROM json_each(regex_ids) WHERE value = :id);
