#!lua flags=allow-oom
-- Reads what is paused.
-- KEYS  1 paused
-- Returns now (ms), then every member and its pause, also pauses that have ended and are not removed
-- Cost  O(members)
local found = redis.call('HGETALL', KEYS[1])
table.insert(found, 1, now())
return found
