-- name: session_create
-- A session; with a parent its first `cut` events are the parent's, and its chain begins at their root.
INSERT INTO session (id, parent, cut, inherited, epoch, header, header_hash, base_root)
VALUES (:id, :parent, :cut, :inherited, :epoch, :header, :header_hash, :base_root);

-- name: session_get
-- One session's row with its parent's id and the number of its events, inherited ones included.
SELECT session.key, session.cut, session.inherited, session.epoch, session.header, session.header_hash,
       parent.id AS parent,
       COALESCE((SELECT MAX(seq) + 1 FROM event WHERE event.session = session.key), session.cut) AS head
FROM session LEFT JOIN session AS parent ON parent.key = session.parent
WHERE session.id = :id;

-- name: session_lineage
-- The session and its ancestors, youngest first.
WITH RECURSIVE line (key, parent, cut, depth) AS (
    SELECT key, parent, cut, 0 FROM session WHERE key = :key
    UNION ALL
    SELECT elder.key, elder.parent, elder.cut, line.depth + 1
    FROM line JOIN session AS elder ON elder.key = line.parent
)
SELECT key, cut FROM line ORDER BY depth;

-- name: session_list
-- The sessions, stored last first, from one on; superseded generations are left out.
SELECT session.id, session.cut, session.inherited, session.header, parent.id AS parent,
       COALESCE((SELECT MAX(seq) + 1 FROM event WHERE event.session = session.key), session.cut) AS head
FROM session LEFT JOIN session AS parent ON parent.key = session.parent
WHERE session.superseded = 0 AND session.key < :before
ORDER BY session.key DESC LIMIT :limit;

-- name: session_archive
-- Make room for a new generation: the one there keeps its key, so that forks keep their past, and loses its id.
UPDATE session SET id = id || '#' || key, superseded = 1 WHERE id = :id AND epoch = :epoch;

-- name: session_take
-- A new writer: moves the epoch on from the one that was read, so that two takers never share one.
UPDATE session SET epoch = epoch + 1 WHERE id = :id AND epoch = :epoch;

-- name: event_append
-- The fenced append of one event: no row if the epoch is over or the seq is not the next one.
INSERT INTO event (session, seq, type, at, hash, root, body)
SELECT session.key, :seq, :type, :at, :hash, chain(COALESCE(last.root, session.base_root), :hash), :body
FROM session LEFT JOIN event AS last
    ON last.session = session.key
    AND last.seq = (SELECT MAX(seq) FROM event WHERE event.session = session.key)
WHERE session.id = :id AND session.epoch = :epoch AND :seq = COALESCE(last.seq + 1, session.cut);

-- name: event_range
-- One ancestor's events from `start` to before `stop`, in order.
SELECT seq, type, at, hash, root, body FROM event
WHERE session = :session AND seq >= :start AND seq < :stop ORDER BY seq;
