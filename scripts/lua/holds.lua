#!lua flags=allow-oom
-- Reads all holds.
-- KEYS  1 holds
-- Returns now (ms), then every member and its hold, also holds that have ended and are not removed
-- Cost  O(members)
local found = redis.call('HGETALL', KEYS[1])
table.insert(found, 1, now())
return found
