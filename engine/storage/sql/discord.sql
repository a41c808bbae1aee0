-- name: post_plan
-- Write ahead: a message is about to be sent.
INSERT INTO post (nonce, spot, play_id, node_id, variant_id, session_id, turn, part, kind, channel_id,
                  state, planned_at, updated_at)
VALUES (:nonce, :spot, :play_id, :node_id, :variant_id, :session_id, :turn, :part, :kind, :channel_id,
        'planned', :now, :now);

-- name: post_sent
-- It stands in the channel under this id.
UPDATE post SET state = 'sent', message_id = :message_id, webhook_id = :webhook_id, updated_at = :now
WHERE nonce = :nonce AND state = 'planned';

-- name: post_shown
-- It shows its final text; the hash is of what was sent. A text that was on its way when another was
-- announced (post_unsettle) is final no more: the message stays unfinished.
UPDATE post SET body_hash = CASE WHEN revision = :revision THEN :body_hash END, buttons = :buttons,
  updated_at = :now
WHERE nonce = :nonce AND state = 'sent';

-- name: post_bare
-- Its buttons are gone.
UPDATE post SET buttons = 0, updated_at = :now WHERE nonce = :nonce;

-- name: post_deleted
-- It does not stand in the channel any more, or never did.
UPDATE post SET state = 'deleted', buttons = 0, updated_at = :now WHERE nonce = :nonce;

-- name: post_message_deleted
-- Somebody deleted the message.
UPDATE post SET state = 'deleted', buttons = 0, updated_at = :now
WHERE message_id = :message_id AND state = 'sent';

-- name: post_reopen
-- The messages of a spot are about to show something else: another turn, another variant.
UPDATE post SET session_id = :session_id, turn = :turn, play_id = :play_id,
  node_id = COALESCE(:node_id, node_id), variant_id = :variant_id, body_hash = NULL, updated_at = :now
WHERE spot = :spot AND state <> 'deleted';

-- name: post_unsettle
-- What a spot shows may not be what it should show: to be looked at again after a restart.
UPDATE post SET body_hash = NULL, revision = revision + 1, updated_at = :now
WHERE spot = :spot AND state = 'sent';

-- name: post_label
-- The exchange and the variant that a spot shows are known now.
UPDATE post SET node_id = COALESCE(:node_id, node_id), variant_id = COALESCE(:variant_id, variant_id)
WHERE spot = :spot AND state <> 'deleted';

-- name: post_at_spot
-- The messages of an answer in their order.
SELECT * FROM post WHERE spot = :spot AND state <> 'deleted' ORDER BY part;

-- name: post_part_count
-- How many messages a part of a spot has had, deleted ones included: makes the next nonce a new one.
SELECT COUNT(*) AS n FROM post WHERE spot = :spot AND part = :part;

-- name: post_spot_of_node
-- The spot that shows an exchange in a channel.
SELECT spot FROM post
WHERE play_id = :play_id AND node_id = :node_id AND channel_id = :channel_id AND kind = :kind
  AND state <> 'deleted'
ORDER BY planned_at DESC LIMIT 1;

-- name: post_spot_of_turn
-- The spot that shows a turn of a session in a channel, unless it is known to show another exchange.
SELECT spot FROM post
WHERE session_id = :session_id AND turn = :turn AND channel_id = :channel_id AND kind = :kind
  AND state <> 'deleted' AND (:node_id IS NULL OR node_id IS NULL OR node_id = :node_id)
ORDER BY planned_at DESC LIMIT 1;

-- name: post_by_message
-- What a message shows.
SELECT * FROM post WHERE message_id = :message_id;

-- name: post_of_kind
-- The messages of one kind that a story has in a channel, oldest first.
SELECT * FROM post
WHERE play_id = :play_id AND channel_id = :channel_id AND kind = :kind AND state <> 'deleted'
ORDER BY planned_at, part;

-- name: post_rename
-- What stands at a spot is something of another kind from now on.
UPDATE post SET kind = :kind WHERE spot = :spot AND state <> 'deleted';

-- name: post_buttoned
-- Messages of a channel under which buttons stand, but for one spot.
SELECT * FROM post
WHERE channel_id = :channel_id AND state = 'sent' AND buttons = 1 AND spot <> :spot
ORDER BY planned_at, part;

-- name: post_unfinished
-- Messages that never got their final text: the process ended before.
SELECT * FROM post WHERE state <> 'deleted' AND body_hash IS NULL ORDER BY planned_at, part;

