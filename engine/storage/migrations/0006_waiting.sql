-- Whether words waited in the session when its newest answer came into the tree. They were put into the queue
-- before that answer ended, so that what follows it in the log does not show them to a restart.
ALTER TABLE play_session ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0 CHECK (waiting IN (0, 1));
