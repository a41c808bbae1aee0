-- name: variable_list
-- The global variables of a library.
SELECT name, value FROM global_variable WHERE owner = :owner;

-- name: variable_put
-- Sets one.
INSERT INTO global_variable (owner, name, value) VALUES (:owner, :name, :value)
ON CONFLICT (owner, name) DO UPDATE SET value = excluded.value;

-- name: variable_drop
-- Takes one away.
DELETE FROM global_variable WHERE owner = :owner AND name = :name;
