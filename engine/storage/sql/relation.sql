-- name: relation_books
-- The books that come with one persona, preset or card, in order.
SELECT book_id FROM relation WHERE holder_kind = :kind AND holder_id = :id ORDER BY place;

-- name: relation_owned_books
-- The same, with whose library each book is in.
SELECT relation.book_id, resource.owner FROM relation JOIN resource ON resource.id = relation.book_id
WHERE relation.holder_kind = :kind AND relation.holder_id = :id ORDER BY relation.place;

-- name: relation_drop
-- The books of one holder are let go.
DELETE FROM relation WHERE holder_kind = :kind AND holder_id = :id;

-- name: relation_put
-- One book in its place, if it is in one of the libraries that the holder's person can see.
INSERT INTO relation (holder_kind, holder_id, place, book_id)
SELECT :kind, :id, :place, :book_id
WHERE EXISTS (SELECT 1 FROM resource WHERE id = :book_id AND kind = 'world_book' AND owner = :owner
  AND deleted_at IS NULL);

-- name: relation_forget_book
-- A deleted book leaves everything that it came with.
DELETE FROM relation WHERE book_id = :book_id;

-- name: consent_get
-- What an owner said of the scripts inside a resource.
SELECT allowed FROM consent WHERE owner = :owner AND resource_id = :resource_id;

-- name: consent_put
-- Says it, or says something else.
INSERT INTO consent (owner, resource_id, allowed, given_by, given_at)
VALUES (:owner, :resource_id, :allowed, :by, :at)
ON CONFLICT (owner, resource_id) DO UPDATE
SET allowed = excluded.allowed, given_by = excluded.given_by, given_at = excluded.given_at;

-- name: consent_drop
-- A deleted resource takes what was said of it along.
DELETE FROM consent WHERE resource_id = :resource_id;