-- name: post_known_messages
-- Messages of a channel that are ours and recorded, from an id on.
SELECT message_id FROM post WHERE channel_id = :channel_id AND message_id >= :since;

-- name: binding_put
-- The channel stands for this story from now on.
INSERT INTO binding (channel_id, play_id, guild_id, bound_at) VALUES (:channel_id, :play_id, :guild_id, :now)
ON CONFLICT (channel_id) DO UPDATE SET play_id = excluded.play_id, guild_id = excluded.guild_id,
  bound_at = excluded.bound_at;

-- name: binding_drop
-- The channel stands for nothing.
DELETE FROM binding WHERE channel_id = :channel_id;

-- name: binding_of_channel
-- The story of a channel.
SELECT * FROM binding WHERE channel_id = :channel_id;

-- name: binding_of_play
-- The channels of a story, oldest first.
SELECT * FROM binding WHERE play_id = :play_id ORDER BY bound_at, channel_id;

-- name: binding_all
-- Every bound channel.
SELECT * FROM binding ORDER BY channel_id;

-- name: intake_take
-- A message was delivered; a second delivery changes nothing (row count 0).
INSERT INTO intake (message_id, channel_id, play_id, session_id, key, state, at)
VALUES (:message_id, :channel_id, :play_id, :session_id, :key, 'pending', :now)
ON CONFLICT (message_id) DO NOTHING;

-- name: intake_state
-- Where a message stands now; 'accepted' counts an attempt.
UPDATE intake SET state = :state, session_id = COALESCE(:session_id, session_id),
  attempts = attempts + (:state = 'accepted'), at = :now
WHERE message_id = :message_id;

-- name: intake_get
-- One delivered message.
SELECT * FROM intake WHERE message_id = :message_id;

-- name: intake_by_key
-- The delivered message behind an engine key.
SELECT * FROM intake WHERE key = :key;

-- name: intake_waiting
-- What a channel's people wrote and nobody answered, in order.
SELECT * FROM intake WHERE channel_id = :channel_id AND state <> 'done' ORDER BY message_id;

-- name: intake_open
-- The same for every channel.
SELECT * FROM intake WHERE state <> 'done' ORDER BY channel_id, message_id;

-- name: cursor_advance
-- A message was seen; the cursor never goes back.
INSERT INTO channel_cursor (channel_id, last_seen, updated_at) VALUES (:channel_id, :last_seen, :now)
ON CONFLICT (channel_id) DO UPDATE
SET last_seen = MAX(channel_cursor.last_seen, excluded.last_seen), updated_at = excluded.updated_at;

-- name: cursor_get
-- How far a channel has been read.
SELECT last_seen FROM channel_cursor WHERE channel_id = :channel_id;

-- name: cursor_drop
-- The channel is not followed any more.
DELETE FROM channel_cursor WHERE channel_id = :channel_id;

-- name: guild_setting_put
-- A server sets a value (JSON text).
INSERT INTO guild_setting (guild_id, key, value, updated_at) VALUES (:guild_id, :key, :value, :now)
ON CONFLICT (guild_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: guild_setting_drop
-- Back to the default.
DELETE FROM guild_setting WHERE guild_id = :guild_id AND key = :key;

-- name: guild_setting_get
-- One value of a server.
SELECT value FROM guild_setting WHERE guild_id = :guild_id AND key = :key;

-- name: guild_settings
-- All that a server has set.
SELECT key, value FROM guild_setting WHERE guild_id = :guild_id ORDER BY key;

-- name: story_setting_put
-- A story's table is given a value (JSON text).
INSERT INTO story_setting (play_id, key, value, updated_at) VALUES (:play_id, :key, :value, :now)
ON CONFLICT (play_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: story_setting_get
-- One value of a story's table.
SELECT value FROM story_setting WHERE play_id = :play_id AND key = :key;

-- name: avatar_put
-- Where a picture hangs.
INSERT INTO avatar (key, channel_id, message_id, url, expires_at, updated_at)
VALUES (:key, :channel_id, :message_id, :url, :expires_at, :now)
ON CONFLICT (key) DO UPDATE SET channel_id = excluded.channel_id, message_id = excluded.message_id,
  url = excluded.url, expires_at = excluded.expires_at, updated_at = excluded.updated_at;

-- name: avatar_get
-- A picture's address and the message that renews it.
SELECT * FROM avatar WHERE key = :key;

-- name: avatar_drop
-- The message that held it is gone.
DELETE FROM avatar WHERE key = :key;
