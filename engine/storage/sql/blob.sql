-- name: blob_put
-- Stores bytes under their hash; a damaged copy is mended by what should be there.
INSERT INTO blob (hash, size, body) VALUES (:hash, :size, :body)
ON CONFLICT (hash) DO UPDATE SET size = excluded.size, body = excluded.body WHERE body <> excluded.body;

-- name: blob_get
-- The bytes of one hash.
SELECT body FROM blob WHERE hash = :hash;
